/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a trial of the herd simulation is made of. */
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
	unsigned int
		price_age_msec; /* the server makes a price so often; it is asked for it as often ... */
	bool pushed;            /* ... or pushes it, when it has moved */
};

#endif
