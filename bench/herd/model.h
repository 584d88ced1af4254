/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The herd: clients, their links, the server's network and disk, in steps of HERD_STEP_USEC. All that is
 * random comes from the seed.
 */
#ifndef CANFS_BENCH_HERD_MODEL_H
#define CANFS_BENCH_HERD_MODEL_H

#include <stdint.h>
#include "bench/herd/client.h"
#include "bench/herd/server.h"

#define HERD_STEP_USEC 20000
#define HERD_STEP_SEC  (HERD_STEP_USEC / 1e6)

struct herd_setup {
	const struct herd_law *law;
	unsigned int clients, load_pct, price_age_msec, seed;
};

struct herd {
	struct herd_client *clients;
	unsigned int count;
	struct herd_server server;
	uint64_t now_usec;
};

/* 0 or -ENOMEM. */
int herd_init(struct herd *herd, const struct herd_setup *setup);
void herd_fini(struct herd *herd);

/* Returns the bytes that reached the disk in this step. */
double herd_step(struct herd *herd);

#endif
