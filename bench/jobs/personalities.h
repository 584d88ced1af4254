/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_BENCH_JOBS_PERSONALITIES_H
#define CANFS_BENCH_JOBS_PERSONALITIES_H

#include "bench/jobs/flow.h"

#define CANFS_PERSONALITIES "fileserver, varmail, webserver, webproxy, oltp"

/* Returns NULL for an unknown name. */
const struct canfs_personality *canfs_personality_find(const char *name);

#endif
