// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-job-pattern: readers that request the blocks of their files in an exact order, each with a
 * fixed number of outstanding READs, by raw NFSv3. Prints JSON. No client's cache or read-ahead
 * interferes. All files are read over one connection. Readers that share a file have a connection
 * each, like separate clients.
 *
 * A file's name is a number. Its contents identify it: each 4 KB begin with their offset and the
 * file's number (struct stamp, little-endian). Wrong data ends the job with an error. After
 * SIGTERM, nothing more is requested or counted. Replies in the first --warm-up seconds are not
 * counted, since a prefetcher has learned little by then.
 */
#include <endian.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/jobs/job.h"
#include "bench/jobs/nfs3.h"
#include "bench/jobs/order.h"

#define READERS_MAX  256
#define DEPTH_MAX    64
#define STAMP_EVERY  4096u /* as in bench/experiments/reading_files.py */
#define EXIT_BAD_USE 2

struct stamp {
	uint64_t offset, file;
};

struct reader;

/* An outstanding READ. */
struct slot {
	struct reader *reader;
	uint64_t offset;
	double begin;
};

/* Reads a part of a file: all of it, unless several readers share it. */
struct reader {
	struct job *job;
	struct canfs_nfs3 *nfs;
	uint64_t number, first_block; /* of the file; of the reader's part */
	struct canfs_nfs3_handle file;
	struct canfs_order order;
	uint64_t next;
	unsigned int outstanding;
	uint64_t bytes;
	double finish; /* time of its last reply */
	struct canfs_samples samples;
	struct slot slots[DEPTH_MAX];
};

struct job {
	struct canfs_nfs3 nfs[CANFS_NFS3_CONNECTIONS_MAX]; /* one for each sharer */
	struct canfs_nfs3_handle root;
	const char *pattern;
	unsigned int block_bytes, depth, sharers;
	uint64_t file_bytes, reads, seed;
	double at, begin, warm_up; /* begin: end of the warm-up */
	unsigned int readers, busy;
	struct reader reader[READERS_MAX];
};

static volatile sig_atomic_t told_to_stop;

static void stop(int signal)
{
	(void)signal;
	told_to_stop = 1;
}

static bool is_right(const struct slot *slot, const struct READ3resok *reply)
{
	const struct reader *r = slot->reader;

	if (reply->count != r->job->block_bytes || reply->data.data_len != reply->count)
		return false;
	for (uint64_t at = 0; at < reply->count; at += STAMP_EVERY) {
		struct stamp stamp;

		memcpy(&stamp, reply->data.data_val + at, sizeof(stamp));
		if (le64toh(stamp.offset) != slot->offset + at || le64toh(stamp.file) != r->number)
			return false;
	}
	return true;
}

static void on_read(struct rpc_context *rpc, int status, void *data, void *arg);

/* Requests this reader's next block, unless all have been requested. */
static void ask(struct slot *slot)
{
	struct reader *r = slot->reader;
	struct job *job = r->job;
	struct READ3args args = { .file = canfs_nfs3_fh(&r->file), .count = job->block_bytes };

	if (r->next == r->order.count || told_to_stop || r->nfs->failed)
		return;
	slot->offset = (r->first_block + r->order.block[r->next++]) * job->block_bytes;
	slot->begin = canfs_job_now();
	args.offset = slot->offset;
	if (rpc_nfs3_read_async(r->nfs->rpc, on_read, &args, slot) != 0)
		canfs_nfs3_fail(r->nfs, rpc_get_error(r->nfs->rpc));
	job->busy += r->outstanding++ == 0;
}

static void on_read(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct slot *slot = arg;
	struct reader *r = slot->reader;
	struct job *job = r->job;
	const struct READ3res *reply = data;
	double now = canfs_job_now();

	(void)rpc;
	job->busy -= --r->outstanding == 0;
	if (status != RPC_STATUS_SUCCESS || reply->status != NFS3_OK) {
		canfs_nfs3_fail(r->nfs, "the server answered a READ with an error");
		return;
	}
	if (!is_right(slot, &reply->READ3res_u.resok)) {
		canfs_nfs3_fail(r->nfs, "a READ brought other data than the file holds");
		return;
	}
	if (now >= job->begin && !told_to_stop) {
		canfs_samples_add(&r->samples, now - slot->begin);
		r->bytes += job->block_bytes;
		r->finish = now - job->begin;
	}
	ask(slot);
}

static int run(struct job *job)
{
	int ret = 0;

	if (job->at > 0)
		canfs_job_sleep_until(job->at);
	job->begin = canfs_job_now() + job->warm_up;
	for (unsigned int i = 0; i < job->readers; i++) {
		for (unsigned int k = 0; k < job->depth; k++) {
			job->reader[i].slots[k].reader = &job->reader[i];
			ask(&job->reader[i].slots[k]);
		}
	}
	while (job->busy > 0 && !ret)
		ret = canfs_nfs3_serve_any(job->nfs, job->sharers);
	return ret;
}

static void print_latency(struct canfs_samples *samples)
{
	canfs_samples_sort(samples);
	printf("\"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f",
		1e3 * canfs_samples_percentile(samples, 50),
		1e3 * canfs_samples_percentile(samples, 99),
		1e3 * canfs_samples_percentile(samples, 100));
}

static double mb_per_s(uint64_t bytes, double seconds)
{
	return seconds > 0 ? (double)bytes / 1e6 / seconds : 0;
}

static void print_result(struct job *job)
{
	struct canfs_samples all = { 0 };
	double first = job->reader[0].finish, last = 0;
	uint64_t bytes = 0;

	printf("{\"readers\": [");
	for (unsigned int i = 0; i < job->readers; i++) {
		struct reader *r = &job->reader[i];

		for (size_t k = 0; k < r->samples.count; k++)
			canfs_samples_add(&all, r->samples.seconds[k]);
		bytes += r->bytes;
		first = r->finish < first ? r->finish : first;
		last = r->finish > last ? r->finish : last;
		printf("%s{\"bytes\": %llu, \"finish_seconds\": %.4f, \"mb_per_s\": %.2f, ",
			i ? ",\n " : "", (unsigned long long)r->bytes, r->finish,
			mb_per_s(r->bytes, r->finish));
		print_latency(&r->samples);
		printf("}");
	}
	printf("],\n \"bytes\": %llu, \"first_seconds\": %.4f, \"last_seconds\": %.4f, "
	       "\"mb_per_s\": %.2f, \"samples_lost\": %zu, ",
		(unsigned long long)bytes, first, last, mb_per_s(bytes, last), all.lost);
	print_latency(&all);
	printf("}\n");
	canfs_samples_free(&all);
}

/* Adds the file's sharers, each with a part of the file and its own random order. */
static int add_file(struct job *job, char *name)
{
	uint64_t part = job->file_bytes / job->block_bytes / job->sharers;
	struct canfs_nfs3_handle file;
	int ret = canfs_nfs3_look_up(job->nfs, &job->root, name, &file);

	for (unsigned int i = 0; i < job->sharers && !ret; i++) {
		struct reader *r = &job->reader[job->readers];

		*r = (struct reader) { .job = job,
			.nfs = &job->nfs[i],
			.number = strtoull(name, NULL, 10),
			.first_block = i * part,
			.file = file };
		ret = canfs_order_make(job->pattern, part, job->seed + job->readers, &r->order);
		if (job->reads && r->order.count > job->reads)
			r->order.count = job->reads;
		job->readers++;
	}
	return ret;
}

static void usage(void)
{
	fprintf(stderr, "usage: canfs-job-pattern --file-mib N [--pattern NAME] [--block-kib N] "
			"[--depth N]\n"
			"                         [--sharers N] [--reads N] [--seed N] [--at "
			"SECONDS] [--warm-up SECONDS] [--udp]\n"
			"                         SERVER EXPORT FILE ...\n");
	exit(EXIT_BAD_USE);
}

static unsigned int whole(const char *option, double min, double max)
{
	return (unsigned int)canfs_job_number(option, optarg, min, max);
}

static void parse_options(struct job *job, int argc, char **argv)
{
	static const struct option options[] = { { "file-mib", required_argument, NULL, 'm' },
		{ "pattern", required_argument, NULL, 'p' },
		{ "block-kib", required_argument, NULL, 'b' },
		{ "depth", required_argument, NULL, 'd' },
		{ "sharers", required_argument, NULL, 'h' },
		{ "reads", required_argument, NULL, 'r' }, { "seed", required_argument, NULL, 's' },
		{ "at", required_argument, NULL, 'a' }, { "warm-up", required_argument, NULL, 'w' },
		{ "udp", no_argument, NULL, 'u' }, { 0 } };
	bool udp = false;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'm':
			job->file_bytes = (uint64_t)whole("file-mib", 1, 1 << 20) << 20;
			break;
		case 'p':
			job->pattern = optarg;
			break;
		case 'b':
			job->block_bytes = 1024 * whole("block-kib", 4, 1024);
			break;
		case 'd':
			job->depth = whole("depth", 1, DEPTH_MAX);
			break;
		case 'h':
			job->sharers = whole("sharers", 1, CANFS_NFS3_CONNECTIONS_MAX);
			break;
		case 'r':
			job->reads = whole("reads", 1, 1 << 30);
			break;
		case 's':
			job->seed = whole("seed", 0, 1e9);
			break;
		case 'a':
			job->at = canfs_job_number("at", optarg, 0, 1e12);
			break;
		case 'w':
			job->warm_up = canfs_job_number("warm-up", optarg, 0, 3600);
			break;
		case 'u':
			udp = true;
			break;
		default:
			usage();
		}
	}
	if (job->file_bytes == 0 || optind + 3 > argc ||
		(unsigned int)(argc - optind - 2) * job->sharers > READERS_MAX)
		usage();
	if (job->block_bytes % STAMP_EVERY != 0) {
		fprintf(stderr, "--block-kib: must be a multiple of 4\n");
		exit(EXIT_BAD_USE);
	}
	for (unsigned int i = 0; i < job->sharers; i++)
		job->nfs[i] = (struct canfs_nfs3) { .server = argv[optind], .udp = udp };
}

static const char *why(const struct job *job, int error)
{
	for (unsigned int i = 0; i < job->sharers; i++)
		if (job->nfs[i].failed)
			return job->nfs[i].failed;
	return strerror(-error);
}

int main(int argc, char **argv)
{
	static struct job job; /* too large for the stack */
	int ret;

	job = (struct job) {
		.pattern = "sequential", .block_bytes = 65536, .depth = 4, .sharers = 1
	};
	parse_options(&job, argc, argv);
	sigaction(SIGTERM, &(struct sigaction) { .sa_handler = stop }, NULL);
	ret = canfs_nfs3_mount(job.nfs, argv[optind + 1], &job.root);
	for (unsigned int i = 0; i < job.sharers && !ret; i++)
		ret = canfs_nfs3_connect(&job.nfs[i]);
	for (int i = optind + 2; i < argc && !ret; i++)
		ret = add_file(&job, argv[i]);
	if (!ret)
		ret = run(&job);
	if (!ret)
		print_result(&job);
	else if (ret == -EINVAL)
		fprintf(stderr, "--pattern %s: must be one of " CANFS_ORDER_PATTERNS "\n",
			job.pattern);
	else
		fprintf(stderr, "canfs-job-pattern: %s: %s\n", argv[optind], why(&job, ret));
	for (unsigned int i = 0; i < job.sharers; i++)
		canfs_nfs3_disconnect(&job.nfs[i]);
	for (unsigned int i = 0; i < job.readers; i++) {
		canfs_samples_free(&job.reader[i].samples);
		free(job.reader[i].order.block);
	}
	return ret ? 1 : 0;
}
