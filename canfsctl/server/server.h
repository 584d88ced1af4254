/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What canfsctl server prints of a reply of the control socket (server/control.md). */
#ifndef CANFS_CANFSCTL_SERVER_SERVER_H
#define CANFS_CANFSCTL_SERVER_SERVER_H

#include <stdbool.h>
#include <jansson.h>

/* Text for a reader, to standard output. What a reply lacks is left blank. */
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
	const char *socket; /* NULL: the one that there is */
	const char *export; /* NULL: all */
	unsigned int top;   /* so many clients; 0: as many as may be looked through */
	double interval_sec;
	unsigned int count; /* pictures until the end; 0: no end */
};

/* canfsctl server top on the terminal. False: there is none that can do it. */
bool ctl_server_screen(const struct ctl_server_top *options);

/* Does any export publish prices? */
bool ctl_publishes(const json_t *prices);

#endif
