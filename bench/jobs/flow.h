/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Workloads after filebench's model. A personality has sets of files and groups of threads. The
 * threads of a group repeat the group's steps. Each group is a process. The meaning of a step's
 * numbers:
 *
 *	kind            bytes               value
 *	openfile        -                   -          opens the next file of the set, in the slot
 *	createfile      -                   -          likewise, a file that does not exist
 *	closefile       -                   -
 *	readwholefile   of a read()         -          from beginning to end
 *	writewholefile  of a write()        -          as many bytes as the slot's file has
 *	appendfilerand  less than this      -          appends; opens the slot's file if necessary
 *	fsync           -                   -
 *	deletefile      -                   -          the next file of the set that is not open
 *	statfile        -                   -          the next file of the set
 *	read            exactly             -          at random
 *	aiowrite        exactly             -          at random, O_SYNC; only queued
 *	aiowait         -                   -          reaps completed writes; waits if too many are queued
 *	hog             -                   stores     to memory
 *	semblock        -                   posts      waits for that many
 *	sempost         -                   -          to each thread of group `to`; waits if it has too many
 */
#ifndef CANFS_BENCH_JOBS_FLOW_H
#define CANFS_BENCH_JOBS_FLOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bench/jobs/file_set.h"

#define CANFS_FLOW_SETS    2
#define CANFS_FLOW_GROUPS  3
#define CANFS_FLOW_STEPS   32 /* of a group */
#define CANFS_FLOW_SLOTS   128
#define CANFS_FLOW_CLASSES 64

struct canfs_flow_kind; /* flow_kinds.h */
extern const struct canfs_flow_kind canfs_open_file, canfs_create_file, canfs_close_file,
	canfs_read_whole_file, canfs_write_whole_file, canfs_append_file, canfs_sync_file,
	canfs_delete_file, canfs_stat_file, canfs_read, canfs_aio_write, canfs_aio_wait, canfs_hog,
	canfs_block, canfs_post;

/* A step with `turns` uses the next slot each time, so that eventually all its files are open. */
struct canfs_flow_step {
	const char *name;
	const struct canfs_flow_kind *kind;
	uint8_t set, slot, to;
	bool turns;
	bool scales; /* times, value and highwater scale with the threads of the first group */
	uint32_t bytes, times /* 0: once */, value, highwater;
};

struct canfs_flow_group {
	uint32_t threads;
	const struct canfs_flow_step *step; /* a step without a kind ends the list */
};

struct canfs_personality {
	const char *name;
	struct canfs_file_set_spec set[CANFS_FLOW_SETS];
	struct canfs_flow_group group[CANFS_FLOW_GROUPS];
};

/* Statistics of a step. In canfs_flow_sum(): over all threads of a group. */
struct canfs_flow_stats {
	uint64_t ops, bytes, total_ns, max_ns;
	uint64_t histogram[CANFS_FLOW_CLASSES]; /* [i]: operations that took 2^(i-1) to 2^i ns */
};

/* Shared by the processes of a run. */
struct canfs_flow_shared {
	atomic_bool stop;
	atomic_bool warming_up;          /* nothing is counted yet */
	atomic_int failed;               /* of the first thread that failed: -errno; 0: none */
	atomic_uint done;                /* threads of the first group that have ended */
	const char *failed_in;           /* the name of its step */
	struct canfs_flow_stats stats[]; /* [thread * CANFS_FLOW_STEPS + step] */
};

struct canfs_flow_run {
	const struct canfs_personality *personality;
	struct canfs_file_set set[CANFS_FLOW_SETS];
	uint64_t seed, loops; /* of each thread in the first group; 0: until stopped */
	double scale;
	int semaphores; /* System V: two for each thread; -1: none */
	struct canfs_flow_shared *shared;
};

/* Returns 0 for a group that the personality does not have. */
uint32_t canfs_flow_steps(const struct canfs_flow_group *group);
uint32_t canfs_flow_threads(const struct canfs_personality *personality);
const char *canfs_flow_kind_name(const struct canfs_flow_step *step);
/* Returns the statistics of this step, summed over all threads of the group. */
struct canfs_flow_stats canfs_flow_sum(
	const struct canfs_flow_run *run, uint32_t group, uint32_t step);

/* Maps `shared` and creates semaphores. Returns 0 or -errno. */
int canfs_flow_prepare(struct canfs_flow_run *run);
/* Runs a group in this process: starts its threads and waits for them. Returns 0 or -errno. */
int canfs_flow_work(struct canfs_flow_run *run, uint32_t group);
void canfs_flow_release(struct canfs_flow_run *run);

#endif
