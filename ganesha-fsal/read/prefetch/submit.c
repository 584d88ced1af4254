// SPDX-License-Identifier: LGPL-3.0-or-later
/* A client's READ, from its arrival to its answer. */
#include "ganesha-fsal/read/prefetch/device.h"
#include "ganesha-fsal/read/prefetch/fetching.h"

#define SMALL_FILE_BYTES                                                                           \
	((uint64_t)1 << 20) /* a larger file may be read by a stream that is not known yet */
#define KERNEL_AHEAD_BYTES ((uint64_t)16 << 20) /* more than read_ahead_kb will be */

static void count(const struct canfs_read *read)
{
	atomic_fetch_add_explicit(&read->device->shared->reads[read->way], 1, memory_order_relaxed);
}

/*
 * True if a page beyond the kernel's read-ahead is resident. If it is not, the file is not either:
 * a sequential reader found only what the kernel had read ahead for it.
 */
static bool is_far_ahead_resident(struct canfs_open_file *file, uint64_t end)
{
	uint64_t beyond = end + KERNEL_AHEAD_BYTES, last = file->bytes - 1;

	return canfs_range_is_resident(file, beyond < last ? beyond : last, 1);
}

/*
 * Probes a read of a file that counts as resident. If the file is not resident any more, each of
 * its reads is probed again. If the pages of this very read were evicted, each read of every file
 * of the device is probed again.
 */
static bool probe_resident(const struct canfs_read *read)
{
	struct canfs_open_file *file = read->file;
	uint64_t in_file = canfs_clip_now(file, read->offset, read->bytes);

	if (canfs_is_uncached(file) || in_file == 0)
		return true;
	if (!canfs_range_is_there(file, read->offset, in_file))
		atomic_fetch_add(&read->device->age, 1);
	else if (is_far_ahead_resident(file, read->offset + in_file))
		return true;
	canfs_residency_lost(&file->residency, canfs_residency_age(file));
	return false;
}

/* True if so many reads were resident that this read is not checked further. */
static bool is_known_resident(const struct canfs_read *read)
{
	enum canfs_residency_verdict residency =
		canfs_residency_of(&read->file->residency, canfs_residency_age(read->file));

	return residency == CANFS_RESIDENT ||
	       (residency == CANFS_RESIDENCY_PROBE && probe_resident(read));
}

/* Returns whether all pages of the read are there. Updates the residency of its file. */
static bool probe_pages(const struct canfs_read *read)
{
	struct canfs_open_file *file = read->file;
	uint64_t in_file = canfs_clip_now(file, read->offset, read->bytes);

	if (canfs_is_uncached(file) || canfs_range_is_there(file, read->offset, in_file)) {
		canfs_residency_found(&file->residency, canfs_residency_age(file));
		return true;
	}
	canfs_residency_lost(&file->residency, canfs_residency_age(file));
	return false;
}

static void leave(const struct canfs_read *read)
{
	atomic_fetch_sub(&read->device->shared->waiting, 1);
	atomic_fetch_sub(&read->device->shared->waiting_bytes, read->bytes);
}

/*
 * Takes a place among the reads that wait. Places are bounded, because each read has its buffer
 * already.
 */
static bool enter(const struct canfs_read *read)
{
	struct canfs_prefetch_shared *shared = read->device->shared;
	unsigned int reads = atomic_fetch_add(&shared->waiting, 1);
	uint64_t buffers = atomic_fetch_add(&shared->waiting_bytes, read->bytes);

	if (reads < CANFS_READS_WAITING_MAX &&
		buffers + read->bytes <= CANFS_READS_WAITING_BYTES_MAX) {
		if (canfs_export_fs_enter(read->export_fs))
			return true;
	} else {
		atomic_fetch_add(&shared->let_through, 1);
	}
	leave(read);
	return false;
}

static bool take_place(atomic_uint *taken, unsigned int max)
{
	if (atomic_fetch_add(taken, 1) < max)
		return true;
	atomic_fetch_sub(taken, 1);
	return false;
}

/*
 * Tries to make the read inline. An inline read is in flight like a fetch: other reads of the same
 * bytes wait for it, and nothing fetches them again.
 */
static bool may_read_inline(struct canfs_read *read, uint64_t in_file)
{
	struct canfs_device *device = read->device;
	uint64_t at = read->offset & ~(CANFS_FETCH_PAGE_BYTES - 1),
		 size = read->offset + in_file - at;

	if (in_file == 0 || size > CANFS_FETCH_BYTES_MAX ||
		!take_place(&device->inline_reads, CANFS_INLINE_MAX))
		return false;
	read->way = CANFS_READ_INLINE;
	read->fetch = canfs_fetching_begin(read->file, at, size, 0, read);
	if (read->fetch)
		return true;
	atomic_fetch_sub(&device->inline_reads, 1);
	return false;
}

/* Uses mincore(2), because cachestat(2) also counts pages that could not be read. */
static bool has_come(const struct canfs_read *read)
{
	struct canfs_open_file *file = read->file;
	uint64_t end = read->offset + read->bytes, bytes;
	bool there = true;

	for (uint64_t at = read->offset & ~(CANFS_FETCH_PAGE_BYTES - 1); at < end && there;
		at += bytes) {
		bytes = end - at < CANFS_RESIDENT_BYTES_MAX ? end - at : CANFS_RESIDENT_BYTES_MAX;
		there = canfs_is_resident_by_mincore(file->fd, at, bytes, file->bytes, &file->map);
	}
	return there;
}

static void answer(struct canfs_job *job)
{
	struct canfs_read *read = (struct canfs_read *)job;

	canfs_fd_cache_put(read->file);
	read->answer(read);
}

/*
 * If pages are missing after all (evicted since, or the disk cannot read them), answering blocks on
 * the disk. The blocking pool does that, so that no read whose pages are there waits for one with
 * missing pages.
 */
static void probe(struct canfs_job *job)
{
	struct canfs_read *read = (struct canfs_read *)job;

	read->job.run = answer;
	if (canfs_export_fs_is_draining(read->export_fs) || has_come(read))
		answer(job);
	else
		canfs_worker_pool_submit(read->device->blocking_pool, job);
}

void canfs_reads_go_on(struct canfs_device *device, struct canfs_held *released)
{
	struct canfs_job *job;

	while ((job = STAILQ_FIRST(released))) {
		STAILQ_REMOVE_HEAD(released, next);
		canfs_worker_pool_submit(device->blocking_pool, job);
	}
}

/* May run in a thread of the engine, so it must not block. */
void canfs_read_fetch_ended(struct canfs_read *read)
{
	if (read->way != CANFS_READ_DELAYED || atomic_fetch_sub(&read->left, 1) != 1)
		return;
	read->job.run = probe;
	canfs_worker_pool_submit(read->device->pool, &read->job);
}

/*
 * Splits the read into fetches. If there is no memory for a fetch, the rest is read when the read
 * is answered.
 */
static void queue_fetches(struct canfs_read *read)
{
	struct canfs_open_file *file = read->file;
	uint64_t at = read->offset & ~(CANFS_FETCH_PAGE_BYTES - 1);
	uint64_t end = read->offset + canfs_clip_now(file, read->offset, read->bytes);

	canfs_fd_cache_use(file);
	atomic_store(&read->left, 1);
	while (at < end) {
		uint64_t size = end - at < CANFS_FETCH_BYTES_MAX ? end - at : CANFS_FETCH_BYTES_MAX;
		struct canfs_fetch *fetch = canfs_fetching_begin(file, at, size, 0, read);

		if (!fetch)
			break;
		atomic_fetch_add(&read->left, 1);
		(void)canfs_fetching_queue(fetch);
		at += size;
	}
	canfs_read_fetch_ended(read);
}

/*
 * Fetches what comes next, or leaves the stream to the kernel's read-ahead. In that case the kernel
 * read this READ's bytes ahead, too, so they count in ahead_bytes. If the READ missed, the bytes
 * fetched ahead for it were evicted. True: the READ is of no stream.
 */
static bool read_ahead(struct canfs_read *read, bool missed)
{
	struct canfs_open_file *file = read->file;
	struct canfs_device *device = canfs_export_fs_device(file->export_fs);
	struct canfs_prefetch_shared *shared = device->shared;
	float headroom = atomic_load_explicit(&shared->headroom, memory_order_relaxed);
	struct canfs_advice advice[CANFS_ADVICE_MAX];
	uint64_t file_bytes = file->bytes;
	uint64_t bytes = canfs_clip(read->offset, read->bytes, file_bytes);
	struct canfs_files_found found;
	size_t advices;

	if (canfs_is_uncached(file) || bytes == 0)
		return false;
	advices = canfs_files_read(device->files, file->name, read->offset, (uint32_t)bytes,
		file_bytes, read->scale * (double)headroom, read->in_order, advice, &found);
	if (missed && found.fetched > 0)
		atomic_fetch_add(&shared->evicted_bytes, found.fetched);
	if (found.awaited) /* the table must see the reads of these bytes */
		canfs_residency_lost(&file->residency, canfs_residency_age(file));
	for (size_t i = 0; i < advices; i++)
		read->ahead_bytes += canfs_fetching_ahead(file, &advice[i]);
	if (!found.plain)
		return found.random || file_bytes <= SMALL_FILE_BYTES;
	/*
	 * A client with several connections (nconnect) is one stream, but not in order on any of
	 * them.
	 */
	canfs_streams_note(&device->streams,
		read->in_order ? &read->stream->turn : &file->streams.stream[0].turn);
	if (canfs_streams_are_ours(&device->streams))
		return false;
	if (found.steady && read->in_order)
		canfs_kernel_stream_leave(read->stream, true);
	read->ahead_bytes += bytes;
	return false;
}

/*
 * For a read with missing pages. It is read inline if nothing fetches them and there is a place.
 * Otherwise it is delayed.
 */
static void choose_way(struct canfs_read *read, bool missed)
{
	uint64_t in_file = canfs_clip_now(read->file, read->offset, read->bytes);

	if (!missed || !may_read_inline(read, in_file))
		read->way = CANFS_READ_DELAYED;
}

/* True if the READ is of a stream that is left to the kernel. Its pages need not be probed. */
static bool may_stream(struct canfs_read *read)
{
	struct canfs_device *device = read->device;

	read->stream = canfs_kernel_stream_of(&read->file->streams, read->client);
	read->in_order = canfs_kernel_stream_goes_on(read->stream, read->offset, read->bytes);
	if (!canfs_kernel_stream_is_left(read->stream))
		return false;
	if (canfs_streams_are_ours(&device->streams)) {
		canfs_kernel_stream_leave(read->stream, false);
		return false;
	}
	canfs_streams_note(&device->streams, &read->stream->turn);
	if (!canfs_throttle_passes(&device->throttle, read->bytes) && enter(read))
		read->way = CANFS_READ_HELD;
	else if (take_place(&device->streaming, CANFS_INLINE_MAX))
		read->way = CANFS_READ_STREAM;
	else
		return false;
	read->ahead_bytes = read->bytes;
	return true;
}

static bool hold(struct canfs_read *read)
{
	struct canfs_read *held = read->delay(read);

	canfs_fd_cache_use(held->file);
	held->job.run = answer;
	held->job.bytes = held->bytes;
	if (!canfs_throttle_hold(&held->device->throttle, &held->job))
		canfs_worker_pool_submit(held->device->blocking_pool, &held->job);
	return true;
}

bool canfs_prefetch_submit(struct canfs_read *read)
{
	struct canfs_open_file *file = read->file;
	bool there, entered, delayed, missed;

	read->export_fs = file->export_fs;
	read->device = canfs_export_fs_device(file->export_fs);
	read->way = CANFS_READ_AT_ONCE;
	read->ahead_bytes = 0;
	read->throttles = false;
	if (may_stream(read) || is_known_resident(read)) {
		count(read);
		return read->way == CANFS_READ_HELD && hold(read);
	}
	there = probe_pages(read);
	missed = !there && !canfs_range_is_in_flight(file, read->offset,
				   canfs_clip_now(file, read->offset, read->bytes));
	entered = !there && enter(read);
	if (entered)
		choose_way(read, missed);
	if (there || entered)
		count(read);
	delayed = read->way == CANFS_READ_DELAYED;
	if (delayed) {
		queue_fetches(read->delay(read));
		/* The delayed copy may have been answered and freed by now. */
		(void)read_ahead(read, missed);
	} else if (read_ahead(read, missed) && read->way == CANFS_READ_INLINE &&
		   !(read->steps_aside && read->steps_aside())) {
		read->throttles = true;
		canfs_streams_note_other(&read->device->streams);
		canfs_throttle_begin(&read->device->throttle);
	}
	return delayed;
}

void canfs_prefetch_complete(struct canfs_read *read)
{
	struct canfs_export_fs *export_fs;
	struct canfs_device *device;
	struct canfs_held released;

	if (read->way == CANFS_READ_AT_ONCE)
		return;              /* no other member need be set */
	export_fs = read->export_fs; /* of a stream, it may be freed by now */
	device = read->device;
	if (read->way == CANFS_READ_STREAM) {
		atomic_fetch_sub(&device->streaming, 1);
		return;
	}
	if (read->way == CANFS_READ_INLINE) {
		atomic_fetch_sub(&device->inline_reads, 1);
		canfs_fetching_end(read->fetch, 0);
		if (read->throttles) {
			canfs_throttle_end(&device->throttle, &released);
			canfs_reads_go_on(device, &released);
		}
	}
	if (read->way == CANFS_READ_HELD) {
		canfs_throttle_done(&device->throttle, read->bytes, &released);
		canfs_reads_go_on(device, &released);
	}
	leave(read);
	canfs_export_fs_leave(export_fs);
}
