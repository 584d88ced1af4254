// SPDX-License-Identifier: LGPL-3.0-or-later
/* How many reads wait, and who answers one that has waited. */
#include "ganesha-fsal/prefetch/device.h"

#define PAGE_BYTES ((uint64_t)4096)

void canfs_waits_no_more(struct canfs_prefetch_shared *shared, uint64_t bytes)
{
	atomic_fetch_sub(&shared->waiting, 1);
	atomic_fetch_sub(&shared->waiting_bytes, bytes);
}

bool canfs_may_wait(struct canfs_prefetch_shared *shared, uint64_t bytes)
{
	unsigned int reads = atomic_fetch_add(&shared->waiting, 1);
	uint64_t buffers = atomic_fetch_add(&shared->waiting_bytes, bytes);

	if (reads < CANFS_READS_WAITING_MAX && buffers + bytes <= CANFS_READS_WAITING_BYTES_MAX)
		return true;
	canfs_waits_no_more(shared, bytes);
	atomic_fetch_add(&shared->let_through, 1);
	return false;
}

void canfs_prefetch_answered(struct canfs_export_fs *export_fs, uint64_t bytes)
{
	canfs_waits_no_more(
		canfs_prefetch_shared(canfs_export_fs_device(export_fs)->prefetcher), bytes);
	canfs_export_fs_leave(export_fs);
}

/* By mincore(2): cachestat(2) counts pages that were to be read and could not. */
static bool is_there(const struct canfs_answer *answer)
{
	struct canfs_open_file *file = answer->file;
	uint64_t end = answer->offset + answer->bytes, bytes;
	bool there = true;

	for (uint64_t at = answer->offset & ~(PAGE_BYTES - 1); at < end && there; at += bytes) {
		bytes = end - at < CANFS_RESIDENT_BYTES_MAX ? end - at : CANFS_RESIDENT_BYTES_MAX;
		there = canfs_is_resident_by_mincore(file->fd, at, bytes, file->bytes, &file->map);
	}
	return there;
}

static void run(struct canfs_job *job)
{
	struct canfs_answer *answer = (struct canfs_answer *)job;

	canfs_fd_cache_put(answer->file);
	answer->run(answer);
}

static void probe(struct canfs_job *job)
{
	struct canfs_answer *answer = (struct canfs_answer *)job;
	struct canfs_export_fs *export_fs = answer->file->export_fs;

	answer->job.run = run;
	if (canfs_export_fs_is_draining(export_fs) || is_there(answer))
		run(job);
	else
		canfs_worker_pool_submit(canfs_export_fs_device(export_fs)->blocking_pool, job);
}

void canfs_prefetch_submit(struct canfs_answer *answer)
{
	answer->job.run = probe;
	canfs_worker_pool_submit(
		canfs_export_fs_device(answer->file->export_fs)->pool, &answer->job);
}
