// SPDX-License-Identifier: LGPL-3.0-or-later
/* The fetches of a file, from the advice or the READ that wants them until their pages arrive. */
#include "ganesha-fsal/read/prefetch/fetching.h"
#include "ganesha-fsal/read/prefetch/device.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "ganesha-fsal/read/scheduler/sorted.h"

#define IN_VAIN_MAX 8

/*
 * A piece of a file that is in flight. cachestat(2) reports it as resident (resident.h), so it is
 * tracked here.
 */
struct canfs_fetching {
	struct canfs_fetch fetch;
	struct canfs_open_file *file;
	struct canfs_read *read; /* NULL: prefetch */
	RB_ENTRY(canfs_fetching) link;
};

static int compare(struct canfs_fetching *a, struct canfs_fetching *b)
{
	if (a->fetch.offset != b->fetch.offset)
		return a->fetch.offset < b->fetch.offset ? -1 : 1;
	if (a == b)
		return 0;
	return !a->file || a < b ? -1 : 1; /* a key has no file, and precedes its whole offset */
}

CANFS_RB(canfs_fetchings, canfs_fetching, link, compare)

unsigned int canfs_residency_age(const struct canfs_open_file *file)
{
	return atomic_load_explicit(
		&canfs_export_fs_device(file->export_fs)->age, memory_order_relaxed);
}

static void look_up_size(struct canfs_open_file *file)
{
	struct stat st;

	pthread_mutex_lock(&file->mutex);
	if (fstat(file->fd, &st) == 0) {
		file->bytes = (uint64_t)st.st_size;
		file->resize = false;
	}
	pthread_mutex_unlock(&file->mutex);
}

static void forget_size(struct canfs_open_file *file)
{
	pthread_mutex_lock(&file->mutex);
	file->resize = true;
	pthread_mutex_unlock(&file->mutex);
}

uint64_t canfs_clip(uint64_t offset, uint64_t bytes, uint64_t file_bytes)
{
	if (offset >= file_bytes)
		return 0;
	return bytes < file_bytes - offset ? bytes : file_bytes - offset;
}

uint64_t canfs_clip_now(struct canfs_open_file *file, uint64_t offset, uint64_t bytes)
{
	if (file->resize || offset + bytes > file->bytes)
		look_up_size(file);
	return canfs_clip(offset, bytes, file->bytes);
}

/*
 * A READ's fetch has ended: checks whether its pages are in the page cache. Pages of a file that is
 * served past the page cache (DAX, direct_io of FUSE) are never there. Each read of such a file
 * would wait in vain.
 */
static void probe_page_cache(struct canfs_open_file *file, const struct canfs_fetch *fetch)
{
	uint64_t bytes, last;

	if (file->caches)
		return;
	forget_size(file);
	bytes = canfs_clip_now(file, fetch->offset, fetch->bytes);
	if (bytes == 0)
		return;
	last = (fetch->offset + bytes - 1) & ~(CANFS_FETCH_PAGE_BYTES - 1);
	if (canfs_is_resident(file->fd, last, 1, file->bytes, &file->map))
		file->caches = true;
	else
		file->in_vain++;
}

bool canfs_is_uncached(const struct canfs_open_file *file)
{
	return !file->caches && file->in_vain >= IN_VAIN_MAX;
}

void canfs_fetching_end(struct canfs_fetch *fetch, int error)
{
	struct canfs_fetching *piece = (struct canfs_fetching *)fetch;
	struct canfs_open_file *file = piece->file;
	struct canfs_device *device = canfs_export_fs_device(file->export_fs);
	struct canfs_read *read = piece->read;
	struct canfs_export_fs *export_fs = file->export_fs;

	pthread_mutex_lock(&file->mutex);
	RB_REMOVE(canfs_fetchings, &file->pieces, piece);
	file->fetches--;
	pthread_mutex_unlock(&file->mutex);
	if (error != -ECANCELED && atomic_load(&device->stuck))
		atomic_store(&device->stuck, false);
	if (read && error == 0)
		probe_page_cache(file, fetch);
	if (!read && error != 0)
		canfs_files_not_fetched(
			device->files, fetch->file, fetch->stream, fetch->offset, fetch->bytes);
	else if (!read)
		atomic_fetch_add(&device->shared->ahead_bytes, fetch->bytes);
	free(piece);
	canfs_fd_cache_put(file);
	if (read)
		canfs_read_fetch_ended(read);
	canfs_export_fs_leave(export_fs);
}

/* Call with the file's mutex held. */
static bool is_in_flight(struct canfs_open_file *file, uint64_t offset, uint64_t bytes)
{
	struct canfs_fetching *piece, key = { .file = NULL };

	/* No piece is longer than this. */
	if (offset > CANFS_FETCH_BYTES_MAX)
		key.fetch.offset = offset - CANFS_FETCH_BYTES_MAX;
	for (piece = RB_NFIND(canfs_fetchings, &file->pieces, &key);
		piece && piece->fetch.offset < offset + bytes;
		piece = RB_NEXT(canfs_fetchings, &file->pieces, piece)) {
		if (offset < piece->fetch.offset + piece->fetch.bytes)
			return true;
	}
	return false;
}

bool canfs_range_is_resident(struct canfs_open_file *file, uint64_t offset, uint64_t bytes)
{
	for (uint64_t at = offset & ~(CANFS_FETCH_PAGE_BYTES - 1); at < offset + bytes;
		at += CANFS_RESIDENT_BYTES_MAX) {
		uint64_t left = offset + bytes - at;

		if (!canfs_is_resident(file->fd, at,
			    left < CANFS_RESIDENT_BYTES_MAX ? left : CANFS_RESIDENT_BYTES_MAX,
			    file->bytes, &file->map))
			return false;
	}
	return true;
}

bool canfs_range_is_in_flight(struct canfs_open_file *file, uint64_t offset, uint64_t bytes)
{
	bool comes;

	if (file->fetches == 0)
		return false;
	pthread_mutex_lock(&file->mutex);
	comes = is_in_flight(file, offset, bytes);
	pthread_mutex_unlock(&file->mutex);
	return comes;
}

/*
 * Checks in flight last: pages that are being read count as resident, but stay in flight until they
 * are there.
 */
bool canfs_range_is_there(struct canfs_open_file *file, uint64_t offset, uint64_t bytes)
{
	return canfs_range_is_resident(file, offset, bytes) &&
	       !canfs_range_is_in_flight(file, offset, bytes);
}

struct canfs_fetch *canfs_fetching_begin(struct canfs_open_file *file, uint64_t offset,
	uint64_t bytes, uint32_t cursor, struct canfs_read *read)
{
	struct canfs_fetching *piece;

	if (!canfs_export_fs_enter(file->export_fs))
		return NULL;
	piece = calloc(1, sizeof(*piece));
	if (!piece) {
		canfs_export_fs_leave(file->export_fs);
		return NULL;
	}
	canfs_fd_cache_use(file);
	piece->file = file;
	piece->read = read;
	piece->fetch = (struct canfs_fetch) {
		.kind = read ? CANFS_FETCH_DEMAND : CANFS_FETCH_PREFETCH,
		.fd = file->fd,
		.file = file->name,
		.fs_start = canfs_export_fs_start(file->export_fs),
		.offset = offset,
		.bytes = (uint32_t)bytes,
		.stream = cursor,
		.done = canfs_fetching_end,
	};
	pthread_mutex_lock(&file->mutex);
	RB_INSERT(canfs_fetchings, &file->pieces, piece);
	file->fetches++;
	canfs_residency_lost(&file->residency, canfs_residency_age(file));
	pthread_mutex_unlock(&file->mutex);
	return &piece->fetch;
}

bool canfs_fetching_queue(struct canfs_fetch *fetch)
{
	const struct canfs_fetching *piece = (struct canfs_fetching *)fetch;
	bool queued =
		canfs_engine_add(canfs_export_fs_device(piece->file->export_fs)->engine, fetch);

	if (!queued)
		canfs_fetching_end(fetch, -ECANCELED);
	return queued;
}

uint64_t canfs_fetching_ahead(struct canfs_open_file *file, const struct canfs_advice *advice)
{
	uint64_t end = advice->offset + advice->bytes, was_there = 0, queued = 0, bytes;

	for (uint64_t at = advice->offset; at < end; at += bytes) {
		struct canfs_fetch *fetch;

		bytes = end - at < CANFS_FETCH_BYTES_MAX ? end - at : CANFS_FETCH_BYTES_MAX;
		if (canfs_range_is_there(file, at, bytes)) {
			was_there += bytes;
			continue;
		}
		fetch = canfs_fetching_begin(file, at, bytes, advice->cursor, NULL);
		if (!fetch)
			break;
		if (canfs_fetching_queue(fetch))
			queued += bytes;
	}
	if (was_there > 0)
		canfs_files_was_there(canfs_export_fs_device(file->export_fs)->files, file->name,
			advice->cursor, was_there);
	return queued;
}

void canfs_prefetch_invalidate(
	struct canfs_export_fs *export_fs, const void *object, uint64_t offset, uint64_t bytes)
{
	struct canfs_open_file *file = canfs_fd_cache_find(export_fs, object);
	struct canfs_device *device = canfs_export_fs_device(export_fs);

	if (!file)
		return; /* no client reads it */
	if (file->resize || canfs_clip(offset, bytes, file->bytes) != bytes) {
		forget_size(file);
		canfs_residency_lost(&file->residency, canfs_residency_age(file));
		canfs_files_changed(device->files, file->name, offset);
		canfs_engine_cancel(device->engine, file->name, offset);
	}
	canfs_fd_cache_put(file);
}
