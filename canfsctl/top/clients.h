/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Of the page of a server: its clients, and who makes whom wait. */
#ifndef CANFS_CANFSCTL_TOP_CLIENTS_H
#define CANFS_CANFSCTL_TOP_CLIENTS_H

#include "canfsctl/top/server.h"

/* An object for each client that any of the lists has: "address", "client", "bully", "victim", as the replies have them. */
json_t *canfs_client_rows(const struct canfs_server_answers *answers);

/* By how many columns, that the page shows, they can be ordered. */
int canfs_client_orders(const struct canfs_page *page);

/*
 * In so many rows: a head of two, the table's heading, and as many clients as there is room for, in the view's order.
 * Nothing, if none has. Returns the row behind them.
 */
int canfs_clients_put(struct canfs_page *page, int row, int rows_max,
	const struct canfs_server_answers *answers, const json_t *clients,
	struct canfs_top_view *view);

/* The first of the pairs. */
int canfs_pairs_put(struct canfs_page *page, int row, int shown, const json_t *who);

#endif
