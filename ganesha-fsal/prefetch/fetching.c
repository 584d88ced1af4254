// SPDX-License-Identifier: LGPL-3.0-or-later
/* A read, between the page cache, the table of active files and the device's queue. */
#include "ganesha-fsal/prefetch/device.h"
#include "ganesha-fsal/scheduler/sorted.h"
#include "common/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define PAGE_BYTES                                                                                 \
	((uint64_t)4096) /* what is fetched is rounded to; a larger page is fetched whole anyway */
#define IN_VAIN_MAX        8
#define KERNEL_AHEAD_BYTES ((uint64_t)16 << 20) /* more than its read_ahead_kb will be */

/* What is being fetched of a file, as cachestat(2) does not tell (resident.h). */
struct canfs_piece {
	struct canfs_fetch fetch;
	struct canfs_open_file *file;
	struct canfs_waiting_read *read; /* NULL: prefetch */
	RB_ENTRY(canfs_piece) link;
};

static int compare(struct canfs_piece *a, struct canfs_piece *b)
{
	if (a->fetch.offset != b->fetch.offset)
		return a->fetch.offset < b->fetch.offset ? -1 : 1;
	if (a == b)
		return 0;
	return a->file == NULL || a < b ? -1
					: 1; /* what is looked for has no file, and is before all */
}

CANFS_RB(canfs_pieces, canfs_piece, link, compare)

static struct canfs_prefetch_shared *shared_of(const struct canfs_open_file *file)
{
	return canfs_prefetch_shared(canfs_export_fs_device(file->export_fs)->prefetcher);
}

/* How often a resident file of the device was found not to be. */
static unsigned int age_of(const struct canfs_open_file *file)
{
	return atomic_load_explicit(
		&canfs_export_fs_device(file->export_fs)->age, memory_order_relaxed);
}

static void put_waiter(struct canfs_waiting_read *read)
{
	if (atomic_fetch_sub(&read->left, 1) == 1)
		read->ready(read);
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

/* How many of these bytes a file of file_bytes has. */
static uint64_t clip(uint64_t offset, uint64_t bytes, uint64_t file_bytes)
{
	if (offset >= file_bytes)
		return 0;
	return bytes < file_bytes - offset ? bytes : file_bytes - offset;
}

/* The same of the file, as large as it is now. */
static uint64_t clip_now(struct canfs_open_file *file, uint64_t offset, uint64_t bytes)
{
	if (file->resize || offset + bytes > file->bytes)
		look_up_size(file);
	return clip(offset, bytes, file->bytes);
}

/*
 * The pages that a read waited for have come. Of a file that is served past the page cache (DAX,
 * direct_io of FUSE) there never are any, and each read would wait in vain.
 */
static void probe_page_cache(struct canfs_open_file *file, const struct canfs_fetch *fetch)
{
	uint64_t bytes, last;

	if (file->caches)
		return;
	forget_size(file);
	bytes = clip_now(file, fetch->offset, fetch->bytes);
	if (bytes == 0)
		return;
	last = (fetch->offset + bytes - 1) & ~(PAGE_BYTES - 1);
	if (canfs_is_resident(file->fd, last, 1, file->bytes, &file->map))
		file->caches = true;
	else
		file->in_vain++;
}

static bool is_uncached(const struct canfs_open_file *file)
{
	return !file->caches && file->in_vain >= IN_VAIN_MAX;
}

static void fetched(struct canfs_fetch *fetch, int error)
{
	struct canfs_piece *piece = (struct canfs_piece *)fetch;
	struct canfs_open_file *file = piece->file;
	struct canfs_device *device = canfs_export_fs_device(file->export_fs);
	struct canfs_waiting_read *read = piece->read;
	struct canfs_export_fs *export_fs = file->export_fs;

	pthread_mutex_lock(&file->mutex);
	RB_REMOVE(canfs_pieces, &file->pieces, piece);
	file->fetches--;
	if (read == NULL && error == 0)
		canfs_fd_cache_fetched(file, fetch->offset, fetch->bytes);
	pthread_mutex_unlock(&file->mutex);
	if (error != -ECANCELED && atomic_load(&device->stuck))
		atomic_store(&device->stuck, false);
	if (read != NULL && error == 0)
		probe_page_cache(file, fetch);
	if (read == NULL && error != 0)
		canfs_files_not_fetched(
			device->files, fetch->file, fetch->stream, fetch->offset, fetch->bytes);
	else if (read == NULL)
		atomic_fetch_add(&shared_of(file)->ahead_bytes, fetch->bytes);
	free(piece);
	canfs_fd_cache_put(file);
	if (read != NULL)
		put_waiter(read);
	canfs_export_fs_leave(export_fs);
}

/* Is any of it being fetched? Under the file's mutex. */
static bool is_in_flight(struct canfs_open_file *file, uint64_t offset, uint64_t bytes)
{
	struct canfs_piece *piece, key = { .file = NULL };

	/* None is longer. */
	if (offset > CANFS_FETCH_BYTES_MAX)
		key.fetch.offset = offset - CANFS_FETCH_BYTES_MAX;
	for (piece = RB_NFIND(canfs_pieces, &file->pieces, &key);
		piece != NULL && piece->fetch.offset < offset + bytes;
		piece = RB_NEXT(canfs_pieces, &file->pieces, piece)) {
		if (offset < piece->fetch.offset + piece->fetch.bytes)
			return true;
	}
	return false;
}

static bool is_resident(struct canfs_open_file *file, uint64_t offset, uint64_t bytes)
{
	for (uint64_t at = offset & ~(PAGE_BYTES - 1); at < offset + bytes;
		at += CANFS_RESIDENT_BYTES_MAX) {
		uint64_t left = offset + bytes - at;

		if (!canfs_is_resident(file->fd, at,
			    left < CANFS_RESIDENT_BYTES_MAX ? left : CANFS_RESIDENT_BYTES_MAX,
			    file->bytes, &file->map))
			return false;
	}
	return true;
}

/*
 * In the page cache, and not only on its way there: pages that are being read count as resident, but are in flight
 * until they are there; so that is asked last.
 */
static bool is_there(struct canfs_open_file *file, uint64_t offset, uint64_t bytes)
{
	bool comes;

	if (!is_resident(file, offset, bytes))
		return false;
	if (file->fetches == 0)
		return true;
	pthread_mutex_lock(&file->mutex);
	comes = is_in_flight(file, offset, bytes);
	pthread_mutex_unlock(&file->mutex);
	return !comes;
}

/* Ready-made, but not handed over: that may call done() at once. NULL: it is not to be. Not under the file's mutex. */
static struct canfs_piece *new_piece(struct canfs_open_file *file, uint64_t offset, uint64_t bytes,
	uint32_t cursor, struct canfs_waiting_read *read)
{
	struct canfs_piece *piece;

	if (!canfs_export_fs_enter(file->export_fs))
		return NULL;
	piece = calloc(1, sizeof(*piece));
	if (piece == NULL) {
		canfs_export_fs_leave(file->export_fs);
		return NULL;
	}
	canfs_fd_cache_use(file);
	piece->file = file;
	piece->read = read;
	piece->fetch = (struct canfs_fetch) {
		.kind = read != NULL ? CANFS_FETCH_DEMAND : CANFS_FETCH_PREFETCH,
		.fd = file->fd,
		.file = file->name,
		.fs_start = canfs_export_fs_start(file->export_fs),
		.offset = offset,
		.bytes = (uint32_t)bytes,
		.stream = cursor,
		.done = fetched,
	};
	pthread_mutex_lock(&file->mutex);
	RB_INSERT(canfs_pieces, &file->pieces, piece);
	file->fetches++;
	canfs_residency_lost(&file->residency, age_of(file));
	pthread_mutex_unlock(&file->mutex);
	return piece;
}

static void hand_over(struct canfs_piece *piece)
{
	if (!canfs_engine_add(
		    canfs_export_fs_device(piece->file->export_fs)->engine, &piece->fetch))
		fetched(&piece->fetch, -ECANCELED);
}

static void prefetch(struct canfs_open_file *file, const struct canfs_advice *advice)
{
	uint64_t end = advice->offset + advice->bytes, was_there = 0, bytes;

	for (uint64_t at = advice->offset; at < end; at += bytes) {
		struct canfs_piece *piece;

		bytes = end - at < CANFS_FETCH_BYTES_MAX ? end - at : CANFS_FETCH_BYTES_MAX;
		if (is_there(file, at, bytes)) {
			was_there += bytes;
			continue;
		}
		piece = new_piece(file, at, bytes, advice->cursor, NULL);
		if (piece == NULL)
			break;
		hand_over(piece);
	}
	if (was_there > 0)
		canfs_files_was_there(canfs_export_fs_device(file->export_fs)->files, file->name,
			advice->cursor, was_there);
}

static void count_at_once(struct canfs_prefetch_shared *shared)
{
	atomic_fetch_add_explicit(&shared->at_once, 1, memory_order_relaxed);
}

/* A page that the kernel would not have read ahead by itself, for one who comes from where all was there. */
static bool is_beyond_there(struct canfs_open_file *file, uint64_t end)
{
	uint64_t beyond = end + KERNEL_AHEAD_BYTES, last = file->bytes - 1;

	return is_resident(file, beyond < last ? beyond : last, 1);
}

/* Of a resident file; if not, each of its reads is probed again, and if it is this one that has gone, of all files. */
static bool is_still_resident(struct canfs_open_file *file, uint64_t offset, uint64_t bytes)
{
	uint64_t there = clip_now(file, offset, bytes);

	if (is_uncached(file) || there == 0)
		return true;
	if (!is_there(file, offset, there))
		atomic_fetch_add(&canfs_export_fs_device(file->export_fs)->age, 1);
	else if (is_beyond_there(file, offset + there))
		return true;
	canfs_residency_lost(&file->residency, age_of(file));
	return false;
}

bool canfs_prefetch_is_resident(struct canfs_open_file *file, uint64_t offset, uint64_t bytes)
{
	enum canfs_residency_verdict residency = canfs_residency_of(&file->residency, age_of(file));

	if (residency == CANFS_RESIDENCY_UNKNOWN ||
		(residency == CANFS_RESIDENCY_PROBE && !is_still_resident(file, offset, bytes)))
		return false;
	count_at_once(shared_of(file));
	return true;
}

bool canfs_prefetch_must_wait(struct canfs_open_file *file, uint64_t offset, uint64_t bytes)
{
	struct canfs_prefetch_shared *shared = shared_of(file);
	uint64_t lost = 0, there;

	canfs_files_soon(canfs_export_fs_device(file->export_fs)->files, file->name);
	there = clip_now(file, offset, bytes);
	if (is_uncached(file) || is_there(file, offset, there)) {
		canfs_residency_found(&file->residency, age_of(file));
		count_at_once(shared);
		return false;
	}
	canfs_residency_lost(&file->residency, age_of(file));
	pthread_mutex_lock(&file->mutex);
	if (!is_in_flight(file, offset, there))
		lost = canfs_fd_cache_evicted(file, offset, there);
	pthread_mutex_unlock(&file->mutex);
	if (lost > 0)
		atomic_fetch_add(&shared->evicted_bytes, lost);
	if (!canfs_may_wait(shared, bytes))
		return false;
	if (!canfs_export_fs_enter(file->export_fs)) {
		canfs_waits_no_more(shared, bytes);
		return false;
	}
	atomic_fetch_add_explicit(&shared->made_to_wait, 1, memory_order_relaxed);
	return true;
}

static void nobody(struct canfs_waiting_read *read)
{
	(void)read;
}

/* Pages that the kernel has begun to read: nothing can come before them, and a thread that reads them sleeps until they are there. */
static bool may_sleep(struct canfs_open_file *file, uint64_t offset, uint64_t bytes)
{
	struct canfs_device *device = canfs_export_fs_device(file->export_fs);

	if (atomic_load(&device->stuck) || !is_resident(file, offset, bytes))
		return false;
	if (atomic_fetch_add(&device->asleep, 1) < device->asleep_max)
		return true;
	atomic_fetch_sub(&device->asleep, 1);
	return false;
}

static bool take_inline_place(struct canfs_device *device)
{
	if (atomic_fetch_add(&device->inline_reads, 1) < CANFS_INLINE_MAX)
		return true;
	atomic_fetch_sub(&device->inline_reads, 1);
	return false;
}

/* It is entered as if it were fetched: who wants the same waits for it, and nobody fetches it again. */
static struct canfs_fetch *enter_inline(struct canfs_open_file *file, uint64_t offset,
	uint64_t bytes, struct canfs_waiting_read *read)
{
	struct canfs_device *device = canfs_export_fs_device(file->export_fs);
	uint64_t at = offset & ~(PAGE_BYTES - 1), size = offset + bytes - at;
	struct canfs_piece *piece;

	if (bytes == 0 || size > CANFS_FETCH_BYTES_MAX || !take_inline_place(device))
		return NULL;
	read->ready = nobody;
	atomic_store(&read->left, 1);
	piece = new_piece(file, at, size, 0, read);
	if (piece != NULL)
		return &piece->fetch;
	atomic_fetch_sub(&device->inline_reads, 1);
	return NULL;
}

bool canfs_prefetch_begin_inline(struct canfs_open_file *file, uint64_t offset, uint64_t bytes,
	struct canfs_inline_read *inline_read)
{
	struct canfs_prefetch_shared *shared = shared_of(file);
	uint64_t there = clip_now(file, offset, bytes);
	bool in_flight;

	pthread_mutex_lock(&file->mutex);
	in_flight = is_in_flight(file, offset, there);
	pthread_mutex_unlock(&file->mutex);
	inline_read->fetch =
		in_flight ? NULL : enter_inline(file, offset, there, &inline_read->read);
	if (inline_read->fetch == NULL && !(in_flight && may_sleep(file, offset, there)))
		return false;
	inline_read->left = false;
	inline_read->begin_usec = canfs_now_usec();
	atomic_fetch_sub_explicit(&shared->made_to_wait, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&shared->inline_reads, 1, memory_order_relaxed);
	return true;
}

void canfs_prefetch_end_inline(
	struct canfs_export_fs *export_fs, uint64_t bytes, struct canfs_inline_read *inline_read)
{
	struct canfs_device *device = canfs_export_fs_device(export_fs);

	if (inline_read->fetch == NULL) {
		atomic_fetch_sub(&device->asleep, 1);
	} else {
		atomic_fetch_sub(&device->inline_reads, 1);
		if (!inline_read->left)
			atomic_fetch_add_explicit(&device->inline_usec,
				canfs_now_usec() - inline_read->begin_usec, memory_order_relaxed);
		fetched(inline_read->fetch, 0);
	}
	canfs_prefetch_answered(export_fs, bytes);
}

/* In as many fetches as it takes. If there is no memory for them, the rest is read when the read is answered. */
void canfs_prefetch_wait(struct canfs_open_file *file, uint64_t offset, uint64_t bytes,
	struct canfs_waiting_read *read)
{
	uint64_t at = offset & ~(PAGE_BYTES - 1), end = offset + clip_now(file, offset, bytes);

	atomic_store(&read->left, 1);
	while (at < end) {
		uint64_t size = end - at < CANFS_FETCH_BYTES_MAX ? end - at : CANFS_FETCH_BYTES_MAX;
		struct canfs_piece *piece = new_piece(file, at, size, 0, read);

		if (piece == NULL)
			break;
		atomic_fetch_add(&read->left, 1);
		hand_over(piece);
		at += size;
	}
	put_waiter(read);
}

bool canfs_prefetch_ahead(
	struct canfs_open_file *file, uint64_t offset, uint64_t bytes, double scale)
{
	struct canfs_device *device = canfs_export_fs_device(file->export_fs);
	float headroom = atomic_load_explicit(&shared_of(file)->headroom, memory_order_relaxed);
	struct canfs_advice advice[CANFS_ADVICE_MAX];
	uint64_t file_bytes = file->bytes;
	struct canfs_files_found found;
	size_t count;

	bytes = clip(offset, bytes, file_bytes);
	if (is_uncached(file) || bytes == 0)
		return false;
	count = canfs_files_read(device->files, file->name, offset, (uint32_t)bytes, file_bytes,
		scale * (double)headroom, advice, &found);
	if (found.awaited) /* who reads others' reads would be lost among those that are not looked at */
		canfs_residency_lost(&file->residency, age_of(file));
	for (size_t i = 0; i < count; i++)
		prefetch(file, &advice[i]);
	return found.left;
}

void canfs_prefetch_changed(
	struct canfs_export_fs *export_fs, const void *object, uint64_t from_offset)
{
	struct canfs_open_file *file = canfs_fd_cache_find(export_fs, object);
	struct canfs_device *device = canfs_export_fs_device(export_fs);

	if (file == NULL)
		return; /* nobody reads it */
	forget_size(file);
	canfs_residency_lost(&file->residency, age_of(file));
	canfs_files_changed(device->files, file->name, from_offset);
	canfs_engine_cancel(device->engine, file->name, from_offset);
	canfs_fd_cache_put(file);
}

void canfs_prefetch_written(
	struct canfs_export_fs *export_fs, const void *object, uint64_t offset, uint64_t bytes)
{
	struct canfs_open_file *file = canfs_fd_cache_find(export_fs, object);
	bool within;

	if (file == NULL)
		return;
	within = !file->resize && clip(offset, bytes, file->bytes) == bytes;
	canfs_fd_cache_put(file);
	if (!within)
		canfs_prefetch_changed(export_fs, object, offset);
}
