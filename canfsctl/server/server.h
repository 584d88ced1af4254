/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How canfsctl server prints replies of the control socket (server/control.md). */
#ifndef CANFS_CANFSCTL_SERVER_SERVER_H
#define CANFS_CANFSCTL_SERVER_SERVER_H

#include <stdbool.h>
#include <jansson.h>

/* Print to standard output for a human reader. Members that a reply lacks are blank. */
void ctl_show_prices(const json_t *reply);
void ctl_show_history(const json_t *reply);
void ctl_show_clients(const json_t *reply);
void ctl_show_who(const json_t *reply);
void ctl_show_who_of(const json_t *reply); /* of one client */
void ctl_show_counters(const json_t *reply);
void ctl_show_config(const json_t *reply);
void ctl_show_settings(const json_t *reply);
void ctl_show_prefetch(const json_t *reply);
void ctl_show_scheduler(const json_t *reply);

struct ctl_server_top {
	const char *socket; /* NULL: find the server */
	const char *export; /* NULL: all */
	unsigned int top;   /* number of clients; 0: as many as the server allows */
	double interval_sec;
	unsigned int count; /* number of updates; 0: no limit */
};

/* Runs canfsctl server top on the terminal. Returns false if no terminal can show it. */
bool ctl_server_screen(const struct ctl_server_top *options);

/* Does any export publish prices? */
bool ctl_publishes(const json_t *prices);

#endif
