/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The disk at work: FUSE's thread adds requests, and one thread sleeps until the model says that the next
 * one is done, and answers it.
 */
#ifndef CANFS_BENCH_DISK_QUEUE_H
#define CANFS_BENCH_DISK_QUEUE_H

#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>

#include "bench/disk/clock.h"
#include "bench/disk/device.h"
#include "bench/disk/store.h"

struct canfs_lateness { /* wall time between when a command was due and when it was answered */
	uint64_t commands;
	double sum_usec, max_usec;
};

struct canfs_disk_threads {
	pthread_t thread;
	pthread_mutex_t lock; /* over all below but the store, which is the thread's */
	pthread_cond_t changed;
	bool stop;
	struct canfs_clock clock;
	struct canfs_disk_model device;
	struct canfs_lateness late;
	struct canfs_store store;
};

/* 0 or -errno. */
int canfs_queue_start(struct canfs_disk_threads *queue, uint64_t capacity_bytes);
/* What is still outstanding is answered first, at once. */
void canfs_queue_stop(struct canfs_disk_threads *queue);

/* Answers fuse with ENOMEM if there is no memory. data only for a write. */
void canfs_queue_add(struct canfs_disk_threads *queue, fuse_req_t fuse,
	enum canfs_command_kind kind, uint64_t offset, size_t bytes, const char *data);

#endif
