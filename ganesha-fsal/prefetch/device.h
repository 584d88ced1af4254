/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A device's engine, worker pools and table, and what all share: the inside of the prefetcher. */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_DEVICE_H
#define CANFS_GANESHA_FSAL_PREFETCH_DEVICE_H

#include "ganesha-fsal/prefetch/throttle.h"
#include "ganesha-fsal/prefetch/prefetcher.h"
#include "ganesha-fsal/prefetch/streams.h"

struct canfs_device {
	struct canfs_prefetcher *prefetcher;
	dev_t number; /* of the whole disk, or st_dev if the file system has none */
	char name[64];
	const char *type;   /* disk_types.h */
	const char *policy; /* that "auto" means here */
	atomic_bool stuck;  /* a drain was given up, and nothing has come back since */
	atomic_uint inline_reads, streaming;
	struct canfs_streams streams;
	struct canfs_throttle throttle;
	atomic_uint age; /* of what is known to be resident (residency.h) */
	struct canfs_engine *engine;
	struct canfs_files *files;
	struct canfs_worker_pool *pool,
		*blocking_pool; /* late: whose pages are not there after all */
};

/* read.c: streams' reads that the throttle has released. */
void canfs_reads_go_on(struct canfs_device *device, struct canfs_held *released);

/* What the data path shares of a prefetcher. */
struct canfs_prefetch_shared {
	atomic_ullong reads[CANFS_READ_WAYS], let_through, evicted_bytes, ahead_bytes,
		waiting_bytes;
	atomic_uint waiting;
	_Atomic float headroom;
};

struct canfs_prefetch_shared *canfs_prefetch_shared(struct canfs_prefetcher *prefetcher);

/*
 * device.c: the disk below the directory path: its engine and so on, with the given options. 0; -ENODATA: none is
 * there; or another -errno.
 */
struct canfs_device_place {
	dev_t number;
	char name[64];
	const char *type;
	const struct canfs_device_class *disk_class;
	unsigned int disks; /* that it is made of */
	uint64_t fs_start;  /* bytes; of the partition on its disk, 0: there is none */
};
int canfs_device_find(const char *root, const char *path, struct canfs_device_place *place);
int canfs_device_new(struct canfs_device **device, const struct canfs_device_place *place,
	dev_t st_dev, const struct canfs_prefetcher_config *config);

/* Everything that waits is cancelled, and answered. NULL allowed. */
void canfs_device_free(struct canfs_device *device);

#endif
