// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/device.h"
#include "ganesha-fsal/read/prefetch/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "server/monitors/cache_size.h"
#include "server/monitors/source.h"
#include "ganesha-fsal/read/scheduler/policy.h"
#include "common/clock.h"
#include "common/thread.h"

#define THREADS 2 /* of the ticks, and for closing files */

struct canfs_prefetcher {
	struct canfs_prefetch_shared shared;
	struct canfs_prefetcher_config config;
	struct canfs_fd_cache *fd_cache;
	struct canfs_remotes remotes;
	atomic_uint closers; /* workers that wait for fetches of deleted files */

	pthread_mutex_t mutex; /* protects what follows */
	pthread_cond_t wake, closed;
	struct canfs_device *device[CANFS_DEVICES_MAX]; /* freed with the prefetcher */
	unsigned int devices, open_count;
	uint64_t closings_asked, closings_done; /* rounds of the closing thread */
	bool ends;

	pthread_t thread[THREADS];
	unsigned int threads;   /* started */
	double memory_headroom; /* private to the housekeeping thread, like the next line */
	uint64_t evicted_before, ahead_before, sampled_usec;
};

/*
 * The headroom, [0, 1], scales the read-ahead distance. Once a second:
 *
 * - If more than 1/LOST_SHARE of the bytes fetched ahead were evicted before they were read, the
 *   headroom halves, down to HEADROOM_MIN. Otherwise the headroom grows by HEADROOM_STEP.
 * - The size that the page cache may reach bounds the headroom. The bound is 1 for
 *   CACHE_PLENTY_BYTES or more, and proportionally lower below.
 */
#define LOST_SHARE         16
#define HEADROOM_MIN       (1.0 / 16)
#define HEADROOM_STEP      (1.0 / 16)
#define CACHE_PLENTY_BYTES ((double)(256 << 20))

#define TICK_MSEC     250
#define TICKS_PER_SEC (1000 / TICK_MSEC)

struct canfs_remotes *canfs_prefetcher_remotes(struct canfs_prefetcher *prefetcher)
{
	return &prefetcher->remotes;
}

static void update_headroom(struct canfs_prefetcher *prefetcher)
{
	struct canfs_prefetch_shared *shared = &prefetcher->shared;
	uint64_t evicted = atomic_load(&shared->evicted_bytes);
	uint64_t ahead = atomic_load(&shared->ahead_bytes), cache_bytes;
	double headroom = prefetcher->memory_headroom, most = 1;

	if ((evicted - prefetcher->evicted_before) * LOST_SHARE > ahead - prefetcher->ahead_before)
		headroom = headroom / 2 > HEADROOM_MIN ? headroom / 2 : HEADROOM_MIN;
	else
		headroom = headroom + HEADROOM_STEP < 1 ? headroom + HEADROOM_STEP : 1;
	prefetcher->evicted_before = evicted;
	prefetcher->ahead_before = ahead;
	prefetcher->memory_headroom = headroom;
	if (canfs_cache_size(prefetcher->config.root, &cache_bytes) == 0 &&
		(double)cache_bytes < CACHE_PLENTY_BYTES)
		most = (double)cache_bytes / CACHE_PLENTY_BYTES;
	atomic_store(&shared->headroom, (float)(headroom < most ? headroom : most));
}

/* /sys/dev/block has devices by number, wherever they are. False: the kernel does not tell. */
static bool read_disk(const char *root, dev_t number, struct canfs_disk_reads *reads)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", major(number), minor(number));
	return canfs_read_source(root, path, text, sizeof(text)) >= 0 &&
	       canfs_parse_disk_reads(text, reads) == 0;
}

static void tick_streams(const char *root, struct canfs_device *device, double elapsed_sec)
{
	struct canfs_streams *streams = &device->streams;
	struct canfs_disk_reads now;
	bool known = canfs_streams_wants_reads(streams, elapsed_sec) &&
		     read_disk(root, device->number, &now);
	bool were_ours = canfs_streams_are_ours(streams);
	bool are_ours = canfs_streams_step(streams, known ? &now : NULL, elapsed_sec);

	if (are_ours != were_ours)
		canfs_files_leave_plain(device->files, !are_ours);
}

/* Devices are freed only with the prefetcher, so those counted may be used without the mutex. */
static unsigned int count_devices(struct canfs_prefetcher *prefetcher)
{
	unsigned int devices;

	pthread_mutex_lock(&prefetcher->mutex);
	devices = prefetcher->devices;
	pthread_mutex_unlock(&prefetcher->mutex);
	return devices;
}

static void tick_devices(struct canfs_prefetcher *prefetcher)
{
	unsigned int devices = count_devices(prefetcher);
	uint64_t now_usec = canfs_now_usec();
	struct canfs_held released;
	double elapsed_sec = (double)(now_usec - prefetcher->sampled_usec) / 1e6;

	for (unsigned int i = 0; i < devices && elapsed_sec > 0; i++) {
		tick_streams(prefetcher->config.root, prefetcher->device[i], elapsed_sec);
		canfs_throttle_tick(&prefetcher->device[i]->throttle,
			canfs_streams_active(&prefetcher->device[i]->streams), &released);
		canfs_reads_go_on(prefetcher->device[i], &released);
		canfs_worker_pool_tick(prefetcher->device[i]->pool, now_usec);
		canfs_worker_pool_tick(prefetcher->device[i]->blocking_pool, now_usec);
	}
	prefetcher->sampled_usec = now_usec;
}

/* Once a second. */
static void tick_second(struct canfs_prefetcher *prefetcher)
{
	canfs_fd_cache_tick(prefetcher->fd_cache);
	update_headroom(prefetcher);
}

/* The thread of the ticks. It never blocks: READs that are held wait for it. */
static void *keep(void *arg)
{
	struct canfs_prefetcher *prefetcher = arg;
	struct timespec until;
	unsigned int ticks = 0;

	if (prefetcher->config.thread_begins)
		prefetcher->config.thread_begins("canfs_house");
	pthread_mutex_lock(&prefetcher->mutex);
	while (!prefetcher->ends) {
		until = canfs_in_msec(TICK_MSEC);
		while (!prefetcher->ends &&
			pthread_cond_timedwait(&prefetcher->wake, &prefetcher->mutex, &until) == 0)
			;
		pthread_mutex_unlock(&prefetcher->mutex);
		tick_devices(prefetcher);
		if (++ticks % TICKS_PER_SEC == 0)
			tick_second(prefetcher);
		pthread_mutex_lock(&prefetcher->mutex);
	}
	pthread_mutex_unlock(&prefetcher->mutex);
	return NULL;
}

/*
 * The thread that closes files, when asked to and once per tick. It may wait for a file system that
 * frees a deleted file. Only canfs_prefetcher_free() waits for this thread, and others until a
 * timeout.
 */
static void *close_files(void *arg)
{
	struct canfs_prefetcher *prefetcher = arg;
	struct timespec until;
	uint64_t asked;
	int ret;

	if (prefetcher->config.thread_begins)
		prefetcher->config.thread_begins("canfs_close");
	pthread_mutex_lock(&prefetcher->mutex);
	while (!prefetcher->ends) {
		until = canfs_in_msec(TICK_MSEC);
		ret = 0;
		while (!prefetcher->ends && ret == 0 &&
			prefetcher->closings_asked == prefetcher->closings_done)
			ret = pthread_cond_timedwait(&prefetcher->wake, &prefetcher->mutex, &until);
		asked = prefetcher->closings_asked;
		pthread_mutex_unlock(&prefetcher->mutex);
		canfs_fd_cache_close_all(prefetcher->fd_cache);
		pthread_mutex_lock(&prefetcher->mutex);
		prefetcher->closings_done = asked;
		pthread_cond_broadcast(&prefetcher->closed);
	}
	pthread_mutex_unlock(&prefetcher->mutex);
	return NULL;
}

/* Has the thread above close all files without users. False: not done by `until`. */
static bool have_closed(struct canfs_prefetcher *prefetcher, const struct timespec *until)
{
	uint64_t asked;
	int ret = 0;

	pthread_mutex_lock(&prefetcher->mutex);
	asked = ++prefetcher->closings_asked;
	pthread_cond_broadcast(&prefetcher->wake);
	while (prefetcher->closings_done < asked && ret == 0)
		ret = pthread_cond_timedwait(&prefetcher->closed, &prefetcher->mutex, until);
	pthread_mutex_unlock(&prefetcher->mutex);
	return ret == 0;
}

static int start_threads(struct canfs_prefetcher *prefetcher)
{
	static void *(*const run[THREADS])(void *) = { keep, close_files };
	unsigned int *n = &prefetcher->threads;
	int ret = 0;

	for (; *n < THREADS && ret == 0; *n += ret == 0)
		ret = canfs_thread_start(&prefetcher->thread[*n], 0, run[*n], prefetcher);
	return ret;
}

static unsigned int drain_timeout_msec(const struct canfs_prefetcher *prefetcher)
{
	unsigned int msec = prefetcher->config.drain_timeout_msec;

	return msec != 0 ? msec : CANFS_DRAIN_TIMEOUT_MSEC;
}

int canfs_prefetcher_new(
	struct canfs_prefetcher **prefetcher, const struct canfs_prefetcher_config *config)
{
	struct canfs_prefetcher *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return -ENOMEM;
	new->config = *config;
	new->memory_headroom = 1;
	new->sampled_usec = canfs_now_usec();
	atomic_store(&new->shared.headroom, 1);
	pthread_mutex_init(&new->mutex, NULL);
	pthread_mutex_init(&new->remotes.mutex, NULL);
	canfs_steady_cond_init(&new->remotes.settled);
	new->remotes.drain_timeout_msec = drain_timeout_msec(new);
	canfs_steady_cond_init(&new->wake);
	canfs_steady_cond_init(&new->closed);
	ret = canfs_fd_cache_new(&new->fd_cache, config->open_max);
	if (ret == 0)
		ret = start_threads(new);
	if (ret != 0) {
		canfs_prefetcher_free(new);
		return ret;
	}
	*prefetcher = new;
	return 0;
}

void canfs_prefetcher_free(struct canfs_prefetcher *prefetcher)
{
	if (!prefetcher)
		return;
	pthread_mutex_lock(&prefetcher->mutex);
	prefetcher->ends = true;
	pthread_cond_broadcast(&prefetcher->wake);
	pthread_mutex_unlock(&prefetcher->mutex);
	while (prefetcher->threads > 0)
		pthread_join(prefetcher->thread[--prefetcher->threads], NULL);
	for (unsigned int i = 0; i < prefetcher->devices; i++)
		canfs_device_free(prefetcher->device[i]);
	canfs_fd_cache_free(prefetcher->fd_cache);
	pthread_mutex_destroy(&prefetcher->remotes.mutex);
	pthread_cond_destroy(&prefetcher->remotes.settled);
	pthread_mutex_destroy(&prefetcher->mutex);
	pthread_cond_destroy(&prefetcher->wake);
	pthread_cond_destroy(&prefetcher->closed);
	free(prefetcher);
}

unsigned int canfs_prefetcher_open_count(struct canfs_prefetcher *prefetcher)
{
	unsigned int open_count;

	pthread_mutex_lock(&prefetcher->mutex);
	open_count = prefetcher->open_count;
	for (unsigned int i = 0; i < prefetcher->devices; i++)
		open_count += atomic_load(&prefetcher->device[i]->streaming);
	pthread_mutex_unlock(&prefetcher->mutex);
	pthread_mutex_lock(&prefetcher->remotes.mutex);
	open_count += prefetcher->remotes.count;
	pthread_mutex_unlock(&prefetcher->remotes.mutex);
	return open_count;
}

/* Finds the device of the place, or makes it. Returns 0 or -errno. Call with the mutex held. */
static int device_of(struct canfs_prefetcher *prefetcher, const struct canfs_device_place *place,
	dev_t st_dev, struct canfs_device **device)
{
	int ret;

	for (unsigned int i = 0; i < prefetcher->devices; i++) {
		*device = prefetcher->device[i];
		if ((*device)->number == place->number)
			return 0;
	}
	if (prefetcher->devices == CANFS_DEVICES_MAX)
		return -ENOSPC;
	ret = canfs_device_new(device, place, st_dev, &prefetcher->config);
	if (ret != 0)
		return ret;
	(*device)->prefetcher = prefetcher;
	(*device)->shared = &prefetcher->shared;
	prefetcher->device[prefetcher->devices++] = *device;
	return 0;
}

int canfs_prefetcher_open(
	struct canfs_export_fs **export_fs, struct canfs_prefetcher *prefetcher, const char *path)
{
	struct canfs_device_place place;
	struct canfs_device *device;
	struct stat st;
	int ret = canfs_device_find(prefetcher->config.root, path, &place);

	if (ret != 0)
		return ret;
	if (stat(path, &st) != 0)
		return -errno;
	pthread_mutex_lock(&prefetcher->mutex);
	ret = device_of(prefetcher, &place, st.st_dev, &device);
	if (ret == 0)
		ret = canfs_export_fs_open(
			export_fs, prefetcher->fd_cache, path, device, place.fs_start);
	if (ret == 0)
		prefetcher->open_count++;
	pthread_mutex_unlock(&prefetcher->mutex);
	return ret;
}

static void give_up(struct canfs_open_file *file)
{
	canfs_engine_drop(canfs_export_fs_device(file->export_fs)->engine, file->name);
}

/* An exported file system was drained, or closed without a drain. */
static void count_down(struct canfs_prefetcher *prefetcher)
{
	pthread_mutex_lock(&prefetcher->mutex);
	prefetcher->open_count--;
	pthread_mutex_unlock(&prefetcher->mutex);
}

bool canfs_prefetcher_drain(struct canfs_export_fs *export_fs)
{
	struct canfs_device *device = canfs_export_fs_device(export_fs);
	struct canfs_prefetcher *prefetcher = device->prefetcher;
	struct timespec until =
		canfs_in_msec(atomic_load(&device->stuck) ? 0 : drain_timeout_msec(prefetcher));
	bool first = canfs_export_fs_begin_drain(export_fs), left;

	canfs_fd_cache_forget_export_fs(prefetcher->fd_cache, export_fs, give_up);
	/*
	 * A file that was deleted while in use is not in the fd cache any more. Its reads end all
	 * the same.
	 */
	left = canfs_export_fs_is_left(export_fs, &until) || !first;
	if (!left || !have_closed(prefetcher, &until)) {
		atomic_store(&device->stuck, true);
		return false;
	}
	if (first)
		count_down(prefetcher);
	return true;
}

void canfs_prefetcher_close(struct canfs_export_fs *export_fs)
{
	struct canfs_prefetcher *prefetcher;

	if (!export_fs)
		return;
	if (canfs_export_fs_is_draining(export_fs)) {
		canfs_export_fs_close(export_fs);
		return;
	}
	/*
	 * Only without a drain. After a drain, the device and the prefetcher may be freed, if the
	 * server ends.
	 */
	prefetcher = canfs_export_fs_device(export_fs)->prefetcher;
	canfs_fd_cache_forget_export_fs(prefetcher->fd_cache, export_fs, NULL);
	canfs_export_fs_close(export_fs);
	count_down(prefetcher);
}

/*
 * Cancels waiting fetches, unless the file keeps a link. Fetches in the kernel cannot be cancelled.
 * If the space must become free, waits for them.
 */
static void close_file(struct canfs_prefetcher *prefetcher, struct canfs_open_file *file,
	bool deletes, const struct timespec *until)
{
	static const struct timespec at_once;
	bool frees = canfs_is_last_link(file, deletes);

	if (atomic_load(&file->fetches) > 0 && (frees || !deletes))
		give_up(file);
	if (atomic_fetch_add(&prefetcher->closers, 1) >= CANFS_CLOSERS_MAX || !frees ||
		atomic_load(&canfs_export_fs_device(file->export_fs)->stuck))
		until = &at_once;
	canfs_fd_cache_close(file, until);
	atomic_fetch_sub(&prefetcher->closers, 1);
}

void canfs_prefetch_forget(struct canfs_prefetcher *prefetcher, const void *object, bool deletes,
	const struct timespec *until)
{
	struct canfs_open_file *file;

	while ((file = canfs_fd_cache_take(prefetcher->fd_cache, object)))
		close_file(prefetcher, file, deletes, until);
	/* The file may have been displaced from the cache. */
	if (deletes && canfs_fd_cache_is_closing(prefetcher->fd_cache))
		(void)have_closed(prefetcher, until);
}

void canfs_prefetch_closed(struct canfs_export_fs *export_fs, const void *object)
{
	struct canfs_open_file *file = canfs_fd_cache_find(export_fs, object);
	bool deleted = file && canfs_is_last_link(file, 0);
	struct timespec until;

	canfs_fd_cache_put(file);
	if (!deleted)
		return;
	until = canfs_in_msec(CANFS_CLOSE_TIMEOUT_MSEC);
	canfs_prefetch_forget(canfs_export_fs_device(export_fs)->prefetcher, object, true, &until);
}

int canfs_prefetcher_set_policy(struct canfs_prefetcher *prefetcher, const char *policy)
{
	bool automatic = strcmp(policy, "auto") == 0;

	if (strlen(policy) >= sizeof(prefetcher->config.policy) ||
		(!automatic && !canfs_policy_named(policy)))
		return -EINVAL;
	pthread_mutex_lock(&prefetcher->mutex);
	for (unsigned int i = 0; i < prefetcher->devices; i++) {
		struct canfs_device *device = prefetcher->device[i];

		/* A known policy is never refused, so no disk keeps another one. */
		(void)canfs_engine_set_policy(device->engine, automatic ? device->policy : policy);
	}
	snprintf(prefetcher->config.policy, sizeof(prefetcher->config.policy), "%s",
		automatic ? "" : policy);
	pthread_mutex_unlock(&prefetcher->mutex);
	return 0;
}

void canfs_prefetcher_stats(
	struct canfs_prefetcher *prefetcher, struct canfs_prefetcher_stats *stats)
{
	struct canfs_prefetch_shared *shared = &prefetcher->shared;

	*stats = (struct canfs_prefetcher_stats) {
		.reads_let_through = atomic_load(&shared->let_through),
		.waiting = atomic_load(&shared->waiting),
		.evicted_bytes = atomic_load(&shared->evicted_bytes),
		.headroom = (double)atomic_load(&shared->headroom),
		.fd_cache = canfs_fd_cache_stats(prefetcher->fd_cache),
	};
	for (int way = 0; way < CANFS_READ_WAYS; way++)
		stats->reads[way] = atomic_load(&shared->reads[way]);
}

void canfs_prefetcher_visit(struct canfs_prefetcher *prefetcher,
	void (*visit)(const struct canfs_device_view *view, void *arg), void *arg)
{
	pthread_mutex_lock(&prefetcher->mutex);
	for (unsigned int i = 0; i < prefetcher->devices; i++) {
		struct canfs_device *device = prefetcher->device[i];
		struct canfs_device_view view = { .name = device->name,
			.type = device->type,
			.orders_streams = canfs_streams_are_ours(&device->streams),
			.engine = canfs_engine_stats(device->engine),
			.files = canfs_files_stats(device->files) };

		visit(&view, arg);
	}
	pthread_mutex_unlock(&prefetcher->mutex);
	canfs_remotes_visit(&prefetcher->remotes, visit, arg);
}
