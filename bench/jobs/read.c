// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-job-read: a reader that is busy in given phases, closed loop or at a given rate. Prints
 * JSON. --ops ends the job after that many reads, SIGTERM ends it at once; the result covers the
 * reads so far. --threads readers share an open file, and with it the kernel's read-ahead state.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/jobs/job.h"

#define PHASES_MAX   128
#define SECONDS_MAX  3600
#define THREADS_MAX  64
#define ALIGN_BYTES  4096
#define EXIT_BAD_USE 2
#define NOTICE_SEC   0.1 /* SIGTERM is noticed this soon between phases */

static atomic_bool is_over; /* SIGTERM was received */

struct phase {
	double begin, end; /* seconds from the start of the job */
};

struct reader {
	const char *path;
	size_t block_bytes;
	bool sequential, direct;
	double rate;       /* operations per second; 0: closed loop */
	uint64_t ops_goal; /* 0: until the phases are over */
	int threads;
	uint64_t seed;
	int phases;
	struct phase phase[PHASES_MAX];
	int fd;
	uint64_t blocks;
	void *buffer;
	double start, busy_seconds;
	uint64_t ops;
	struct canfs_samples samples;
	unsigned int ops_in_second[SECONDS_MAX];
	double worst_in_second[SECONDS_MAX];
	pthread_t thread;
	int ret;
};

static void usage(void)
{
	fprintf(stderr,
		"usage: canfs-job-read [--block-kib N] [--sequential] [--direct] [--rate OPS]\n"
		"                      [--ops N] [--threads N] [--seed N] [--phases B-E[,B-E ...]] "
		"FILE\n");
	exit(EXIT_BAD_USE);
}

/* Parses phases such as "0-20,30-40", ascending, in seconds. */
static void parse_phases(struct reader *r, const char *text)
{
	double last = 0;
	int used;

	r->phases = 0;
	for (const char *at = text;; at += used + 1) {
		struct phase *p = &r->phase[r->phases];

		if (r->phases == PHASES_MAX ||
			sscanf(at, "%lf-%lf%n", &p->begin, &p->end, &used) != 2 ||
			!(p->begin >= last && p->end > p->begin && p->end <= SECONDS_MAX) ||
			(at[used] != ',' && at[used] != '\0')) {
			fprintf(stderr, "--phases %s: must be ascending B-E pairs within %d s\n",
				text, SECONDS_MAX);
			exit(EXIT_BAD_USE);
		}
		last = p->end;
		r->phases++;
		if (at[used] == '\0')
			return;
	}
}

static void parse_options(struct reader *r, int argc, char **argv)
{
	static const struct option options[] = { { "block-kib", required_argument, NULL, 'b' },
		{ "sequential", no_argument, NULL, 'q' }, { "direct", no_argument, NULL, 'd' },
		{ "rate", required_argument, NULL, 'r' }, { "seed", required_argument, NULL, 's' },
		{ "ops", required_argument, NULL, 'o' },
		{ "threads", required_argument, NULL, 't' },
		{ "phases", required_argument, NULL, 'p' }, { 0 } };
	int option;

	*r = (struct reader) {
		.block_bytes = 8192, .threads = 1, .phases = 1, .phase = { { 0, 10 } }
	};
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'b':
			r->block_bytes =
				1024 * (size_t)canfs_job_number("block-kib", optarg, 1, 1 << 16);
			break;
		case 'q':
			r->sequential = true;
			break;
		case 'd':
			r->direct = true;
			break;
		case 'r':
			r->rate = canfs_job_number("rate", optarg, 0, 1e6);
			break;
		case 'o':
			r->ops_goal = (uint64_t)canfs_job_number("ops", optarg, 1, 1e12);
			break;
		case 't':
			r->threads = (int)canfs_job_number("threads", optarg, 1, THREADS_MAX);
			break;
		case 's':
			r->seed = (uint64_t)canfs_job_number("seed", optarg, 0, 1e9);
			break;
		case 'p':
			parse_phases(r, optarg);
			break;
		default:
			usage();
		}
	}
	if (optind + 1 != argc)
		usage();
	r->path = argv[optind];
}

static int open_file(struct reader *r)
{
	struct stat st;

	r->fd = open(r->path, O_RDONLY | O_CLOEXEC | (r->direct ? O_DIRECT : 0));
	if (r->fd < 0 || fstat(r->fd, &st) < 0)
		return -errno;
	r->blocks = (uint64_t)st.st_size / r->block_bytes;
	return r->blocks == 0 ? -EINVAL : 0;
}

static int read_block(struct reader *r, uint64_t block)
{
	double begin = canfs_job_now(), latency;
	ssize_t n = pread(r->fd, r->buffer, r->block_bytes, (off_t)(block * r->block_bytes));
	size_t second = (size_t)(begin - r->start);

	if (n != (ssize_t)r->block_bytes)
		return n < 0 ? -errno : -EIO;
	latency = canfs_job_now() - begin;
	canfs_samples_add(&r->samples, latency);
	r->ops++;
	if (second < SECONDS_MAX) {
		r->ops_in_second[second]++;
		if (latency > r->worst_in_second[second])
			r->worst_in_second[second] = latency;
	}
	return 0;
}

static void on_term(int number)
{
	(void)number;
	is_over = true;
}

/* Returns false if the job ends first. */
static bool wait_until(double when)
{
	double now;

	while (!is_over && (now = canfs_job_now()) < when)
		canfs_job_sleep_until(now + NOTICE_SEC < when ? now + NOTICE_SEC : when);
	return !is_over;
}

/* Each phase has its own seed. Otherwise the server's cache would serve the second phase. */
static int run_phase(struct reader *r, int index)
{
	uint64_t state = r->seed + (uint64_t)index, k = 0;
	double begin = r->start + r->phase[index].begin, end = r->start + r->phase[index].end;
	int ret;

	if (!wait_until(begin))
		return 0;
	while (!is_over && canfs_job_now() < end && (!r->ops_goal || r->ops < r->ops_goal)) {
		if (r->rate > 0)
			canfs_job_sleep_until(begin + (double)k / r->rate);
		ret = read_block(r, (r->sequential ? k : canfs_job_random(&state)) % r->blocks);
		if (ret)
			return ret;
		k++;
	}
	r->busy_seconds += canfs_job_now() - begin;
	return 0;
}

static void *run_thread(void *argument)
{
	struct reader *r = argument;

	r->ret = -posix_memalign(&r->buffer, ALIGN_BYTES, r->block_bytes);
	if (r->ret)
		return NULL;
	for (int i = 0; i < r->phases && !r->ret; i++)
		r->ret = run_phase(r, i);
	free(r->buffer);
	return NULL;
}

static void merge(struct reader *r, const struct reader *thread)
{
	r->ops += thread->ops;
	r->busy_seconds += thread->busy_seconds / r->threads;
	r->samples.lost += thread->samples.lost;
	for (size_t i = 0; i < thread->samples.count; i++)
		canfs_samples_add(&r->samples, thread->samples.seconds[i]);
	for (size_t i = 0; i < SECONDS_MAX; i++) {
		r->ops_in_second[i] += thread->ops_in_second[i];
		if (thread->worst_in_second[i] > r->worst_in_second[i])
			r->worst_in_second[i] = thread->worst_in_second[i];
	}
}

/* Each thread works on a copy of *r with its own seed. */
static int run_threads(struct reader *r)
{
	struct reader *threads = calloc((size_t)r->threads, sizeof(*threads));
	int started = 0, ret = threads ? 0 : -ENOMEM;

	while (!ret && started < r->threads) {
		struct reader *thread = &threads[started];

		*thread = *r;
		thread->seed += (uint64_t)started * PHASES_MAX;
		ret = -pthread_create(&thread->thread, NULL, run_thread, thread);
		started += !ret;
	}
	for (int i = 0; i < started; i++) {
		pthread_join(threads[i].thread, NULL);
		merge(r, &threads[i]);
		canfs_samples_free(&threads[i].samples);
		ret = ret ? ret : threads[i].ret;
	}
	free(threads);
	return ret;
}

static void print_result(struct reader *r)
{
	size_t seconds = (size_t)(r->ops_goal || is_over ? canfs_job_now() - r->start
							 : r->phase[r->phases - 1].end);

	canfs_samples_sort(&r->samples);
	printf("{\"ops\": %llu, \"busy_seconds\": %.3f, \"ops_per_s\": %.2f, \"p50_ms\": %.3f, "
	       "\"p99_ms\": %.3f, \"p999_ms\": %.3f, \"max_ms\": %.3f, \"samples_lost\": %zu",
		(unsigned long long)r->ops, r->busy_seconds, (double)r->ops / r->busy_seconds,
		1e3 * canfs_samples_percentile(&r->samples, 50),
		1e3 * canfs_samples_percentile(&r->samples, 99),
		1e3 * canfs_samples_percentile(&r->samples, 99.9),
		1e3 * canfs_samples_percentile(&r->samples, 100), r->samples.lost);
	printf(", \"ops_series\": [");
	for (size_t i = 0; i < seconds; i++)
		printf("%s%u", i ? ", " : "", r->ops_in_second[i]);
	printf("], \"worst_ms_series\": [");
	for (size_t i = 0; i < seconds; i++)
		printf("%s%.1f", i ? ", " : "", 1e3 * r->worst_in_second[i]);
	printf("]}\n");
}

int main(int argc, char **argv)
{
	static struct reader reader; /* too large for the stack */
	const struct sigaction term = { .sa_handler = on_term, .sa_flags = SA_RESTART };
	int ret;

	parse_options(&reader, argc, argv);
	sigaction(SIGTERM, &term, NULL);
	ret = open_file(&reader);
	reader.start = canfs_job_now();
	if (!ret)
		ret = run_threads(&reader);
	if (ret) {
		fprintf(stderr, "canfs-job-read: %s: %s\n", reader.path, strerror(-ret));
		return 1;
	}
	print_result(&reader);
	canfs_samples_free(&reader.samples);
	close(reader.fd);
	return 0;
}
