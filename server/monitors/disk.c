// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Disk: mean queue length over the device's nominal queue depth.
 *
 *	utilization = reads queued / nominal reads + writes queued / nominal writes
 *
 * The mean is exact, not sampled. The kernel sums up the waiting times of all requests. The growth
 * of that sum over an interval, divided by the interval, is the mean number of waiting requests
 * (Little). However, the kernel adds a request's waiting time only when the request completes
 * (block/genhd.c, part_stat_show: the same in 6.1 and 6.18). A stuck device would look idle.
 * Requests that were in the driver at the start of the interval and cannot have completed since
 * were there all the time. They are counted at once, and subtracted again (credit) when the kernel
 * counts them.
 *
 *	in flight   |####|####|####|##  |
 *	kernel        0    0    0   350ms
 *	here         100  100  100   50
 *
 * Flushes are left out of the utilization. They come from COMMITs, and a client that accelerates
 * sends more of them itself. canfs_disk_flushing() reports flushes separately.
 */
#include "server/monitors/devices.h"
#include "server/monitors/disk_types.h"
#include "server/monitors/monitors.h"
#include "server/monitors/source.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct disk {
	struct canfs_disk_path path;
	double nominal[CANFS_DISK_KINDS];
	struct canfs_disk_count last[CANFS_DISK_KINDS];
	double credit_msec[CANFS_DISK_KINDS];
	uint64_t flushes_msec;
	double flushing; /* mean number of flushes waited for */
	bool primed;
};

struct disks {
	const char *root;
	struct canfs_said said;
	struct canfs_monitor_traits traits; /* of the disk with the smallest k */
	size_t count;
	struct disk disk[];
};

/* A number above INT32_MAX was negative for a moment and counts as 0. False: there is no number. */
static bool parse_inflight(const char **inflight, uint64_t *count)
{
	const char *cursor = *inflight + strspn(*inflight, " \t");
	const bool is_there = *cursor != '\n' && *cursor != '\0';

	canfs_skip_number(inflight);
	if (!canfs_parse_count(&cursor, count) || *count > INT32_MAX)
		*count = 0;
	return is_there;
}

int canfs_parse_disk(
	const char *stat, const char *inflight, struct canfs_disk_count count[CANFS_DISK_KINDS])
{
	/*
	 * Fields: ios merges sectors ticks, for reads, then for writes. Unusable sectors count as
	 * 0: they are only shown.
	 */
	for (int kind = 0; kind < CANFS_DISK_KINDS; kind++) {
		const char *sectors;

		if (!canfs_parse_count(&stat, &count[kind].done))
			return -EPROTO;
		canfs_skip_number(&stat);
		sectors = stat;
		canfs_skip_number(&stat);
		if (!canfs_parse_count(&sectors, &count[kind].sectors))
			count[kind].sectors = 0;
		if (!canfs_parse_count(&stat, &count[kind].wait_msec))
			return -EPROTO;
		if (!parse_inflight(&inflight, &count[kind].inflight))
			return -EPROTO;
	}
	return 0;
}

uint64_t canfs_parse_flushes(const char *stat)
{
	uint64_t field;

	for (int i = 0; i < 16; i++)
		canfs_skip_number(&stat);
	return canfs_parse_count(&stat, &field) ? field : 0;
}

double canfs_disk_queue(const struct canfs_disk_count *before, const struct canfs_disk_count *now,
	double elapsed_msec, double *credit_msec)
{
	double stayed =
		fmin((double)canfs_growth(before->inflight, canfs_growth(now->done, before->done)),
			(double)now->inflight);
	double counted = (double)canfs_growth(now->wait_msec, before->wait_msec);
	double known_already = fmin(counted, *credit_msec);

	*credit_msec += stayed * elapsed_msec - known_already;
	if (now->inflight == 0)
		*credit_msec = 0;
	return stayed + (counted - known_already) / elapsed_msec;
}

static void begin_disk(struct disks *disks, struct disk *disk, const struct canfs_disk_path *path,
	const struct canfs_monitor_setup *setup)
{
	const struct canfs_disk_type *type = canfs_disk_type(setup->root, path->path);

	disk->path = *path;
	disk->nominal[CANFS_DISK_READ] =
		setup->disk_read_queue != 0 ? setup->disk_read_queue : type->reads;
	disk->nominal[CANFS_DISK_WRITE] =
		setup->disk_write_queue != 0 ? setup->disk_write_queue : type->writes;
	if (disk == disks->disk || type->k < disks->traits.k)
		disks->traits = (struct canfs_monitor_traits) { .k = type->k,
			.type = type->name,
			.nominal_reads = disk->nominal[CANFS_DISK_READ],
			.nominal_writes = disk->nominal[CANFS_DISK_WRITE],
			.positioning_sec = type->positioning_usec / 1e6,
			.bytes_per_sec = type->mb_per_sec * 1e6 };
}

int canfs_disk_open(void **state, const struct canfs_monitor_setup *setup)
{
	struct canfs_disk_path *paths = calloc(CANFS_DISKS_MAX, sizeof(*paths));
	struct disks *disks = NULL;
	int count = -ENOMEM;

	if (!paths)
		goto out;
	count = canfs_find_disks(setup->root, setup->device, setup->path, paths, CANFS_DISKS_MAX);
	if (count < 0)
		goto out;
	disks = calloc(1, sizeof(*disks) + (size_t)count * sizeof(disks->disk[0]));
	if (!disks) {
		count = -ENOMEM;
		goto out;
	}
	disks->root = setup->root;
	disks->said.say = setup->say;
	disks->count = (size_t)count;
	for (size_t i = 0; i < disks->count; i++)
		begin_disk(disks, &disks->disk[i], &paths[i], setup);
	*state = disks;
out:
	free(paths);
	return count < 0 ? count : 0;
}

struct canfs_monitor_traits canfs_disk_traits(const void *state)
{
	return ((const struct disks *)state)->traits;
}

void canfs_disk_close(void *state)
{
	free(state);
}

static int read_counts(struct disks *disks, const char *path,
	struct canfs_disk_count count[CANFS_DISK_KINDS], uint64_t *flushes_msec)
{
	char source[PATH_MAX + 16], stat[512], inflight[64];
	int ret;

	snprintf(source, sizeof(source), "%s/inflight", path);
	ret = canfs_read_source(disks->root, source, inflight, sizeof(inflight));
	if (ret < 0)
		return ret;
	/* The kernel's sums in stat do not depend on inflight. */
	if (inflight[strspn(inflight, " \n")] == '\0') {
		canfs_say_unusable(&disks->said, source, NULL);
		strcpy(inflight, "0 0");
	}
	snprintf(source, sizeof(source), "%s/stat", path);
	ret = canfs_read_source(disks->root, source, stat, sizeof(stat));
	if (ret < 0)
		return ret;
	*flushes_msec = canfs_parse_flushes(stat);
	ret = canfs_parse_disk(stat, inflight, count);
	if (ret != 0)
		canfs_say_unusable(&disks->said, source, stat);
	return ret;
}

static int sample_one(
	struct disks *disks, struct disk *disk, double elapsed_msec, double *utilization)
{
	struct canfs_disk_count now[CANFS_DISK_KINDS];
	double queue[CANFS_DISK_KINDS];
	uint64_t flushes_msec;
	bool primed = disk->primed;
	int ret;

	disk->primed = false;
	ret = read_counts(disks, disk->path.path, now, &flushes_msec);
	if (ret != 0)
		return ret;
	for (int kind = 0; kind < CANFS_DISK_KINDS; kind++) {
		if (!primed)
			disk->credit_msec[kind] = 0;
		else
			queue[kind] = canfs_disk_queue(&disk->last[kind], &now[kind], elapsed_msec,
				&disk->credit_msec[kind]);
		disk->last[kind] = now[kind];
	}
	disk->flushing = (double)canfs_growth(flushes_msec, disk->flushes_msec) / elapsed_msec;
	disk->flushes_msec = flushes_msec;
	disk->primed = true;
	if (!primed)
		return -EAGAIN;
	*utilization = queue[CANFS_DISK_READ] / disk->nominal[CANFS_DISK_READ] +
		       queue[CANFS_DISK_WRITE] / disk->nominal[CANFS_DISK_WRITE];
	return 0;
}

/* The busiest disk counts. A missing disk, such as half of a mirror, does not hide the others. */
int canfs_disk_sample(void *state, double elapsed_sec, double *utilization)
{
	struct disks *disks = state;
	int result = -ENODATA;

	for (size_t i = 0; i < disks->count; i++) {
		double u;
		int ret = sample_one(disks, &disks->disk[i], elapsed_sec * 1e3, &u);

		if (ret == 0)
			*utilization = result == 0 ? fmax(*utilization, u) : u;
		if (ret == 0 || result != 0)
			result = ret;
	}
	return result;
}

void canfs_disk_get_work(const void *state, struct canfs_disk_work *work)
{
	const struct disks *disks = state;

	*work = (struct canfs_disk_work) { 0 };
	for (size_t i = 0; i < disks->count; i++) {
		const struct canfs_disk_count *reads = &disks->disk[i].last[CANFS_DISK_READ];
		const struct canfs_disk_count *writes = &disks->disk[i].last[CANFS_DISK_WRITE];

		work->reads += reads->done;
		work->read_bytes += reads->sectors * 512;
		work->writes += writes->done;
		work->written_bytes += writes->sectors * 512;
		work->flush_msec += disks->disk[i].flushes_msec;
	}
}

/* The maximum over the disks. */
double canfs_disk_flushing(const void *state)
{
	const struct disks *disks = state;
	double flushing = 0;

	for (size_t i = 0; i < disks->count; i++) {
		if (disks->disk[i].primed)
			flushing = fmax(flushing, disks->disk[i].flushing);
	}
	return flushing;
}
