// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/scheduler/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "ganesha-fsal/read/scheduler/extents.h"
#include "ganesha-fsal/read/scheduler/backend.h"
#include "ganesha-fsal/read/scheduler/read_limit.h"
#include "ganesha-fsal/read/scheduler/sorted.h"
#include "common/clock.h"
#include "common/thread.h"

/*
 * A file system may withhold the addresses of a busy file for long. ext4 does so while the file is
 * written, and btrfs with many snapshots. Other fetches then do without addresses.
 */
#define ASKING_NSEC_MAX ((uint64_t)50000000)
#define LOCATORS        2 /* one asks, the other watches */

#define WINDOWS_MAX 4096 /* of extents: 1.5 MB */

struct canfs_engine {
	struct canfs_engine_config config;
	const struct canfs_backend *backend_type;
	void *backend;
	pthread_t locator[LOCATORS];
	unsigned int locators;
	pthread_cond_t unlocated;
	pthread_mutex_t mutex; /* protects all below; never held while waiting for the disk */
	struct canfs_queue queue;
	struct canfs_extents *extents;
	struct canfs_fetch_list unplaced;  /* for the locators */
	uint64_t asking_nsec;              /* since when a locator asks; 0: none does */
	struct canfs_fetch_list cancelled; /* done() is due */
	struct canfs_engine_stats stats;
	bool ending;
	bool woken; /* the backend has been woken, and has not looked yet */
};

static uint64_t now_nsec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void count(struct canfs_engine_stats *stats, const struct canfs_fetch *fetch, uint64_t now)
{
	uint64_t wait_nsec = now - fetch->added_nsec;

	if (fetch->error == -ECANCELED) {
		stats->cancelled++;
	} else if (fetch->error != 0) {
		stats->failed++;
	} else {
		stats->done[fetch->kind]++;
		stats->bytes[fetch->kind] += canfs_fetch_own_bytes(fetch);
		stats->wait_nsec_sum[fetch->kind] += wait_nsec;
		if (wait_nsec > stats->wait_nsec_max[fetch->kind])
			stats->wait_nsec_max[fetch->kind] = wait_nsec;
	}
}

static void append(struct canfs_fetch_list *list, struct canfs_fetch_list *more)
{
	if (!more->first)
		return;
	if (!list->first)
		list->end = &list->first;
	*list->end = more->first;
	list->end = more->end;
	*more = (struct canfs_fetch_list) { 0 };
}

/* True if one more of the kind may be handed to the kernel. */
static bool has_place(const struct canfs_engine *engine, enum canfs_fetch_kind kind)
{
	const struct canfs_engine_config *config = &engine->config;
	const struct canfs_queue *queue = &engine->queue;

	if (kind == CANFS_FETCH_DEMAND)
		return queue->in_kernel[kind] < CANFS_ENGINE_DEMANDS;
	return queue->in_kernel[kind] < config->depth &&
	       (config->depth_bytes == 0 || queue->prefetch_bytes < config->depth_bytes);
}

static struct canfs_fetch *take_one(struct canfs_engine *engine)
{
	struct canfs_fetch *fetch = NULL;

	for (enum canfs_fetch_kind kind = 0; kind < CANFS_FETCH_KINDS && !fetch; kind++) {
		if (has_place(engine, kind))
			fetch = canfs_queue_take(&engine->queue, kind);
	}
	return fetch;
}

static unsigned int take(struct canfs_engine *engine, struct canfs_fetch **taken, unsigned int max)
{
	unsigned int n = 0;

	while (n < max && (taken[n] = take_one(engine)))
		n++;
	return n;
}

static unsigned int in_kernel(const struct canfs_queue *queue)
{
	return queue->in_kernel[CANFS_FETCH_DEMAND] + queue->in_kernel[CANFS_FETCH_PREFETCH];
}

static bool is_over(const struct canfs_engine *engine)
{
	return engine->ending && !engine->cancelled.first && engine->queue.waiting == 0 &&
	       in_kernel(&engine->queue) == 0;
}

static void tell(struct canfs_fetch *fetch)
{
	struct canfs_fetch *next;

	for (; fetch; fetch = next) {
		next = fetch->next;
		fetch->done(fetch, fetch->error);
	}
}

/*
 * True if there may be work. Fetches that wait for their address are counted, but are no work yet.
 */
static bool has_work(const struct canfs_engine *engine)
{
	const struct canfs_queue *queue = &engine->queue;

	return (has_place(engine, CANFS_FETCH_DEMAND) && !RB_EMPTY(&queue->demands)) ||
	       (has_place(engine, CANFS_FETCH_PREFETCH) && queue->waiting > 0);
}

/*
 * The backend looks by itself when a fetch comes back from the kernel. Otherwise it must be woken,
 * once.
 */
static bool must_wake(struct canfs_engine *engine)
{
	if (engine->woken || (!engine->cancelled.first && !has_work(engine)))
		return false;
	engine->woken = true;
	return true;
}

int canfs_engine_turn(struct canfs_engine *engine, const struct canfs_outcome *outcomes,
	unsigned int n, struct canfs_fetch **taken, unsigned int max)
{
	struct canfs_fetch_list finished = { 0 };
	uint64_t now;
	int result;

	pthread_mutex_lock(&engine->mutex);
	now = now_nsec(); /* not before a fetch that has joined meanwhile was added */
	engine->woken = false;
	for (unsigned int i = 0; i < n; i++)
		canfs_queue_finish(&engine->queue, outcomes[i].fetch, outcomes[i].error, &finished);
	append(&finished, &engine->cancelled);
	for (struct canfs_fetch *fetch = finished.first; fetch; fetch = fetch->next)
		count(&engine->stats, fetch, now);
	result = (int)take(engine, taken, max);
	if (result == 0 && is_over(engine)) {
		result = -1;
		engine->backend_type->wake(engine->backend); /* the next thread must end, too */
	} else if (result == (int)max && must_wake(engine)) {
		/* One large fetch has made room for many small ones. */
		engine->backend_type->wake(engine->backend);
	}
	pthread_mutex_unlock(&engine->mutex);
	tell(finished.first);
	return result;
}

int canfs_engine_wait_turn(
	struct canfs_engine *engine, pthread_cond_t *awake, struct canfs_fetch **taken)
{
	int n;

	pthread_mutex_lock(&engine->mutex);
	while ((n = (int)take(engine, taken, 1)) == 0 && !engine->cancelled.first &&
		!is_over(engine)) {
		engine->woken = false;
		pthread_cond_wait(awake, &engine->mutex);
	}
	engine->woken = false;
	if (n > 0 && must_wake(engine))
		pthread_cond_signal(awake); /* each thread wakes the next */
	pthread_mutex_unlock(&engine->mutex);
	return n;
}

uint64_t canfs_engine_piece_bytes(const struct canfs_engine *engine)
{
	return canfs_read_limit_bytes("/sys", engine->config.device);
}

uint64_t canfs_fetch_end(const struct canfs_fetch *fetch, int *error)
{
	struct stat stat;

	if (fstat(fetch->fd, &stat) != 0) {
		*error = -errno;
		return 0;
	}
	if (stat.st_size < 0 || (uint64_t)stat.st_size <= fetch->from)
		return 0;
	return (uint64_t)stat.st_size < fetch->to ? (uint64_t)stat.st_size : fetch->to;
}

static void unlock_and_wake(struct canfs_engine *engine)
{
	bool wake = must_wake(engine);

	pthread_mutex_unlock(&engine->mutex);
	if (wake)
		engine->backend_type->wake(engine->backend);
}

static void push(struct canfs_fetch_list *list, struct canfs_fetch *fetch)
{
	fetch->next = NULL;
	append(list, &(struct canfs_fetch_list) { .first = fetch, .end = &fetch->next });
}

static struct canfs_fetch *pop(struct canfs_fetch_list *list)
{
	struct canfs_fetch *fetch = list->first;

	if (fetch)
		list->first = fetch->next;
	return fetch;
}

/* Places a fetch whose address is known or does not matter. Otherwise a locator must place it. */
static void place(struct canfs_engine *engine, struct canfs_fetch *fetch)
{
	uint64_t address = canfs_address_by_file(fetch->file, fetch->from);

	if (fetch->kind == CANFS_FETCH_DEMAND || !engine->queue.config.policy->by_address ||
		canfs_extents_find(engine->extents, fetch->file, fetch->from, &address)) {
		canfs_queue_place(&engine->queue, fetch, address);
		return;
	}
	push(&engine->unplaced, fetch);
	pthread_cond_signal(&engine->unlocated);
}

bool canfs_engine_add(struct canfs_engine *engine, struct canfs_fetch *fetch)
{
	bool taken;

	pthread_mutex_lock(&engine->mutex);
	taken = !engine->ending && canfs_queue_enter(&engine->queue, fetch, now_nsec());
	if (taken && canfs_fetch_own_bytes(fetch) > 0)
		place(engine, fetch);
	unlock_and_wake(engine);
	return taken;
}

/* Waits while another locator asks, at most as long as that may take. True: it takes longer. */
static bool watch(struct canfs_engine *engine)
{
	uint64_t until_nsec = engine->asking_nsec + ASKING_NSEC_MAX;
	struct timespec until = { .tv_sec = (time_t)(until_nsec / 1000000000),
		.tv_nsec = (long)(until_nsec % 1000000000) };

	return pthread_cond_timedwait(&engine->unlocated, &engine->mutex, &until) == ETIMEDOUT &&
	       engine->asking_nsec != 0 && engine->asking_nsec + ASKING_NSEC_MAX == until_nsec;
}

/*
 * Returns the next fetch to place. NULL: the engine ends. *asks: the caller must ask for the
 * address first; engine->asking_nsec is then set.
 */
static struct canfs_fetch *next_unplaced(struct canfs_engine *engine, bool *asks)
{
	*asks = true;
	for (;;) {
		if (!engine->unplaced.first && engine->ending)
			return NULL;
		if (!engine->unplaced.first) {
			pthread_cond_wait(&engine->unlocated, &engine->mutex);
		} else if (engine->asking_nsec == 0) {
			engine->asking_nsec = now_nsec();
			return pop(&engine->unplaced);
		} else if (watch(engine) && engine->unplaced.first) {
			*asks = false;
			return pop(&engine->unplaced);
		}
	}
}

/*
 * The locators: threads that ask the file system for addresses. The file system may have to read
 * metadata. Neither the thread that adds a fetch nor the one that keeps the disk busy may wait for
 * that. Only the first fetch of a window takes this path.
 */
static void *locate(void *arg)
{
	struct canfs_engine *engine = arg;
	struct canfs_window window;
	struct canfs_fetch *fetch;
	uint64_t address;
	bool asks;

	pthread_mutex_lock(&engine->mutex);
	while ((fetch = next_unplaced(engine, &asks))) {
		address = canfs_address_by_file(fetch->file, fetch->from);
		if (!canfs_extents_find(engine->extents, fetch->file, fetch->from, &address) &&
			asks) {
			pthread_mutex_unlock(&engine->mutex);
			canfs_window_ask(
				&window, fetch->fd, fetch->file, fetch->fs_start, fetch->from);
			pthread_mutex_lock(&engine->mutex);
			canfs_extents_keep(engine->extents, &window);
			address = canfs_window_address(&window, fetch->from);
		}
		if (asks)
			engine->asking_nsec = 0;
		if (engine->ending)
			canfs_queue_finish(&engine->queue, fetch, -ECANCELED, &engine->cancelled);
		else
			canfs_queue_place(&engine->queue, fetch, address);
		unlock_and_wake(engine);
		pthread_mutex_lock(&engine->mutex);
	}
	pthread_mutex_unlock(&engine->mutex);
	return NULL;
}

void canfs_engine_cancel(struct canfs_engine *engine, uint64_t file, uint64_t from_offset)
{
	pthread_mutex_lock(&engine->mutex);
	canfs_extents_forget(engine->extents, file, from_offset);
	canfs_queue_cancel(&engine->queue, file, from_offset, &engine->cancelled);
	unlock_and_wake(engine);
}

void canfs_engine_drop(struct canfs_engine *engine, uint64_t file)
{
	struct canfs_fetch_list others = { 0 };
	struct canfs_fetch *fetch;

	pthread_mutex_lock(&engine->mutex);
	while ((fetch = pop(&engine->unplaced))) {
		if (fetch->file == file)
			canfs_queue_finish(&engine->queue, fetch, -ECANCELED, &engine->cancelled);
		else
			push(&others, fetch);
	}
	engine->unplaced = others;
	canfs_queue_drop(&engine->queue, file, &engine->cancelled);
	unlock_and_wake(engine);
}

int canfs_engine_set_policy(struct canfs_engine *engine, const char *policy)
{
	const struct canfs_policy *new = canfs_policy_named(policy);

	if (!new)
		return -EINVAL;
	pthread_mutex_lock(&engine->mutex);
	canfs_queue_set_policy(&engine->queue, new);
	pthread_mutex_unlock(&engine->mutex);
	return 0;
}

struct canfs_engine_stats canfs_engine_stats(struct canfs_engine *engine)
{
	const struct canfs_queue *queue = &engine->queue;
	struct canfs_engine_stats stats;

	pthread_mutex_lock(&engine->mutex);
	stats = engine->stats;
	stats.policy = queue->config.policy->name;
	stats.depth = engine->config.depth;
	stats.depth_bytes = engine->config.depth_bytes;
	stats.waiting = queue->waiting + queue->joiners;
	stats.in_kernel = in_kernel(queue);
	stats.refused = queue->refused;
	stats.joined = queue->joined;
	pthread_mutex_unlock(&engine->mutex);
	return stats;
}

static int begin_backend(struct canfs_engine *engine)
{
	unsigned int slots = engine->config.depth + CANFS_ENGINE_DEMANDS;

	int ret = -EINVAL;

	for (size_t i = 0; engine->config.backends[i] && ret != 0; i++) {
		if (i == 1)
			engine->stats.backend_error = ret;
		engine->backend_type = engine->config.backends[i];
		ret = engine->backend_type->begin(&engine->backend, engine, slots);
	}
	engine->stats.backend = engine->backend_type->name;
	return ret;
}

/*
 * The locators wake the backend, so they end first. A fetch whose address a locator asks for is
 * cancelled when the answer comes.
 */
static void end_locator(struct canfs_engine *engine)
{
	struct canfs_fetch *fetch;

	pthread_mutex_lock(&engine->mutex);
	engine->ending = true;
	while ((fetch = pop(&engine->unplaced)))
		canfs_queue_finish(&engine->queue, fetch, -ECANCELED, &engine->cancelled);
	canfs_queue_cancel_all(&engine->queue, &engine->cancelled);
	pthread_cond_broadcast(&engine->unlocated);
	pthread_mutex_unlock(&engine->mutex);
	for (unsigned int i = 0; i < engine->locators; i++)
		pthread_join(engine->locator[i], NULL);
}

static void release(struct canfs_engine *engine)
{
	canfs_queue_destroy(&engine->queue);
	canfs_extents_free(engine->extents);
	pthread_cond_destroy(&engine->unlocated);
	pthread_mutex_destroy(&engine->mutex);
	free(engine);
}

static int begin_threads(struct canfs_engine *engine)
{
	int ret = 0;

	while (engine->locators < LOCATORS && ret == 0) {
		ret = canfs_thread_start(&engine->locator[engine->locators], 0, locate, engine);
		engine->locators += ret == 0;
	}
	if (ret == 0)
		ret = begin_backend(engine);
	if (ret != 0)
		end_locator(engine);
	return ret;
}

int canfs_engine_new(struct canfs_engine **engine, const struct canfs_engine_config *config)
{
	const struct canfs_policy *policy = canfs_policy_named(config->policy);
	struct canfs_engine *new;
	int ret;

	if (!policy || config->depth < 1 || config->depth > CANFS_ENGINE_DEPTH_MAX)
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->config = *config;
	pthread_mutex_init(&new->mutex, NULL);
	canfs_steady_cond_init(&new->unlocated);
	new->extents = canfs_extents_new(WINDOWS_MAX);
	ret = canfs_queue_init(&new->queue, &(struct canfs_queue_config) { .policy = policy,
						    .waiting_max = config->waiting_max });
	if (ret == 0)
		ret = new->extents ? begin_threads(new) : -ENOMEM;
	if (ret != 0) {
		release(new);
		return ret;
	}
	*engine = new;
	return 0;
}

void canfs_engine_free(struct canfs_engine *engine)
{
	if (!engine)
		return;
	end_locator(engine);
	engine->backend_type->wake(engine->backend);
	engine->backend_type->end(engine->backend);
	release(engine);
}
