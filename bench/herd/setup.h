/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The parameters of a trial of the herd simulation. */
#ifndef CANFS_BENCH_HERD_SETUP_H
#define CANFS_BENCH_HERD_SETUP_H

#include <stdbool.h>
#include "bench/herd/laws.h"

#define HERD_STEP_USEC   20000
#define HERD_STEP_SEC    (HERD_STEP_USEC / 1e6)
#define HERD_STEPS(sec)  ((sec) * (1000000u / HERD_STEP_USEC))
#define HERD_WARM_UP_SEC 30 /* not measured */

struct herd_setup {
	const struct herd_law *law;
	unsigned int clients, load_pct, seed;
	/* The server computes a price at this interval. Clients ask for it at the same interval. */
	unsigned int price_age_msec;
	bool pushed; /* the server instead pushes the price when it has moved */
};

#endif
