/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The control socket: an administrator reads and changes the state of a running server
 * (control.md).
 *
 *	canfsctl server ... --UNIX socket--> this thread --> sampler, clients, price service
 *
 * One thread serves all connections and never blocks on a client (common/control/server.h). No
 * other thread of the server waits for this thread.
 */
#ifndef CANFS_SERVER_CONTROL_CONTROL_H
#define CANFS_SERVER_CONTROL_CONTROL_H

#include "server/classes/shared_classes.h"
#include "server/clients/clients.h"
#include "server/market/sampler.h"
#include "server/price-service/price_service.h"
#include "server/waiting/waiting.h"

struct json_t; /* jansson's */

struct canfs_control_config {
	const char *path;
	struct canfs_sampler *sampler;
	struct canfs_clients *clients; /* this thread ticks them; NULL: clients are not counted */
	struct canfs_waiting *waiting; /* NULL: waiting is not measured */
	struct canfs_shared_classes *classes;      /* NULL: there are no classes */
	struct canfs_price_service *price_service; /* NULL: no price service */
	const struct canfs_control_command *more;  /* commands of this server only; NULL: none */
	void *host;                                /* passed to them */
	void (*count)(struct json_t *counters); /* adds counters of this server only; NULL: none */
	unsigned int idle_msec;                 /* 0: CANFS_CONTROL_IDLE_MSEC */
	canfs_say *say;
	void (*thread_begins)(void); /* called first in the thread; NULL: nothing to do */
};

struct canfs_control;

/*
 * Opens the socket and starts the thread. Returns 0, or -errno, also that of canfs_socket_open().
 */
int canfs_control_start(struct canfs_control **control, const struct canfs_control_config *config);

/*
 * Stops the thread and removes the socket. Call it before freeing the objects in config. NULL
 * allowed.
 */
void canfs_control_stop(struct canfs_control *control);

#endif
