/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Shared by flow.c and the kinds of steps. */
#ifndef CANFS_BENCH_JOBS_FLOW_KINDS_H
#define CANFS_BENCH_JOBS_FLOW_KINDS_H

#include <pthread.h>
#include <stddef.h>

#include "bench/jobs/flow.h"

#define CANFS_FLOW_BUFFER_BYTES ((size_t)1 << 20)

struct canfs_flow_write;

struct canfs_flow_slot {
	int fd; /* -1: not open */
	struct canfs_set_file *file;
};

struct canfs_flow_thread {
	pthread_t id;
	struct canfs_flow_run *run;
	uint32_t group, semaphore;
	uint64_t random;
	struct canfs_flow_stats *stats; /* [step] */
	char *buffer;
	uint32_t next[CANFS_FLOW_SETS]; /* position of a step with `turns` */
	uint32_t turn;                  /* last slot used by such a step */
	struct canfs_flow_slot slot[CANFS_FLOW_SLOTS];
	struct canfs_flow_write *queued; /* asynchronous writes, newest first */
	uint32_t queued_count;
};

struct canfs_flow_kind {
	const char *name; /* as in filebench */
	/* Runs the step and counts it. Returns 0 or -errno. */
	int (*run)(struct canfs_flow_thread *t, const struct canfs_flow_step *step);
};

uint32_t canfs_flow_first(const struct canfs_personality *personality, uint32_t group);
/* Scales a number of the step if the step has `scales`. */
uint32_t canfs_flow_scaled(
	const struct canfs_flow_run *run, const struct canfs_flow_step *step, uint32_t number);
void canfs_flow_count(struct canfs_flow_stats *stats, uint64_t ns, uint64_t bytes);

#endif
