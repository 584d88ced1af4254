/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The disk at work: a FIFO of requests, one thread that takes them one by one through the model,
 * sleeps until the model says that they are done, and answers.
 */
#ifndef CANFS_BENCH_DISK_QUEUE_H
#define CANFS_BENCH_DISK_QUEUE_H

#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>

#include "bench/disk/clock.h"
#include "bench/disk/drive.h"
#include "bench/disk/store.h"

enum canfs_disk_mode {
	CANFS_DISK_FREE, /* no delays: for setting up */
	CANFS_DISK_HDD
};

enum canfs_request_kind { CANFS_REQUEST_READ, CANFS_REQUEST_WRITE, CANFS_REQUEST_FLUSH };

struct canfs_request {
	struct canfs_request *next;
	fuse_req_t fuse;
	enum canfs_request_kind kind;
	uint64_t offset;
	size_t bytes;
	double arrival_usec; /* model time */
	char data[];         /* of a write */
};

struct canfs_queue_stats {
	uint64_t requests[CANFS_REQUEST_FLUSH + 1];
	uint64_t bytes[CANFS_REQUEST_FLUSH + 1];
	uint64_t depth_sum;
	unsigned int depth_max;
	double late_sum_usec, late_max_usec; /* wall time */
};

struct canfs_queue {
	pthread_t thread;
	pthread_mutex_t lock; /* over all below but the store, which is the thread's */
	pthread_cond_t arrived;
	bool stop;
	struct canfs_request *head, **tail;
	unsigned int depth;
	enum canfs_disk_mode mode;
	struct canfs_clock clock;
	struct canfs_drive drive;
	struct canfs_queue_stats stats;
	struct canfs_store store;
};

/* 0 or -errno. */
int canfs_queue_start(struct canfs_queue *queue, uint64_t capacity_bytes);
/* What still waits is answered first. */
void canfs_queue_stop(struct canfs_queue *queue);

/* Takes the request over; answers fuse with ENOMEM if there is no memory. data only for a write. */
void canfs_queue_add(struct canfs_queue *queue, fuse_req_t fuse, enum canfs_request_kind kind,
	uint64_t offset, size_t bytes, const char *data);

#endif
