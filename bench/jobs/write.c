// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-job-write: a writer, at a given rate or at full speed. It keeps its file open until a given
 * second and then closes it. close() is where NFS clients wait for dirty data. Prints JSON.
 * --rewrite opens an existing file, for reading too, as iozone does. --random writes blocks at
 * random offsets.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/jobs/job.h"

#define SECONDS_MAX     3600
#define SAMPLES_PER_SEC 10
#define EXIT_BAD_USE    2

struct writer {
	const char *path;
	uint64_t bytes;
	size_t block_bytes;
	double rate_bytes;      /* per second; 0: full speed */
	double begin, close_at; /* seconds from the start of the job */
	double limit_seconds;   /* of writing; 0: until everything is written */
	double blocked_seconds; /* a longer write counts as blocked */
	bool rewrite, random;
	uint64_t seed;
	int fd;
	char *buffer;
	double start;
	double write_seconds, close_seconds, seconds;
	uint64_t done_bytes, blocked;
	double first_block_seconds; /* from the first write; negative: no write was blocked */
	struct canfs_samples samples;
};

/* Dirty data of the client, sampled by a thread. */
struct dirty {
	pthread_t thread;
	atomic_bool stop;
	double start;
	uint64_t peak_bytes;
	uint64_t in_second_bytes[SECONDS_MAX];
};

static void usage(void)
{
	fprintf(stderr,
		"usage: canfs-job-write --mb N [--rate-mb N] [--block-kib N] [--begin SECOND]\n"
		"                       [--close-at SECOND] [--seconds N] [--blocked-ms N]\n"
		"                       [--rewrite] [--random] [--seed N] FILE\n");
	exit(EXIT_BAD_USE);
}

static void parse_options(struct writer *w, int argc, char **argv)
{
	static const struct option options[] = { { "mb", required_argument, NULL, 'm' },
		{ "rate-mb", required_argument, NULL, 'r' },
		{ "block-kib", required_argument, NULL, 'b' },
		{ "begin", required_argument, NULL, 'g' },
		{ "close-at", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 't' },
		{ "blocked-ms", required_argument, NULL, 'k' },
		{ "rewrite", no_argument, NULL, 'w' }, { "random", no_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' }, { 0 } };
	int option;

	*w = (struct writer) {
		.block_bytes = 65536, .blocked_seconds = 0.1, .first_block_seconds = -1
	};
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'm':
			w->bytes = (uint64_t)(1e6 * canfs_job_number("mb", optarg, 0.001, 1e6));
			break;
		case 'r':
			w->rate_bytes = 1e6 * canfs_job_number("rate-mb", optarg, 0, 1e5);
			break;
		case 'b':
			w->block_bytes =
				1024 * (size_t)canfs_job_number("block-kib", optarg, 1, 1 << 16);
			break;
		case 'g':
			w->begin = canfs_job_number("begin", optarg, 0, SECONDS_MAX);
			break;
		case 'c':
			w->close_at = canfs_job_number("close-at", optarg, 0, SECONDS_MAX);
			break;
		case 't':
			w->limit_seconds = canfs_job_number("seconds", optarg, 0, SECONDS_MAX);
			break;
		case 'k':
			w->blocked_seconds = canfs_job_number("blocked-ms", optarg, 0.1, 1e6) / 1e3;
			break;
		case 'w':
			w->rewrite = true;
			break;
		case 'n':
			w->random = true;
			break;
		case 's':
			w->seed = (uint64_t)canfs_job_number("seed", optarg, 0, 1e9);
			break;
		default:
			usage();
		}
	}
	if (w->bytes < w->block_bytes || optind + 1 != argc)
		usage();
	w->path = argv[optind];
}

/* Dirty + Writeback. An NFS client counts pages that wait for a COMMIT as Writeback. */
static uint64_t held_bytes(void)
{
	static const char *const keys[] = { "Dirty:", "Writeback:" };
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	uint64_t kib = 0;

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		for (size_t i = 0; i < 2; i++)
			if (!strncmp(line, keys[i], strlen(keys[i])))
				kib += strtoull(line + strlen(keys[i]), NULL, 10);
	fclose(file);
	return kib * 1024;
}

static void *sample_dirty(void *argument)
{
	struct dirty *d = argument;

	for (unsigned int i = 0; !d->stop; i++) {
		uint64_t bytes = held_bytes();
		size_t second = i / SAMPLES_PER_SEC;

		if (bytes > d->peak_bytes)
			d->peak_bytes = bytes;
		if (second < SECONDS_MAX && bytes > d->in_second_bytes[second])
			d->in_second_bytes[second] = bytes;
		canfs_job_sleep_until(d->start + (i + 1.0) / SAMPLES_PER_SEC);
	}
	return NULL;
}

/* Fills the buffer with random data, since a store may handle zeros faster. */
static int prepare(struct writer *w)
{
	uint64_t state = w->seed;

	w->buffer = malloc(w->block_bytes);
	if (!w->buffer)
		return -ENOMEM;
	for (size_t i = 0; i + 8 <= w->block_bytes; i += 8) {
		uint64_t value = canfs_job_random(&state);

		memcpy(w->buffer + i, &value, sizeof(value));
	}
	w->fd = open(
		w->path, O_CLOEXEC | (w->rewrite ? O_RDWR : O_WRONLY | O_CREAT | O_TRUNC), 0644);
	return w->fd < 0 ? -errno : 0;
}

/* Returns 0 or -errno. at: start of this write, in seconds from the first write. */
static int write_block(struct writer *w, uint64_t *state, double at)
{
	uint64_t left = w->bytes - w->done_bytes;
	size_t n = left < w->block_bytes ? (size_t)left : w->block_bytes;
	uint64_t offset =
		w->random ? canfs_job_random(state) % (w->bytes / w->block_bytes) * w->block_bytes
			  : w->done_bytes;
	double begin = canfs_job_now(), took;
	ssize_t written = pwrite(w->fd, w->buffer, n, (off_t)offset);

	if (written <= 0)
		return written < 0 ? -errno : -EIO;
	took = canfs_job_now() - begin;
	canfs_samples_add(&w->samples, took);
	if (took > w->blocked_seconds && w->blocked++ == 0)
		w->first_block_seconds = at;
	w->done_bytes += (uint64_t)written;
	return 0;
}

static int write_file(struct writer *w)
{
	double begin = w->start + w->begin, before, now;
	uint64_t state = w->seed;
	int ret;

	canfs_job_sleep_until(begin);
	for (now = begin; w->done_bytes < w->bytes; now = canfs_job_now()) {
		if (w->limit_seconds > 0 && now - begin >= w->limit_seconds)
			break;
		if (w->rate_bytes > 0)
			canfs_job_sleep_until(begin + (double)w->done_bytes / w->rate_bytes);
		ret = write_block(w, &state, canfs_job_now() - begin);
		if (ret)
			return ret;
	}
	w->write_seconds = now - begin;
	canfs_job_sleep_until(w->start + w->close_at);
	before = canfs_job_now();
	if (close(w->fd) < 0)
		return -errno;
	now = canfs_job_now();
	w->close_seconds = now - before;
	w->seconds = now - begin;
	return 0;
}

static void print_result(struct writer *w, const struct dirty *d)
{
	size_t seconds = (size_t)(canfs_job_now() - w->start) + 1;

	canfs_samples_sort(&w->samples);
	printf("{\"bytes\": %llu, \"seconds\": %.3f, \"write_seconds\": %.3f, "
	       "\"close_seconds\": %.3f, \"write_p50_ms\": %.3f, \"write_p99_ms\": %.3f, "
	       "\"write_max_ms\": %.3f, \"blocked_writes\": %llu, \"first_block_seconds\": %.3f, "
	       "\"dirty_peak_bytes\": %llu, \"dirty_series_bytes\": [",
		(unsigned long long)w->done_bytes, w->seconds, w->write_seconds, w->close_seconds,
		1e3 * canfs_samples_percentile(&w->samples, 50),
		1e3 * canfs_samples_percentile(&w->samples, 99),
		1e3 * canfs_samples_percentile(&w->samples, 100), (unsigned long long)w->blocked,
		w->first_block_seconds, (unsigned long long)d->peak_bytes);
	for (size_t i = 0; i < seconds && i < SECONDS_MAX; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)d->in_second_bytes[i]);
	printf("]}\n");
}

int main(int argc, char **argv)
{
	static struct dirty dirty; /* too large for the stack */
	struct writer writer;
	int ret;

	parse_options(&writer, argc, argv);
	ret = prepare(&writer);
	writer.start = dirty.start = canfs_job_now();
	if (!ret)
		ret = -pthread_create(&dirty.thread, NULL, sample_dirty, &dirty);
	if (!ret) {
		ret = write_file(&writer);
		dirty.stop = true;
		pthread_join(dirty.thread, NULL);
	}
	if (ret) {
		fprintf(stderr, "canfs-job-write: %s: %s\n", writer.path, strerror(-ret));
		return 1;
	}
	print_result(&writer, &dirty);
	canfs_samples_free(&writer.samples);
	free(writer.buffer);
	return 0;
}
