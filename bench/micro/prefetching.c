// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfs-micro of the prefetcher: its table of active files, and a device's queue. */
#include "bench/micro/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Active files, each read in sequence; the order in which they come looks random to every cache. */
#define ACTIVE_FILES      (1u << 20)
#define ACTIVE_FILE_READS 8 /* of each, before anything is measured */
#define ACTIVE_READ_BYTES 8192u
#define ACTIVE_FILE_BYTES ((uint64_t)1 << 40)
#define RANDOM_FILE_BYTES                                                                          \
	((uint64_t)64 << 20) /* so small that some reads are near others by accident */

/* A disk that is behind: so many fetches wait, of streams that have eight each. */
#define STREAMS     (WAITING / 8)
#define DISK_BLOCKS ((uint64_t)1 << 24)
#define BLOCK_BYTES 65536u

static void files_read(struct fixture *f, struct canfs_files *files, uint64_t file, uint64_t offset)
{
	struct canfs_advice advice[CANFS_ADVICE_MAX];

	f->sink = (double)canfs_files_read(
		files, file, offset, ACTIVE_READ_BYTES, ACTIVE_FILE_BYTES, 1, false, advice, NULL);
}

void files_read_million(struct fixture *f)
{
	uint64_t turn = f->files_turn++;

	files_read(f, f->files, turn % ACTIVE_FILES, turn / ACTIVE_FILES * ACTIVE_READ_BYTES);
}

/* All that is looked at of a READ whose stream is left to the kernel. */
void stream_read(struct fixture *f)
{
	uint64_t at = f->stream_turn++ * ACTIVE_READ_BYTES;

	canfs_kernel_stream_goes_on(
		canfs_kernel_stream_of(&f->client_streams, 7), at, ACTIVE_READ_BYTES);
	canfs_streams_note(&f->streams, &f->stream_last);
}

void files_read_one(struct fixture *f)
{
	files_read(f, f->one_file, 1,
		f->one_turn++ % (ACTIVE_FILE_BYTES / ACTIVE_READ_BYTES) * ACTIVE_READ_BYTES);
}

/* Each read is compared with as many cursors as such a file may have. */
void files_read_random(struct fixture *f)
{
	files_read(f, f->random_file, 1,
		random_below(f, RANDOM_FILE_BYTES / ACTIVE_READ_BYTES) * ACTIVE_READ_BYTES);
}

static void ask_disk(
	struct fixture *f, struct disk *disk, struct canfs_fetch *fetch, uint32_t stream)
{
	*fetch = (struct canfs_fetch) { .kind = CANFS_FETCH_PREFETCH,
		.file = stream,
		.stream = stream,
		.offset = random_below(f, DISK_BLOCKS) * BLOCK_BYTES,
		.bytes = BLOCK_BYTES };
	if (canfs_queue_enter(&disk->queue, fetch, 0) && fetch->from < fetch->to)
		canfs_queue_place(&disk->queue, fetch, fetch->from);
}

/* One is taken, done, and another one asked for. */
static void serve_disk(struct fixture *f, struct disk *disk)
{
	struct canfs_fetch_list finished = { 0 };
	struct canfs_fetch *fetch = canfs_queue_take(&disk->queue, CANFS_FETCH_PREFETCH), *next;

	canfs_queue_finish(&disk->queue, fetch, 0, &finished);
	for (fetch = finished.first; fetch; fetch = next) {
		next = fetch->next;
		ask_disk(f, disk, fetch, fetch->stream);
	}
}

void queue_fifo(struct fixture *f)
{
	serve_disk(f, &f->fifo);
}

void queue_elevator(struct fixture *f)
{
	serve_disk(f, &f->elevator);
}

void queue_n_cscan(struct fixture *f)
{
	serve_disk(f, &f->n_cscan);
}

int make_files(struct fixture *f)
{
	struct canfs_files_config config = canfs_files_defaults;
	struct canfs_files_stats stats;
	int ret;

	f->cached = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (f->cached < 0)
		return -errno;
	pthread_mutex_init(&f->map.mutex, NULL);
	config.files = ACTIVE_FILES;
	ret = canfs_files_new(&f->files, &config);
	if (!ret)
		ret = canfs_files_new(&f->one_file, &config);
	if (!ret)
		ret = canfs_files_new(&f->random_file, &config);
	if (ret)
		return ret;
	for (unsigned int i = 0; i < ACTIVE_FILE_READS * ACTIVE_FILES; i++)
		files_read_million(f);
	stats = canfs_files_stats(f->files);
	fprintf(stderr, "canfs-micro: active files: %llu in at most %llu bytes\n",
		(unsigned long long)stats.files, (unsigned long long)stats.memory_bytes);
	return 0;
}

static int make_disk(struct fixture *f, struct disk *disk, const char *policy)
{
	const struct canfs_queue_config config = { .policy = canfs_policy_named(policy),
		.waiting_max = WAITING };

	if (canfs_queue_init(&disk->queue, &config) != 0)
		return -1;
	for (uint32_t i = 0; i < WAITING; i++)
		ask_disk(f, disk, &disk->fetch[i], i % STREAMS);
	return 0;
}

int make_disks(struct fixture *f)
{
	return make_disk(f, &f->fifo, "fifo") != 0 || make_disk(f, &f->elevator, "elevator") != 0 ||
	       make_disk(f, &f->n_cscan, "n-cscan") != 0;
}

static void free_disk(struct disk *disk)
{
	struct canfs_fetch_list cancelled = { 0 };

	canfs_queue_cancel_all(&disk->queue, &cancelled);
	canfs_queue_destroy(&disk->queue);
}

void free_prefetching(struct fixture *f)
{
	canfs_resident_unmap(&f->map);
	close(f->cached);
	canfs_files_free(f->files);
	canfs_files_free(f->one_file);
	canfs_files_free(f->random_file);
	free_disk(&f->fifo);
	free_disk(&f->elevator);
	free_disk(&f->n_cscan);
}
