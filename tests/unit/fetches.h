/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* For tests that drive a queue by hand: functions that add, take and finish fetches. */
#ifndef CANFS_TESTS_UNIT_FETCHES_H
#define CANFS_TESTS_UNIT_FETCHES_H

#include <stdlib.h>
#include <string.h>

#include "ganesha-fsal/read/scheduler/queue.h"
#include "ganesha-fsal/read/scheduler/sorted.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

static inline uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static inline void begin_queue(struct canfs_queue *queue, const char *policy)
{
	const struct canfs_queue_config config = { .policy = canfs_policy_named(policy),
		.waiting_max = 1000000 };

	assert_int_equal(canfs_queue_init(queue, &config), 0);
}

static inline struct canfs_fetch prefetch(uint64_t file, uint64_t offset, uint32_t bytes)
{
	return (struct canfs_fetch) { .kind = CANFS_FETCH_PREFETCH,
		.file = file,
		.stream = (uint32_t)file,
		.offset = offset,
		.bytes = bytes };
}

static inline struct canfs_fetch demand(uint64_t file, uint64_t offset, uint32_t bytes)
{
	struct canfs_fetch fetch = prefetch(file, offset, bytes);

	fetch.kind = CANFS_FETCH_DEMAND;
	return fetch;
}

/* Adds a fetch. add() places it at its own offset on the device. */
static inline void add_at(
	struct canfs_queue *queue, struct canfs_fetch *fetch, uint64_t now_nsec, uint64_t address)
{
	assert_true(canfs_queue_enter(queue, fetch, now_nsec));
	if (canfs_fetch_own_bytes(fetch) > 0)
		canfs_queue_place(queue, fetch, address);
}

static inline void add(struct canfs_queue *queue, struct canfs_fetch *fetch)
{
	add_at(queue, fetch, 0, fetch->offset);
}

/* Like the engine: takes a demand if there is one. */
static inline struct canfs_fetch *take(struct canfs_queue *queue)
{
	struct canfs_fetch *fetch = canfs_queue_take(queue, CANFS_FETCH_DEMAND);

	return fetch ? fetch : canfs_queue_take(queue, CANFS_FETCH_PREFETCH);
}

/* Takes one fetch and finishes it. Returns the fetches that finished with it. */
static inline struct canfs_fetch *serve(struct canfs_queue *queue)
{
	struct canfs_fetch_list finished = { 0 };
	struct canfs_fetch *fetch = take(queue);

	if (fetch)
		canfs_queue_finish(queue, fetch, 0, &finished);
	return finished.first;
}

static inline void end_queue(struct canfs_queue *queue)
{
	while (serve(queue))
		continue;
	assert_int_equal(queue->waiting, 0);
	assert_int_equal(queue->in_kernel[CANFS_FETCH_DEMAND], 0);
	assert_int_equal(queue->in_kernel[CANFS_FETCH_PREFETCH], 0);
	assert_int_equal(queue->prefetch_bytes, 0);
	canfs_queue_destroy(queue);
}

#endif
