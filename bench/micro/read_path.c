// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-micro-read: what CANFS adds to a READ, in nanoseconds. The plugin's own read2, without the rest of
 * Ganesha, on an FSAL that answers at once:
 *
 *	read2 of CANFS --> count the client --> read2 below --> tell the ghost caches --> its time --> caller's callback
 *	                                        read2 below ----------------------------> caller's callback
 *
 * The difference of the two is reported: JSON, for each size of reads, size of the server's cache and number
 * of threads one value per run. Reads are random, over twice what the cache holds, from some clients. Time is
 * the processor time of the reading threads, so that other users of the machine count little. The FSAL
 * below works for about a microsecond: threads that did nothing but tell us of reads would queue up at our
 * lock as no server's do, whose READ takes twenty and more.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <arpa/inet.h>

#include "bench/jobs/job.h"
#include "ganesha-fsal/price/price.h"
#include "ganesha-fsal/read/read.h"
#include "common/hash.h"

#define FILE_BYTES  ((uint64_t)1 << 20)
#define CLIENTS     16u
#define THREADS_MAX 2u
#define WARM_UP_MIN 100000u
#define WORK_ROUNDS 256  /* about a microsecond */
#define TICKS       200u /* of the market, while the ghost caches are filled */
#define TICK_SEC    0.1

struct file {
	struct canfs_handle ours;
	struct fsal_obj_handle sub;
};

struct server {
	struct fsal_obj_ops sub_ops;
	struct fsal_export sub_export;
	struct canfs_export export;
	struct canfs_export_reads reads; /* nothing is prefetched */
	uint64_t files;
	struct file *file;
	pthread_barrier_t start;
};

/* One worker thread of the server. */
struct worker {
	struct server *server;
	uint64_t random, block_bytes, reads;
	bool direct; /* without CANFS */
	double seconds;
	uint64_t answered;
};

static void sub_read(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb done,
	struct fsal_io_arg *io, void *arg)
{
	static __thread uint64_t work;

	(void)bypass;
	for (int i = 0; i < WORK_ROUNDS; i++)
		work = canfs_hash(work + io->offset);
	io->io_amount = io->iov[0].iov_len;
	done(handle, fsalstat(ERR_FSAL_NO_ERROR, 0), io, arg);
}

static void answered(struct fsal_obj_handle *handle, fsal_status_t status, void *io, void *arg)
{
	struct worker *worker = arg;

	(void)handle;
	(void)io;
	worker->answered += !FSAL_IS_ERROR(status);
}

static double cpu_seconds(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static void read_some(struct worker *worker, struct req_op_context *context, sockaddr_t *clients)
{
	struct server *server = worker->server;
	/* Where the buffers are part of it, it has room for one. */
	struct fsal_io_arg *io = gsh_calloc(1, sizeof(*io) + sizeof(struct iovec));
	uint64_t blocks = FILE_BYTES / worker->block_bytes;
	struct iovec buffer = { .iov_len = worker->block_bytes };
	double begin = cpu_seconds();

	io->iov_count = 1;
	compat_set_iov(io, &buffer);
	for (uint64_t i = 0; i < worker->reads; i++) {
		uint64_t random = canfs_job_random(&worker->random);
		struct file *file = &server->file[random % server->files];
		struct fsal_obj_handle *handle = worker->direct ? &file->sub : &file->ours.handle;

		io->offset = (random >> 32) % blocks * worker->block_bytes;
		context->caller_addr = &clients[random >> 48 & (CLIENTS - 1)];
		handle->obj_ops->read2(handle, false, answered, io, worker);
	}
	worker->seconds = cpu_seconds() - begin;
	gsh_free(io);
}

static void *run_worker(void *arg)
{
	struct worker *worker = arg;
	struct req_op_context context = { .fsal_export = worker->direct
								 ? &worker->server->sub_export
								 : &worker->server->export.export };
	sockaddr_t clients[CLIENTS] = { 0 };

	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct sockaddr_in *in = (struct sockaddr_in *)&clients[i];

		in->sin_family = AF_INET;
		in->sin_addr.s_addr = htonl(0x0a000001u + i);
	}
	op_ctx = &context;
	pthread_barrier_wait(&worker->server->start);
	read_some(worker, &context, clients);
	op_ctx = NULL;
	return NULL;
}

static void fail(const char *what)
{
	fprintf(stderr, "canfs-micro-read: %s\n", what);
	exit(1);
}

/* Processor time of each thread for its reads, the mean of all. */
static double run(struct server *server, unsigned int threads, struct worker like)
{
	static uint64_t seed;
	struct worker workers[THREADS_MAX];
	pthread_t thread[THREADS_MAX];
	double seconds = 0;

	pthread_barrier_init(&server->start, NULL, threads);
	for (unsigned int i = 0; i < threads; i++) {
		workers[i] = like;
		workers[i].server = server;
		workers[i].random = ++seed;
		if (pthread_create(&thread[i], NULL, run_worker, &workers[i]) != 0)
			fail("no thread");
	}
	for (unsigned int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		seconds += workers[i].seconds / threads;
		if (workers[i].answered != like.reads)
			fail("a read was not answered");
	}
	pthread_barrier_destroy(&server->start);
	return seconds;
}

static void open_server(struct server *server, uint64_t cache_bytes)
{
	*server = (struct server) { .files = 2 * cache_bytes / FILE_BYTES };
	server->sub_ops.read2 = sub_read;
	server->export.part[CANFS_FEATURE_READ] = &server->reads;
	server->export.export.sub_export = &server->sub_export;
	server->sub_export.super_export = &server->export.export;
	server->file = calloc(server->files, sizeof(*server->file));
	canfs_pricing.clients = canfs_clients_new();
	canfs_open_ghosts();
	if (!server->file || !canfs_pricing.clients || !canfs_pricing.ghosts)
		fail("no memory");
	for (uint64_t i = 0; i < server->files; i++) {
		struct file *file = &server->file[i];

		file->sub.obj_ops = &server->sub_ops;
		file->ours.sub = &file->sub;
		file->ours.handle.obj_ops = &CANFS.handle_ops;
		file->ours.handle.fileid = i;
	}
	/* As a server that has been read for a while, its market at work beside it. */
	for (unsigned int i = 0; i < TICKS; i++) {
		uint64_t reads = 4 * server->files > WARM_UP_MIN ? 4 * server->files : WARM_UP_MIN;

		canfs_ghosts_resize(canfs_pricing.ghosts, cache_bytes);
		canfs_ghosts_forecast(canfs_pricing.ghosts, TICK_SEC);
		run(server, 1,
			(struct worker) { .block_bytes = FILE_BYTES, .reads = reads / TICKS });
	}
}

static void close_server(struct server *server)
{
	canfs_ghosts_free(canfs_pricing.ghosts);
	canfs_clients_free(canfs_pricing.clients);
	free(server->file);
}

/* One row: so many runs, each long enough for the clock. */
static void measure(struct server *server, const char *name, unsigned int threads,
	uint64_t block_bytes, unsigned int runs, double seconds)
{
	static bool follows;
	struct worker direct = { .block_bytes = block_bytes, .reads = 1000, .direct = true };
	struct worker ours = direct;

	ours.direct = false;
	while (run(server, threads, ours) < seconds)
		ours.reads *= 2;
	direct.reads = ours.reads;
	printf("%s\"fsal_read2-%s-x%u\": [", follows ? ",\n " : "", name, threads);
	follows = true;
	for (unsigned int i = 0; i < runs; i++) {
		double without = run(server, threads, direct), with = run(server, threads, ours);

		printf("%s%.2f", i > 0 ? ", " : "", 1e9 * (with - without) / (double)ours.reads);
	}
	printf("]");
}

int canfs_micro_read(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} caches[] = { { "256m", (uint64_t)256 << 20 }, { "8g", (uint64_t)8 << 30 },
		{ "256g", (uint64_t)256 << 30 } };
	static const unsigned int blocks_kib[] = { 4, 8, 64, 1024 };
	static struct server server;
	unsigned int runs;
	double seconds;

	if (argc != 3) {
		fprintf(stderr, "usage: canfs-micro-read RUNS SECONDS-PER-RUN\n");
		return 2;
	}
	runs = (unsigned int)canfs_job_number("runs", argv[1], 1, 1000);
	seconds = canfs_job_number("seconds-per-run", argv[2], 0.001, 10);
	canfs_file_ops_init(&CANFS.handle_ops);
	printf("{");
	for (size_t c = 0; c < sizeof(caches) / sizeof(caches[0]); c++) {
		open_server(&server, caches[c].bytes);
		for (size_t b = 0; b < sizeof(blocks_kib) / sizeof(blocks_kib[0]); b++) {
			for (unsigned int threads = 1; threads <= THREADS_MAX; threads++) {
				char name[32];

				snprintf(name, sizeof(name), "%uk-%s", blocks_kib[b],
					caches[c].name);
				measure(&server, name, threads, (uint64_t)blocks_kib[b] << 10, runs,
					seconds);
			}
		}
		close_server(&server);
	}
	printf("}\n");
	return 0;
}
