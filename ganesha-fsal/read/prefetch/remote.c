// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/remote.h"
#include "ganesha-fsal/read/prefetch/device.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "pricing/ghost.h"
#include "common/clock.h"
#include "common/hash.h"

/*
 * Where files end. Only a read that comes to the end of a file tells, and asking for attributes
 * might cost as much. Without this table, each read near the end would cause a read beyond it. An
 * entry is displaced by another that has the same index.
 */
#define ENDS 1024

/* After so many failures in a row, only one client READ in 2^RESTS_MAX causes a read ahead. */
#define RESTS_MAX 10

struct canfs_remote {
	struct canfs_remotes *remotes;
	struct canfs_remote_config config;
	struct canfs_files *files;
	struct canfs_worker_pool *pool;
	LIST_ENTRY(canfs_remote) next;
	char name[PATH_MAX];

	pthread_mutex_t mutex; /* protects what follows */
	pthread_cond_t left;
	TAILQ_HEAD(, canfs_remote_piece) pieces; /* waiting or being read */
	unsigned int inside;                     /* these, and those read but not yet ended */
	unsigned int waiting, reading, failed_in_row, reads;
	bool draining;
	bool ended;                         /* a drain has succeeded */
	bool left_behind;                   /* the last drain timed out, so all of this stays */
	void *buffer[CANFS_REMOTE_THREADS]; /* those not in use */
	unsigned int buffers;
	struct {
		uint64_t file, bytes;
	} ends[ENDS];
	struct canfs_engine_stats stats; /* like those of a disk's queue */
};

static uint64_t *end_of(struct canfs_remote *remote, uint64_t file)
{
	unsigned int at = (unsigned int)(canfs_hash(file) % ENDS);

	return remote->ends[at].file == file ? &remote->ends[at].bytes : NULL;
}

static void note_end(struct canfs_remote *remote, uint64_t file, uint64_t bytes)
{
	unsigned int at = (unsigned int)(canfs_hash(file) % ENDS);

	remote->ends[at].file = file;
	remote->ends[at].bytes = bytes;
}

static void forget_end(struct canfs_remote *remote, uint64_t file)
{
	uint64_t *end = end_of(remote, file);

	if (end)
		*end = UINT64_MAX;
}

int canfs_remote_open(struct canfs_remote **remote, struct canfs_remotes *remotes,
	const struct canfs_remote_config *config)
{
	struct canfs_files_config files = canfs_files_config_for(config->files);
	struct canfs_remote *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return -ENOMEM;
	new->remotes = remotes;
	new->config = *config;
	snprintf(new->name, sizeof(new->name), "%s", config->name);
	new->stats = (struct canfs_engine_stats) {
		.policy = "none", .depth = CANFS_REMOTE_THREADS, .backend = "threads"
	};
	pthread_mutex_init(&new->mutex, NULL);
	canfs_steady_cond_init(&new->left);
	TAILQ_INIT(&new->pieces);
	files.unit_bytes = CANFS_REMOTE_PIECE_BYTES;
	ret = canfs_files_new(&new->files, &files);
	if (ret == 0)
		ret = canfs_worker_pool_new(&new->pool, CANFS_REMOTE_THREADS, CANFS_REMOTE_THREADS,
			"canfs_remote", config->thread_begins);
	if (ret != 0) {
		canfs_files_free(new->files);
		free(new);
		return ret;
	}
	pthread_mutex_lock(&remotes->mutex);
	LIST_INSERT_HEAD(&remotes->list, new, next);
	remotes->count++;
	pthread_mutex_unlock(&remotes->mutex);
	*remote = new;
	return 0;
}

/* Drops a waiting piece: a thread ends it later without reading it. Call with the mutex held. */
static void drop(struct canfs_remote *remote, struct canfs_remote_piece *piece)
{
	if (piece->dropped || piece->reading)
		return;
	piece->dropped = true;
	remote->waiting--;
	remote->stats.cancelled++;
}

bool canfs_remote_drain(struct canfs_remote *remote)
{
	struct canfs_remotes *remotes = remote->remotes;
	struct timespec until =
		canfs_in_msec(remote->left_behind ? 0 : remotes->drain_timeout_msec);
	struct canfs_remote_piece *piece;
	bool ended, empty;
	int ret = 0;

	pthread_mutex_lock(&remote->mutex);
	remote->draining = true;
	TAILQ_FOREACH (piece, &remote->pieces, next)
		drop(remote, piece);
	while (remote->inside != 0 && ret == 0)
		ret = pthread_cond_timedwait(&remote->left, &remote->mutex, &until);
	empty = remote->inside == 0;
	ended = remote->ended;
	remote->ended = empty;
	remote->left_behind = !empty;
	pthread_mutex_unlock(&remote->mutex);
	if (ended || !empty)
		return empty;
	pthread_mutex_lock(&remotes->mutex);
	LIST_REMOVE(remote, next);
	remotes->count--;
	pthread_mutex_unlock(&remotes->mutex);
	canfs_worker_pool_free(remote->pool);
	return true;
}

void canfs_remote_close(struct canfs_remote *remote)
{
	if (!remote || (!remote->ended && !canfs_remote_drain(remote)))
		return;
	canfs_files_free(remote->files);
	while (remote->buffers > 0)
		free(remote->buffer[--remote->buffers]);
	pthread_mutex_destroy(&remote->mutex);
	pthread_cond_destroy(&remote->left);
	free(remote);
}

/* Drops a waiting piece that is not charged. Call with the mutex held. */
static void drop_needless(struct canfs_remote *remote, struct canfs_remote_piece *piece)
{
	if (piece->dropped || piece->reading)
		return;
	drop(remote, piece);
	canfs_files_was_there(remote->files, piece->file, piece->cursor, piece->bytes);
}

/* Drops the waiting pieces that a client now reads itself. Call with the mutex held. */
static void drop_late(struct canfs_remote *remote, uint64_t file, uint64_t offset, uint32_t bytes)
{
	struct canfs_remote_piece *piece;

	if (remote->waiting == 0)
		return;
	TAILQ_FOREACH (piece, &remote->pieces, next) {
		if (piece->file == file && piece->offset < offset + bytes &&
			offset < piece->offset + piece->bytes)
			drop_needless(remote, piece);
	}
}

size_t canfs_remote_advise(struct canfs_remote *remote, uint64_t file, uint64_t offset,
	uint32_t bytes, double scale, struct canfs_advice advice[CANFS_ADVICE_MAX])
{
	uint64_t file_bytes = UINT64_MAX, *end;
	unsigned int rests;

	pthread_mutex_lock(&remote->mutex);
	drop_late(remote, file, offset, bytes);
	end = end_of(remote, file);
	if (end && offset >= *end)
		forget_end(remote, file); /* the file has grown */
	else if (end)
		file_bytes = *end;
	rests = remote->failed_in_row < RESTS_MAX ? remote->failed_in_row : RESTS_MAX;
	if ((remote->reads++ & ((1u << rests) - 1)) != 0 || remote->draining)
		scale = 0;
	pthread_mutex_unlock(&remote->mutex);
	return canfs_files_read(
		remote->files, file, offset, bytes, file_bytes, scale, false, advice, NULL);
}

static void count(struct canfs_engine_stats *stats, uint64_t bytes, uint64_t wait_usec)
{
	uint64_t *max = &stats->wait_nsec_max[CANFS_FETCH_PREFETCH];

	stats->done[CANFS_FETCH_PREFETCH]++;
	stats->bytes[CANFS_FETCH_PREFETCH] += bytes;
	stats->wait_nsec_sum[CANFS_FETCH_PREFETCH] += wait_usec * 1000;
	if (wait_usec * 1000 > *max)
		*max = wait_usec * 1000;
}

/* Counts the result, and removes the piece from the list. */
static void settle(struct canfs_remote *remote, struct canfs_remote_piece *piece, int64_t result)
{
	pthread_mutex_lock(&remote->mutex);
	TAILQ_REMOVE(&remote->pieces, piece, next);
	if (!piece->dropped)
		remote->reading--;
	if (result >= 0) {
		remote->failed_in_row = 0;
		count(&remote->stats, (uint64_t)result, canfs_now_usec() - piece->added_usec);
		if (piece->at_end)
			note_end(remote, piece->file, piece->offset + (uint64_t)result);
	} else if (!piece->dropped) {
		remote->failed_in_row++;
		remote->stats.failed++;
	}
	pthread_mutex_unlock(&remote->mutex);
}

static bool is_read(struct canfs_remote *remote, const void *object)
{
	struct canfs_remote_piece *piece;

	pthread_mutex_lock(&remote->mutex);
	TAILQ_FOREACH (piece, &remote->pieces, next) {
		if (piece->reading && piece->object == object)
			break;
	}
	pthread_mutex_unlock(&remote->mutex);
	return piece;
}

/*
 * Settles the piece. True: the object was left to its reads, and this was the last of them in all
 * exports.
 */
static bool settle_last(
	struct canfs_remote *remote, struct canfs_remote_piece *piece, int64_t result)
{
	struct canfs_remotes *remotes = remote->remotes;
	struct canfs_remote *other;
	bool last;

	pthread_mutex_lock(&remotes->mutex);
	settle(remote, piece, result);
	last = piece->object_left;
	if (last) {
		LIST_FOREACH (other, &remotes->list, next)
			last = last && !is_read(other, piece->object);
	}
	pthread_cond_broadcast(&remotes->settled);
	pthread_mutex_unlock(&remotes->mutex);
	return last;
}

static int64_t read_it(struct canfs_remote *remote, struct canfs_remote_piece *piece)
{
	void *buffer = NULL;
	int64_t result;

	pthread_mutex_lock(&remote->mutex);
	if (piece->dropped) {
		pthread_mutex_unlock(&remote->mutex);
		return -ECANCELED;
	}
	piece->reading = true;
	remote->waiting--;
	remote->reading++;
	if (remote->buffers > 0)
		buffer = remote->buffer[--remote->buffers];
	pthread_mutex_unlock(&remote->mutex);
	if (!buffer)
		buffer = malloc(CANFS_REMOTE_PIECE_BYTES);
	if (!buffer)
		return -ENOMEM;
	result = remote->config.read(piece, buffer);
	pthread_mutex_lock(&remote->mutex);
	remote->buffer[remote->buffers++] = buffer;
	pthread_mutex_unlock(&remote->mutex);
	return result;
}

static void run(struct canfs_job *job)
{
	struct canfs_remote_piece *piece = (struct canfs_remote_piece *)job;
	struct canfs_remote *remote = piece->remote;
	int64_t result = read_it(remote, piece);
	uint64_t there = result > 0 ? (uint64_t)result : 0;
	bool keeps;

	if (!piece->dropped && there < piece->bytes)
		canfs_files_not_fetched(remote->files, piece->file, piece->cursor,
			piece->offset + there, piece->bytes - there);
	keeps = settle_last(remote, piece, result);
	remote->config.end(piece, keeps);
	atomic_fetch_sub(&remote->remotes->pieces, 1);
	pthread_mutex_lock(&remote->mutex);
	if (--remote->inside == 0)
		pthread_cond_broadcast(&remote->left);
	pthread_mutex_unlock(&remote->mutex);
}

bool canfs_remote_add(struct canfs_remote *remote, struct canfs_remote_piece *piece)
{
	bool taken;

	piece->remote = remote;
	piece->job.run = run;
	piece->added_usec = canfs_now_usec();
	pthread_mutex_lock(&remote->mutex);
	taken = !remote->draining && remote->waiting < CANFS_REMOTE_WAITING_MAX;
	if (taken) {
		TAILQ_INSERT_TAIL(&remote->pieces, piece, next);
		remote->waiting++;
		remote->inside++;
		atomic_fetch_add(&remote->remotes->pieces, 1);
	} else {
		remote->stats.refused++;
	}
	pthread_mutex_unlock(&remote->mutex);
	if (taken)
		canfs_worker_pool_submit(remote->pool, &piece->job);
	else
		canfs_files_not_fetched(
			remote->files, piece->file, piece->cursor, piece->offset, piece->bytes);
	return taken;
}

void canfs_remote_changed(struct canfs_remote *remote, uint64_t file, uint64_t from_offset)
{
	struct canfs_remote_piece *piece;

	canfs_files_changed(remote->files, file, from_offset);
	pthread_mutex_lock(&remote->mutex);
	forget_end(remote, file);
	TAILQ_FOREACH (piece, &remote->pieces, next) {
		if (piece->file == file && piece->offset >= from_offset)
			drop(remote, piece);
	}
	pthread_mutex_unlock(&remote->mutex);
}

static bool forget(struct canfs_remote *remote, const void *object)
{
	struct canfs_remote_piece *piece;
	bool found = false;

	pthread_mutex_lock(&remote->mutex);
	TAILQ_FOREACH (piece, &remote->pieces, next) {
		if (piece->object != object || piece->dropped)
			continue;
		drop_needless(remote, piece);
		if (!piece->reading)
			continue;
		found = true;
		piece->object_left = true;
	}
	pthread_mutex_unlock(&remote->mutex);
	return found;
}

bool canfs_remote_forget(struct canfs_remotes *remotes, const void *object)
{
	struct canfs_remote *remote;
	bool found = false;

	if (atomic_load(&remotes->pieces) == 0)
		return false;
	pthread_mutex_lock(&remotes->mutex);
	LIST_FOREACH (remote, &remotes->list, next)
		found = forget(remote, object) || found;
	pthread_mutex_unlock(&remotes->mutex);
	return found;
}

/* Drops the waiting pieces of the file. Returns whether a piece of the file is being read. */
static bool drop_file(struct canfs_remote *remote, uint64_t file)
{
	struct canfs_remote_piece *piece;
	bool reading = false;

	pthread_mutex_lock(&remote->mutex);
	TAILQ_FOREACH (piece, &remote->pieces, next) {
		if (piece->file != file)
			continue;
		drop_needless(remote, piece);
		reading = reading || piece->reading;
	}
	pthread_mutex_unlock(&remote->mutex);
	return reading;
}

/* Call with the mutex of `remotes` held. */
static bool drop_file_of_all(struct canfs_remotes *remotes, uint64_t file)
{
	struct canfs_remote *remote;
	bool reading = false;

	LIST_FOREACH (remote, &remotes->list, next)
		reading = drop_file(remote, file) || reading;
	return reading;
}

void canfs_remote_let_go(struct canfs_remotes *remotes, uint64_t file, const struct timespec *until)
{
	int ret = 0;

	if (atomic_load(&remotes->pieces) == 0)
		return;
	pthread_mutex_lock(&remotes->mutex);
	remotes->waiters++;
	while (drop_file_of_all(remotes, file) && remotes->waiters <= CANFS_CLOSERS_MAX && ret == 0)
		ret = pthread_cond_timedwait(&remotes->settled, &remotes->mutex, until);
	remotes->waiters--;
	pthread_mutex_unlock(&remotes->mutex);
}

void canfs_remotes_visit(struct canfs_remotes *remotes,
	void (*visit)(const struct canfs_device_view *view, void *arg), void *arg)
{
	struct canfs_remote *remote;

	pthread_mutex_lock(&remotes->mutex);
	LIST_FOREACH (remote, &remotes->list, next) {
		struct canfs_device_view view = { .name = remote->name,
			.type = "remote",
			.files = canfs_files_stats(remote->files) };

		pthread_mutex_lock(&remote->mutex);
		view.engine = remote->stats;
		view.engine.waiting = remote->waiting;
		view.engine.in_kernel = remote->reading;
		pthread_mutex_unlock(&remote->mutex);
		visit(&view, arg);
	}
	pthread_mutex_unlock(&remotes->mutex);
}
