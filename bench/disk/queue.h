/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The threads of the disk. FUSE's thread adds requests. A worker sleeps until the model says that
 * the next request is done, and answers it.
 */
#ifndef CANFS_BENCH_DISK_QUEUE_H
#define CANFS_BENCH_DISK_QUEUE_H

#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>

#include "bench/disk/clock.h"
#include "bench/disk/device.h"
#include "bench/disk/faults.h"
#include "bench/disk/store.h"
#include "bench/disk/volatile.h"

struct canfs_lateness { /* wall time between due and answered */
	uint64_t commands;
	double sum_usec, max_usec;
};

struct canfs_disk_threads {
	pthread_t thread;
	pthread_mutex_t lock; /* protects clock, device and late */
	pthread_cond_t changed;
	bool stop;
	struct canfs_clock clock;
	struct canfs_disk_model device;
	struct canfs_lateness late;
	pthread_mutex_t medium_lock; /* protects the members below; taken after `lock` */
	struct canfs_store store;
	struct canfs_volatile written; /* since the last FLUSH */
	struct canfs_faults faults;
	struct canfs_cut cut; /* the last power cut */
	bool is_off;          /* power is off: every command fails */
	uint64_t errors;
};

/* Returns 0 or -errno. */
int canfs_queue_start(struct canfs_disk_threads *queue, uint64_t capacity_bytes);
/* Answers all outstanding commands immediately, then stops. */
void canfs_queue_stop(struct canfs_disk_threads *queue);

/* Answers fuse with ENOMEM if there is no memory. data: for a write only. */
void canfs_queue_add(struct canfs_disk_threads *queue, fuse_req_t fuse,
	enum canfs_command_kind kind, uint64_t offset, size_t bytes, const char *data);

/*
 * Called with `lock` held. Loses part of the volatile data. All outstanding and new commands fail
 * until canfs_queue_power_on().
 */
void canfs_queue_power_cut(struct canfs_disk_threads *queue, uint32_t seed);
void canfs_queue_power_on(struct canfs_disk_threads *queue);
/*
 * Repeats the last cut with another seed (volatile.h). Called with `lock` held. Returns 0, or
 * -EINVAL without any effect.
 */
int canfs_queue_power_recut(struct canfs_disk_threads *queue, uint32_t seed);

#endif
