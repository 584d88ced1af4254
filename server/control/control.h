/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The control socket: what an administrator sees and changes of a running server (control.md).
 *
 *	canfsctl server ... --UNIX socket--> this thread --> sampler, clients, price service
 *
 * One thread of its own answers everybody, and waits for nobody (common/control/server.h). No
 * other thread of the server ever waits for this one.
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
	struct canfs_clients *clients;        /* ticked from now on; NULL: nobody counts them */
	struct canfs_waiting *waiting;        /* NULL: nobody knows who waits for whom */
	struct canfs_shared_classes *classes; /* of clients; NULL: there are none */
	struct canfs_price_service *price_service; /* NULL: there is none */
	const struct canfs_control_command *more;  /* commands of this server only; NULL: none */
	void *host;                                /* for them */
	void (*count)(struct json_t *counters);    /* adds those of this server only; NULL: none */
	unsigned int idle_msec;                    /* 0: as common/control/server.h says */
	canfs_say *say;
	void (*thread_begins)(void); /* called first in the thread; NULL: nothing to do */
};

struct canfs_control;

/* Opens the socket and starts the thread. 0, or as canfs_socket_open(), or another -errno. */
int canfs_control_start(struct canfs_control **control, const struct canfs_control_config *config);

/* Stops the thread and removes the socket; before what it shows is freed. NULL allowed. */
void canfs_control_stop(struct canfs_control *control);

#endif
