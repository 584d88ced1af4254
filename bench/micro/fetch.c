// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-micro-fetch FILE BACKEND KIB SECONDS: the engine of a device (ganesha-fsal/read/scheduler/engine.h) fetches random
 * pieces of a file that is not in the page cache, as many at a time as it takes of clients' reads. JSON: how many a second,
 * what each took of the processors, this program's and the kernel's threads together, and how often this program's
 * threads went to sleep for it; the wait for one. On a disk that takes no time (bench/experiments/fetch.py) that is
 * what it costs to hand a fetch to the kernel and to learn that it is done.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/jobs/job.h"
#include "ganesha-fsal/read/scheduler/backend.h"

#define KIB 1024u

struct item {
	struct canfs_fetch fetch;
	double begin;
	struct item *next; /* of those that are not in flight */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static struct item items[CANFS_ENGINE_DEMANDS], *idle;
static struct canfs_samples samples;
static unsigned int in_flight;
static int failed;

static void done(struct canfs_fetch *fetch, int error)
{
	struct item *item = (struct item *)fetch;

	pthread_mutex_lock(&mutex);
	canfs_samples_add(&samples, canfs_job_now() - item->begin);
	failed = failed ? failed : error;
	item->next = idle;
	idle = item;
	in_flight--;
	pthread_cond_signal(&came);
	pthread_mutex_unlock(&mutex);
}

static struct item *next_idle(void)
{
	struct item *item;

	pthread_mutex_lock(&mutex);
	while (!idle)
		pthread_cond_wait(&came, &mutex);
	item = idle;
	idle = item->next;
	in_flight++;
	pthread_mutex_unlock(&mutex);
	return item;
}

/* What all processors have been busy so far, in seconds. */
static double busy_seconds(void)
{
	unsigned long long user, nice, system, idle_ticks, waiting, irq, softirq;
	FILE *stat = fopen("/proc/stat", "r");

	if (!stat || fscanf(stat, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
			     &idle_ticks, &waiting, &irq, &softirq) != 7) {
		fprintf(stderr, "canfs-micro-fetch: /proc/stat cannot be read\n");
		exit(1);
	}
	fclose(stat);
	return (double)(user + nice + system + irq + softirq) / (double)sysconf(_SC_CLK_TCK);
}

static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

/* Each piece once, in a random order, until the time is over. */
static void fetch_all(
	struct canfs_engine *engine, int fd, uint64_t pieces, uint32_t bytes, double seconds)
{
	uint32_t *order = malloc(pieces * sizeof(*order));
	double end = canfs_job_now() + seconds;
	uint64_t seed = 1;

	if (!order)
		abort();
	for (uint64_t i = 0; i < pieces; i++) {
		uint64_t at = canfs_job_random(&seed) % (i + 1);

		order[i] = order[at];
		order[at] = (uint32_t)i;
	}
	for (uint64_t i = 0; i < pieces && canfs_job_now() < end; i++) {
		struct item *item = next_idle();

		item->fetch = (struct canfs_fetch) { .kind = CANFS_FETCH_DEMAND,
			.fd = fd,
			.file = 1,
			.offset = (uint64_t)order[i] * bytes,
			.bytes = bytes,
			.done = done };
		item->begin = canfs_job_now();
		if (!canfs_engine_add(engine, &item->fetch))
			abort();
	}
	pthread_mutex_lock(&mutex);
	while (in_flight > 0)
		pthread_cond_wait(&came, &mutex);
	pthread_mutex_unlock(&mutex);
	free(order);
}

static const struct canfs_backend *find_backend(const char *name)
{
	for (const struct canfs_backend *const *known = canfs_backends; *known; known++) {
		if (strcmp((*known)->name, name) == 0)
			return *known;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct canfs_backend *backends[2] = { argc == 5 ? find_backend(argv[2]) : NULL };
	struct canfs_engine_config config = {
		.policy = "none", .depth = 32, .waiting_max = 1, .backends = backends
	};
	struct canfs_engine *engine;
	double seconds, begin, busy;
	uint32_t bytes;
	struct stat st;
	long slept;
	int fd;

	if (!backends[0]) {
		fprintf(stderr, "usage: canfs-micro-fetch FILE io_uring|threads KIB SECONDS\n");
		return 2;
	}
	bytes = KIB * (uint32_t)canfs_job_number("KIB", argv[3], 4, CANFS_FETCH_BYTES_MAX / KIB);
	seconds = canfs_job_number("SECONDS", argv[4], 0.01, 60);
	fd = open(argv[1], O_RDONLY);
	if (fd < 0 || fstat(fd, &st) != 0) {
		perror(argv[1]);
		return 1;
	}
	if (st.st_size < bytes) {
		fprintf(stderr, "canfs-micro-fetch: %s: shorter than one piece\n", argv[1]);
		return 1;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	config.device = st.st_dev;
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		items[i].next = idle;
		idle = &items[i];
	}
	if (canfs_engine_new(&engine, &config) != 0) {
		fprintf(stderr, "canfs-micro-fetch: no %s here\n", argv[2]);
		return 1;
	}
	slept = switches();
	busy = busy_seconds();
	begin = canfs_job_now();
	fetch_all(engine, fd, (uint64_t)st.st_size / bytes, bytes, seconds);
	seconds = canfs_job_now() - begin;
	busy = busy_seconds() - busy;
	slept = switches() - slept;
	canfs_engine_free(engine);
	if (failed) {
		fprintf(stderr, "canfs-micro-fetch: %s: %s\n", argv[1], strerror(-failed));
		return 1;
	}
	canfs_samples_sort(&samples);
	printf("{\"fetches\": %zu, \"per_sec\": %.0f, \"cpu_usec\": %.2f, \"switches\": %.2f, "
	       "\"p99_usec\": %.0f}\n",
		samples.count, (double)samples.count / seconds, busy * 1e6 / (double)samples.count,
		(double)slept / (double)samples.count,
		canfs_samples_percentile(&samples, 99) * 1e6);
	canfs_samples_free(&samples);
	return 0;
}
