/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The internals of the prefetcher: a device with its engine, worker pools and table, and the state
 * that all devices share.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_DEVICE_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_DEVICE_H

#include "ganesha-fsal/read/prefetch/throttle.h"
#include "ganesha-fsal/read/prefetch/prefetcher.h"
#include "ganesha-fsal/read/prefetch/streams.h"

struct canfs_device {
	struct canfs_prefetcher *prefetcher;
	struct canfs_prefetch_shared *shared; /* the prefetcher's */
	dev_t number; /* of the whole disk; st_dev if /sys has no disk for it */
	char name[64];
	const char *type;   /* disk_types.h */
	const char *policy; /* the policy of "auto" on this device */
	atomic_bool stuck;  /* a drain timed out, and no fetch has completed since */
	atomic_uint inline_reads, streaming;
	struct canfs_streams streams;
	struct canfs_throttle throttle;
	atomic_uint
		age; /* how often a file that counted as resident was found evicted (residency.h) */
	struct canfs_engine *engine;
	struct canfs_files *files;
	struct canfs_worker_pool *pool,
		*blocking_pool; /* for reads that may block: held ones, or with missing pages */
};

/* submit.c: answers, in the blocking pool, the READs of streams that the throttle has released. */
void canfs_reads_go_on(struct canfs_device *device, struct canfs_held *released);

/* The part of a prefetcher that the data path uses. */
struct canfs_prefetch_shared {
	atomic_ullong reads[CANFS_READ_WAYS], let_through, evicted_bytes, ahead_bytes,
		waiting_bytes;
	atomic_uint waiting;
	_Atomic float headroom;
};

/*
 * device.c: canfs_device_find() finds the disk below the directory `path`. canfs_device_new() makes
 * its engine, worker pools and table. Both return 0 or -errno; canfs_device_find() returns -ENODATA
 * if there is no disk.
 */
struct canfs_device_place {
	dev_t number;
	char name[64];
	const char *type;
	const struct canfs_device_class *disk_class;
	unsigned int disks; /* number of disks that it consists of */
	uint64_t fs_start;  /* bytes: where its partition begins on the disk; 0: no partition */
};
int canfs_device_find(const char *root, const char *path, struct canfs_device_place *place);
int canfs_device_new(struct canfs_device **device, const struct canfs_device_place *place,
	dev_t st_dev, const struct canfs_prefetcher_config *config);

/* Cancels and answers all waiting reads. NULL allowed. */
void canfs_device_free(struct canfs_device *device);

#endif
