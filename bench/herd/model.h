/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The herd: clients, their links, the server's network and disk, in steps of HERD_STEP_USEC. All
 * random numbers come from the seed.
 *
 *	step      |    n    |   n+1   |
 *	server    ... price
 *	asked     .....<-any later tick of a client: prices are as old as its phase makes them
 *	pushed    ......... bid           all subscribers whose price has moved, in the next step
 *
 * The price service's own table of subscribers (server/price-service/subscribers.h) decides which
 * clients are due for a push. No datagram is lost.
 */
#ifndef CANFS_BENCH_HERD_MODEL_H
#define CANFS_BENCH_HERD_MODEL_H

#include <stdint.h>
#include "bench/herd/client.h"
#include "bench/herd/server.h"
#include "server/price-service/subscribers.h"

struct herd {
	struct herd_client *clients;
	unsigned int count;
	struct herd_server server;
	struct canfs_subscribers *subscribers; /* NULL: clients ask for prices */
	uint64_t now_usec;
};

/* Returns the mean bytes per second that each client writes. */
double herd_client_rate(const struct herd_setup *setup);

/*
 * Returns 0, -ENOMEM, or -EUSERS if the price service has no space for so many clients. Call
 * herd_fini() in any case.
 */
int herd_init(struct herd *herd, const struct herd_setup *setup);
void herd_fini(struct herd *herd);

/* Returns the bytes that reached the disk in this step. */
double herd_step(struct herd *herd);

#endif
