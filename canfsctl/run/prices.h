/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The prices of the servers that a job uses. Each has a poller of its own: a server with a price service pushes its
 * prices, any other is asked ten times a second. What counts is the highest price, of writes and read-aheads. Of a server
 * that is typed as a name the addresses and versions of NFS are tried in turn until one answers.
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

#define CANFS_JOB_SERVERS_MAX   4  /* servers; further ones are left out */
#define CANFS_JOB_ENDPOINTS_MAX 16 /* addresses and versions of one */

/* Descriptors to poll(2). */
#define CANFS_JOB_POLLED_MAX (2 * CANFS_JOB_SERVERS_MAX)

struct canfs_job_server {
	char name[CANFS_MOUNT_PATH_MAX]; /* SERVER:/PATH */
	struct canfs_bdi bdi;            /* of the mount; 0:0: not a mount */
	struct canfs_fsstat_target endpoint[CANFS_JOB_ENDPOINTS_MAX];
	uint8_t handle[CANFS_MOUNT_HANDLE_MAX]; /* of a mount: its only endpoint's */
	size_t endpoints, at;
	size_t failed;      /* of its endpoints, in a row */
	uint64_t rest_usec; /* not asked before; UINT64_MAX: no more */
	char why[320];      /* it did not answer */
	struct canfs_poller poller;
};

struct canfs_job_prices {
	/* UDP, of servers' price services; set before the first is added. 0: they are not asked. */
	uint16_t service_port;
	size_t n;
	struct canfs_job_server server[CANFS_JOB_SERVERS_MAX]; /* ~ 30 KB: not for the stack */
};

enum canfs_job_prices_state {
	CANFS_JOB_PRICES_ASKED,  /* no server has said enough yet */
	CANFS_JOB_PRICES_NONE,   /* none publishes prices */
	CANFS_JOB_PRICES_SILENT, /* none does, and one does not answer */
	CANFS_JOB_PRICES_IN_FORCE,
};

/*
 * Adds the mount's server, unless it is there already, by name or by another mount of the super block. 0; -ENOSPC;
 * -EDESTADDRREQ: the mount table names no address; -ENOMEM.
 */
int canfs_job_prices_add_mount(struct canfs_job_prices *prices, const struct canfs_mount *mount);

/* One with these endpoints, which are asked in turn; what their paths point to must last. 0, -ENOSPC, or canfs_poller_init()'s. */
int canfs_job_prices_add_endpoints(struct canfs_job_prices *prices, const char *name,
	const struct canfs_fsstat_target *endpoints, size_t n);

void canfs_job_prices_fini(struct canfs_job_prices *prices);

/* Asks those that it is time to ask, and takes what has arrived. */
void canfs_job_prices_tick(struct canfs_job_prices *prices, uint64_t now_usec);

/* The machine was suspended: there is no price until a new one has come, which is asked for with the next tick. */
void canfs_job_prices_forget(struct canfs_job_prices *prices);

/*
 * What to poll(2) for, after the tick of now_usec; *due_usec is lowered to when the next tick is due whatever comes. Returns
 * how many.
 */
size_t canfs_job_prices_poll(const struct canfs_job_prices *prices,
	struct pollfd polled[CANFS_JOB_POLLED_MAX], uint64_t now_usec, uint64_t *due_usec);

/*
 * The highest one in force, and when it came, which may be when it last moved; it is NAN if there is none. *server (NULL
 * allowed): whose.
 */
struct canfs_govern_price canfs_job_prices_now(const struct canfs_job_prices *prices,
	uint64_t now_usec, const struct canfs_job_server **server);

/* How a server's price came: CANFS_SOURCE_NONE if there is none. */
enum canfs_price_source canfs_job_prices_source(
	const struct canfs_job_server *server, uint64_t now_usec);

enum canfs_job_prices_state canfs_job_prices_state(
	const struct canfs_job_prices *prices, uint64_t now_usec);

/* The first server that does not answer, and why in words; NULL: all do. */
const struct canfs_job_server *canfs_job_prices_silent(
	const struct canfs_job_prices *prices, const char **why);

#endif
