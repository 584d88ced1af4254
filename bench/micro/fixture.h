/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Whatever the functions of canfs-micro work on; nothing is allocated in a measured call. */
#ifndef CANFS_BENCH_MICRO_FIXTURE_H
#define CANFS_BENCH_MICRO_FIXTURE_H

#include "client-agent/kernel/mountstats.h"
#include "client-agent/kernel/procfs.h"
#include "server/classes/shared_classes.h"
#include "server/clients/clients.h"
#include "server/market/sampler.h"
#include "server/monitors/ghosts.h"
#include "server/waiting/waiting.h"
#include "ganesha-fsal/read/prefetch/files.h"
#include "ganesha-fsal/read/prefetch/kernel_stream.h"
#include "ganesha-fsal/read/prefetch/resident.h"
#include "ganesha-fsal/read/prefetch/streams.h"
#include "ganesha-fsal/read/scheduler/queue.h"
#include "pricing/auction.h"
#include "pricing/price.h"
#include "protocol/tag.h"
#include "common/hash.h"

#define MOUNTS_MAX      100
#define EXPORTS_MAX     100
#define MEMINFO_BYTES   8192
#define WAITING_CLIENTS 8
#define WAITING         10000 /* fetches, at a disk that is behind */

struct disk {
	struct canfs_queue queue;
	struct canfs_fetch fetch[WAITING];
};

/* The monitors of a server with so many exports. */
struct server {
	struct canfs_sampler *sampler;
	struct canfs_price_table *prices[EXPORTS_MAX];
};

struct fixture {
	uint64_t turn; /* arguments change with it, so that nothing is computed once and kept */
	struct canfs_market market;
	struct canfs_auction auction;
	struct canfs_tag tag;
	struct canfs_space space;
	struct server one_export, ten_exports, hundred_exports;
	struct canfs_ghosts *small_reads, *large_reads;
	uint64_t unsampled_file;
	struct canfs_files *files, *one_file, *random_file;
	uint64_t files_turn, one_turn, stream_turn;
	struct canfs_kernel_streams client_streams;
	struct canfs_streams streams;
	_Atomic uint8_t stream_last;
	int cached; /* a file of which something is in the page cache */
	struct canfs_resident_map map;
	struct canfs_clients *few_clients, *many_clients;
	struct canfs_client_load *loads[WAITING_CLIENTS];
	struct canfs_waiting *few_waiting, *many_waiting;
	struct canfs_disk_sample disk;
	struct canfs_shared_classes no_classes, full_classes;
	struct canfs_subscribers *subscribers, *subscribers_apart; /* of one export; of one each */
	struct disk fifo, elevator, n_cscan;
	uint64_t now_usec;
	struct canfs_mounts *one, *many;
	char *one_text, *many_text;
	struct canfs_mountstats stats[MOUNTS_MAX];
	char meminfo_text[MEMINFO_BYTES];
	struct canfs_meminfo meminfo;
	volatile double sink;
};

static inline uint64_t random_below(struct fixture *f, uint64_t n)
{
	return (uint64_t)(((__uint128_t)canfs_hash(f->turn++) * n) >> 64);
}

/* prefetching.c; 0 or not */
int make_files(struct fixture *f);
int make_disks(struct fixture *f);
void free_prefetching(struct fixture *f);

void files_read_million(struct fixture *f);
void stream_read(struct fixture *f);
void files_read_one(struct fixture *f);
void files_read_random(struct fixture *f);
void queue_fifo(struct fixture *f);
void queue_elevator(struct fixture *f);
void queue_n_cscan(struct fixture *f);

/* subscribers.c; 0 or not */
int make_subscribers(struct fixture *f);
void free_subscribers(struct fixture *f);

void subscribers_quiet(struct fixture *f);
void subscribers_told(struct fixture *f);
void subscribers_apart(struct fixture *f);

#endif
