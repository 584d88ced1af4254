// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "server/monitors/devices.h"
#include "server/monitors/disk_types.h"
#include "server/monitors/monitor.h"
#include "server/monitors/source.h"

#define MIB ((uint32_t)1 << 20)

/*
 * Settings by the type of the disk. If a file system is on several disks, the type that comes first
 * here counts.
 *
 * - rotational: one head. Large units, so that it moves seldom. Few requests at a time, or the
 *   drive's own queue undoes the order (Ellard & Seltzer §5.2).
 * - raid: many heads behind one address. Only their controller knows where each head is. The
 *   controller must order, and needs enough requests for all heads. Units are as large as for one
 *   head, so that each head moves as seldom.
 * - virtual and all others: no head, or nothing is known of it. There is nothing to order, and
 *   depth makes such a device fast. A wrong prefetch costs more than a late one there, hence small
 *   units.
 * - others only (a local flash drive): large reads soon keep the drive busy, and a random read
 *   would come after all of them. Therefore depth_bytes admits only a few at a time. A virtual disk
 *   has no such bound, because its distance is unknown.
 */
static const struct canfs_device_class {
	const char *type; /* disk_types.h; NULL: any other */
	const char *policy;
	uint32_t unit_bytes;
	unsigned int depth;   /* per disk, but not more than DEPTH_MAX in all */
	uint64_t depth_bytes; /* per disk; 0: no bound */
} classes[] = {
	{ "rotational", "n-cscan", 4 * MIB, 4, 0 },
	{ "raid", "none", 4 * MIB, 32, 0 },
	{ "virtual", "none", MIB, 32, 0 },
	{ NULL, "none", MIB, 32, 4 * MIB },
};

#define DEPTH_MAX 32

/*
 * Initial threads of the two pools. POOL_THREADS copy from the page cache, and a lock of the
 * sub-FSAL may block them. LATE_THREADS, growing to LATE_MAX, wait for the disk. A failing disk
 * blocks only the latter. Each of these has a read that no policy has put in order.
 */
#define POOL_THREADS 4
#define LATE_THREADS 4
#define LATE_MAX     64
#define WAITING_MAX  1024 /* pieces of prefetch in a queue */

/*
 * Returns the start, in bytes, of the partition with this directory in /sys. 0: the kernel does not
 * say.
 */
static uint64_t partition_start(const char *dir)
{
	char path[PATH_MAX + 16], text[32];
	const char *cursor = text;
	uint64_t sectors;

	snprintf(path, sizeof(path), "%s/start", dir);
	if (canfs_read_source("", path, text, sizeof(text)) <= 0 ||
		!canfs_parse_number(&cursor, &sectors))
		return 0;
	return sectors * CANFS_SECTOR_BYTES;
}

/*
 * Finds the whole disk of a partition by its name in /sys, or else the device itself. False: /sys
 * has neither.
 */
static bool find_top(const char *root, dev_t st_dev, struct canfs_device_place *place)
{
	char link[PATH_MAX], dir[PATH_MAX], partition[PATH_MAX + 16], text[32];
	uint64_t major_number, minor_number;
	const char *cursor = text;

	snprintf(link, sizeof(link), "%s/sys/dev/block/%u:%u", root, major(st_dev), minor(st_dev));
	if (!realpath(link, dir))
		return false;
	snprintf(partition, sizeof(partition), "%s/partition", dir);
	if (access(partition, F_OK) == 0) {
		place->fs_start = partition_start(dir);
		*strrchr(dir, '/') = '\0';
	}
	snprintf(place->name, sizeof(place->name), "%s", strrchr(dir, '/') + 1);
	snprintf(partition, sizeof(partition), "%s/dev", dir);
	if (canfs_read_source("", partition, text, sizeof(text)) < 0)
		return false;
	place->number = st_dev;
	if (canfs_parse_number(&cursor, &major_number) && *cursor++ == ':' &&
		canfs_parse_number(&cursor, &minor_number))
		place->number = makedev((unsigned int)major_number, (unsigned int)minor_number);
	return true;
}

static const struct canfs_device_class *class_of(const char *type)
{
	const struct canfs_device_class *disk_class = classes;

	while (disk_class->type && strcmp(disk_class->type, type) != 0)
		disk_class++;
	return disk_class;
}

int canfs_device_find(const char *root, const char *path, struct canfs_device_place *place)
{
	struct canfs_disk_path *disks;
	char resolved[PATH_MAX];
	struct stat st;
	int count;

	if (stat(path, &st) != 0)
		return -errno;
	disks = calloc(CANFS_DISKS_MAX, sizeof(*disks));
	if (!disks)
		return -ENOMEM;
	canfs_resolve_path(root, path, resolved);
	count = canfs_find_disks(root, st.st_dev, resolved, disks, CANFS_DISKS_MAX);
	if (count <= 0) {
		free(disks);
		return count < 0 ? count : -ENODATA;
	}
	*place = (struct canfs_device_place) { .number = st.st_dev, .disks = (unsigned int)count };
	for (int i = 0; i < count; i++) {
		const char *type = canfs_disk_type(root, disks[i].path)->name;
		const struct canfs_device_class *disk_class = class_of(type);

		if (i > 0 && disk_class >= place->disk_class)
			continue;
		place->disk_class = disk_class;
		place->type = type;
	}
	/* A file system on several devices, such as btrfs, is a device of its own. */
	if (!find_top(root, st.st_dev, place))
		snprintf(place->name, sizeof(place->name), "%u:%u", major(st.st_dev),
			minor(st.st_dev));
	free(disks);
	return 0;
}

/* More heads need more requests, but not more than a device without heads. */
static unsigned int depth_of(const struct canfs_device_place *place)
{
	unsigned int depth = place->disk_class->depth * place->disks;

	return depth < DEPTH_MAX ? depth : DEPTH_MAX;
}

int canfs_device_new(struct canfs_device **device, const struct canfs_device_place *place,
	dev_t st_dev, const struct canfs_prefetcher_config *config)
{
	const struct canfs_device_class *disk_class = place->disk_class;
	struct canfs_device *new = calloc(1, sizeof(*new));
	struct canfs_files_config files = canfs_files_config_for(config->files);
	struct canfs_engine_config engine = { .device = st_dev,
		.policy = config->policy[0] != '\0' ? config->policy : disk_class->policy,
		.depth = depth_of(place),
		.depth_bytes = disk_class->depth_bytes * place->disks,
		.waiting_max = WAITING_MAX,
		.backends = canfs_backends };
	int ret;

	if (!new)
		return -ENOMEM;
	files.unit_bytes = disk_class->unit_bytes;
	new->number = place->number;
	new->type = place->type;
	new->policy = disk_class->policy;
	canfs_streams_init(&new->streams, strcmp(disk_class->policy, "none") != 0);
	canfs_throttle_init(&new->throttle, new->streams.spins ? config->lag_bytes : 0);
	snprintf(new->name, sizeof(new->name), "%s", place->name);
	ret = canfs_files_new(&new->files, &files);
	if (ret == 0)
		canfs_files_leave_plain(new->files, true);
	if (ret == 0)
		ret = canfs_worker_pool_new(&new->pool, POOL_THREADS, CANFS_POOL_THREADS_MAX,
			"canfs_reads", config->thread_begins);
	if (ret == 0)
		ret = canfs_worker_pool_new(&new->blocking_pool, LATE_THREADS, LATE_MAX,
			"canfs_late", config->thread_begins);
	if (ret == 0)
		ret = canfs_engine_new(&new->engine, &engine);
	if (ret != 0) {
		canfs_device_free(new);
		return ret;
	}
	*device = new;
	return 0;
}

void canfs_device_free(struct canfs_device *device)
{
	if (!device)
		return;
	/* The engine first: the reads that wait in it go to the pool. */
	canfs_engine_free(device->engine);
	canfs_worker_pool_free(device->pool); /* its jobs may go to the next pool */
	canfs_worker_pool_free(device->blocking_pool);
	canfs_files_free(device->files);
	canfs_throttle_destroy(&device->throttle);
	free(device);
}
