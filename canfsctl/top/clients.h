/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The clients on the server's page, and which client makes which wait. */
#ifndef CANFS_CANFSCTL_TOP_CLIENTS_H
#define CANFS_CANFSCTL_TOP_CLIENTS_H

#include "canfsctl/top/server.h"

/*
 * Returns an object for each client in any of the lists, with the members "address", "client",
 * "bully" and "victim" from the replies.
 */
json_t *canfs_client_rows(const struct canfs_server_answers *answers);

/* The number of columns shown on the page that can be sorted by. */
int canfs_client_orders(const struct canfs_page *page);

/*
 * Draws at most rows_max rows: a head of two rows, the table's heading, and as many clients as fit,
 * sorted as the view says. Draws nothing if not even one client fits. Returns the row below.
 */
int canfs_clients_put(struct canfs_page *page, int row, int rows_max,
	const struct canfs_server_answers *answers, const json_t *clients,
	struct canfs_top_view *view);

/* Draws the first `shown` pairs, below a heading. Returns the row below. */
int canfs_pairs_put(struct canfs_page *page, int row, int shown, const json_t *who);

#endif
