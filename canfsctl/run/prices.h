/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The prices of the servers that a job uses, one poller for each server. A server with a price
 * service pushes its prices. Any other is asked ten times a second. The price that counts is the
 * highest of all servers' write and read-ahead prices. If the user named the server, its addresses
 * and NFS versions are tried in turn until one answers.
 *
 *	canfs_job_prices_add_*() --> canfs_job_prices_tick() --> canfs_job_prices_now()
 *	                               ^     canfs_job_prices_poll() says what to wait for
 *	                               `-----------'
 */
#ifndef CANFS_CANFSCTL_RUN_PRICES_H
#define CANFS_CANFSCTL_RUN_PRICES_H

#include <poll.h>
#include "client-agent/auction/poller.h"
#include "canfsctl/run/law.h"
#include "client-agent/kernel/handle.h"
#include "client-agent/kernel/mounts.h"

#define CANFS_JOB_SERVERS_MAX   4  /* further ones are left out */
#define CANFS_JOB_ENDPOINTS_MAX 16 /* addresses times NFS versions of a server */

/* Descriptors for poll(2). */
#define CANFS_JOB_POLLED_MAX (2 * CANFS_JOB_SERVERS_MAX)

struct canfs_job_server {
	char name[CANFS_MOUNT_PATH_MAX]; /* SERVER:/PATH */
	struct canfs_bdi bdi;            /* of the mount; 0:0: not a mount */
	struct canfs_fsstat_target endpoint[CANFS_JOB_ENDPOINTS_MAX];
	uint8_t handle[CANFS_MOUNT_HANDLE_MAX]; /* of a mount; its only endpoint points here */
	size_t endpoints, at;
	size_t failed;      /* endpoints that failed in a row */
	uint64_t rest_usec; /* ask no earlier; UINT64_MAX: never */
	char why[320];      /* why the server did not answer */
	struct canfs_poller poller;
};

struct canfs_job_prices {
	/* UDP port of the servers' price services. Set before the first add. 0: do not ask them. */
	uint16_t service_port;
	size_t n;
	struct canfs_job_server server[CANFS_JOB_SERVERS_MAX]; /* about 30 KB: not for the stack */
};

enum canfs_job_prices_state {
	CANFS_JOB_PRICES_ASKED,  /* some server may still turn out to publish prices */
	CANFS_JOB_PRICES_NONE,   /* none publishes prices */
	CANFS_JOB_PRICES_SILENT, /* likewise, and one or more do not answer */
	CANFS_JOB_PRICES_IN_FORCE,
};

/*
 * Adds the mount's server, unless the same export or another mount of its super block was added
 * before. Returns 0, -ENOSPC, -ENOMEM, or -EDESTADDRREQ if the mount table has no address.
 */
int canfs_job_prices_add_mount(struct canfs_job_prices *prices, const struct canfs_mount *mount);

/*
 * Adds a server with endpoints to try in turn. The paths that they point to must outlive prices.
 * Returns 0, -ENOSPC, or an error of canfs_poller_init().
 */
int canfs_job_prices_add_endpoints(struct canfs_job_prices *prices, const char *name,
	const struct canfs_fsstat_target *endpoints, size_t n);

void canfs_job_prices_fini(struct canfs_job_prices *prices);

/* Sends the requests that are due and takes the answers that have arrived. */
void canfs_job_prices_tick(struct canfs_job_prices *prices, uint64_t now_usec);

/* Call after the machine was suspended: drops all prices. The next tick asks for new ones. */
void canfs_job_prices_forget(struct canfs_job_prices *prices);

/*
 * Fills polled for poll(2), after the tick of now_usec. Lowers *due_usec to the time at
 * which the next tick is due even if no descriptor becomes ready. Returns the number of entries.
 */
size_t canfs_job_prices_poll(const struct canfs_job_prices *prices,
	struct pollfd polled[CANFS_JOB_POLLED_MAX], uint64_t now_usec, uint64_t *due_usec);

/*
 * The highest price in force and its arrival time; a pushed price may be old. The price is NAN if
 * there is none. Sets *server (may be NULL) to the price's server, unless there is no price.
 */
struct canfs_govern_price canfs_job_prices_now(const struct canfs_job_prices *prices,
	uint64_t now_usec, const struct canfs_job_server **server);

/* How the server's price arrived. CANFS_SOURCE_NONE: there is no price. */
enum canfs_price_source canfs_job_prices_source(
	const struct canfs_job_server *server, uint64_t now_usec);

enum canfs_job_prices_state canfs_job_prices_state(
	const struct canfs_job_prices *prices, uint64_t now_usec);

/* The first server that does not answer, with the reason in *why. NULL: all answer. */
const struct canfs_job_server *canfs_job_prices_silent(
	const struct canfs_job_prices *prices, const char **why);

#endif
