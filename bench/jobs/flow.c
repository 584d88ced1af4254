// SPDX-License-Identifier: LGPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <unistd.h>

#include "bench/jobs/flow_kinds.h"
#include "bench/jobs/job.h"

uint32_t canfs_flow_steps(const struct canfs_flow_group *group)
{
	uint32_t steps = 0;

	while (group->step && group->step[steps].kind)
		steps++;
	return steps;
}

uint32_t canfs_flow_threads(const struct canfs_personality *personality)
{
	uint32_t threads = 0;

	for (int i = 0; i < CANFS_FLOW_GROUPS; i++)
		threads += personality->group[i].threads;
	return threads;
}

/* Index of the group's first thread among all threads. */
uint32_t canfs_flow_first(const struct canfs_personality *personality, uint32_t group)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < group; i++)
		first += personality->group[i].threads;
	return first;
}

uint32_t canfs_flow_scaled(
	const struct canfs_flow_run *run, const struct canfs_flow_step *step, uint32_t number)
{
	return step->scales ? (uint32_t)fmax(1, round(number * run->scale)) : number;
}

struct canfs_flow_stats canfs_flow_sum(
	const struct canfs_flow_run *run, uint32_t group, uint32_t step)
{
	uint32_t first = canfs_flow_first(run->personality, group);
	struct canfs_flow_stats sum = { 0 };

	for (uint32_t i = 0; i < run->personality->group[group].threads; i++) {
		const struct canfs_flow_stats *one =
			&run->shared->stats[(first + i) * CANFS_FLOW_STEPS + step];

		sum.ops += one->ops;
		sum.bytes += one->bytes;
		sum.total_ns += one->total_ns;
		if (one->max_ns > sum.max_ns)
			sum.max_ns = one->max_ns;
		for (int c = 0; c < CANFS_FLOW_CLASSES; c++)
			sum.histogram[c] += one->histogram[c];
	}
	return sum;
}

void canfs_flow_count(struct canfs_flow_stats *stats, uint64_t ns, uint64_t bytes)
{
	int bucket;

	stats->ops++;
	stats->bytes += bytes;
	stats->total_ns += ns;
	if (ns > stats->max_ns)
		stats->max_ns = ns;
	bucket = ns ? 64 - __builtin_clzll(ns) : 0;
	stats->histogram[bucket < CANFS_FLOW_CLASSES ? bucket : CANFS_FLOW_CLASSES - 1]++;
}

/* Sets how many unconsumed posts each thread of the group may have. */
static int set_highwater(const struct canfs_flow_run *run, uint32_t group, uint32_t highwater)
{
	uint32_t first = canfs_flow_first(run->personality, group);

	for (uint32_t i = 0; i < run->personality->group[group].threads; i++)
		if (semctl(run->semaphores, (int)(2 * (first + i) + 1), SETVAL, (int)highwater) < 0)
			return -errno;
	return 0;
}

static int make_semaphores(struct canfs_flow_run *run)
{
	const struct canfs_personality *p = run->personality;
	int ret = 0;

	run->semaphores = semget(IPC_PRIVATE, (int)(2 * canfs_flow_threads(p)), 0600);
	if (run->semaphores < 0)
		return -errno;
	for (uint32_t g = 0; g < CANFS_FLOW_GROUPS; g++)
		for (uint32_t i = 0; i < canfs_flow_steps(&p->group[g]) && !ret; i++) {
			const struct canfs_flow_step *step = &p->group[g].step[i];

			if (step->kind == &canfs_block)
				ret = set_highwater(
					run, g, canfs_flow_scaled(run, step, step->highwater));
		}
	return ret;
}

static size_t shared_bytes(const struct canfs_flow_run *run)
{
	return sizeof(*run->shared) + canfs_flow_threads(run->personality) * CANFS_FLOW_STEPS *
					      sizeof(struct canfs_flow_stats);
}

int canfs_flow_prepare(struct canfs_flow_run *run)
{
	run->semaphores = -1;
	run->shared = mmap(
		NULL, shared_bytes(run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->shared == MAP_FAILED) {
		run->shared = NULL;
		return -errno;
	}
	return make_semaphores(run);
}

void canfs_flow_release(struct canfs_flow_run *run)
{
	if (run->semaphores >= 0)
		semctl(run->semaphores, 0, IPC_RMID);
	if (run->shared)
		munmap(run->shared, shared_bytes(run));
	run->shared = NULL;
}

static void fail(struct canfs_flow_run *run, const struct canfs_flow_step *step, int ret)
{
	int none = 0;

	if (atomic_load(&run->shared->stop))
		return; /* the semaphores are gone */
	if (atomic_compare_exchange_strong(&run->shared->failed, &none, ret))
		run->shared->failed_in = step->name;
}

static int go_through(struct canfs_flow_thread *t, const struct canfs_flow_step *step)
{
	int ret = 0;

	for (; step->kind && !ret; step++) {
		uint32_t times = step->times ? canfs_flow_scaled(t->run, step, step->times) : 1;

		for (uint32_t i = 0; i < times && !ret; i++) {
			if (atomic_load_explicit(&t->run->shared->stop, memory_order_relaxed))
				return -ECANCELED;
			ret = step->kind->run(t, step);
		}
		if (ret)
			fail(t->run, step, ret);
	}
	return ret;
}

static void *live(void *arg)
{
	struct canfs_flow_thread *t = arg;
	struct canfs_flow_run *run = t->run;
	uint64_t loops = t->group == 0 ? run->loops : 0;
	int ret = 0;

	for (uint64_t i = 0; !ret && (loops == 0 || i < loops); i++)
		ret = go_through(t, run->personality->group[t->group].step);
	if (t->group == 0)
		atomic_fetch_add(&run->shared->done, 1);
	return NULL;
}

/*
 * Raises the limit of open files to what the threads of a group may need. Only root may exceed the
 * hard limit.
 */
static void raise_limit(uint32_t threads)
{
	struct rlimit limit;
	rlim_t needed = (rlim_t)(threads + 1) * CANFS_FLOW_SLOTS;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= needed)
		return;
	if (limit.rlim_max < needed)
		setrlimit(RLIMIT_NOFILE, &(struct rlimit) { needed, needed });
	else
		setrlimit(RLIMIT_NOFILE, &(struct rlimit) { needed, limit.rlim_max });
}

static int set_up(
	struct canfs_flow_thread *t, struct canfs_flow_run *run, uint32_t group, uint32_t number)
{
	*t = (struct canfs_flow_thread) { .run = run,
		.group = group,
		.random = run->seed ^ ((uint64_t)(number + 1) << 32),
		.semaphore = 2 * number,
		.stats = &run->shared->stats[(size_t)number * CANFS_FLOW_STEPS],
		.buffer = calloc(1, CANFS_FLOW_BUFFER_BYTES) };
	for (int i = 0; i < CANFS_FLOW_SLOTS; i++)
		t->slot[i].fd = -1;
	return t->buffer ? 0 : -ENOMEM;
}

static void clean_up(struct canfs_flow_thread *t)
{
	for (int i = 0; i < CANFS_FLOW_SLOTS; i++)
		if (t->slot[i].fd >= 0)
			close(t->slot[i].fd);
	free(t->buffer);
}

int canfs_flow_work(struct canfs_flow_run *run, uint32_t group)
{
	uint32_t threads = run->personality->group[group].threads, started = 0;
	uint32_t first = canfs_flow_first(run->personality, group);
	struct canfs_flow_thread *thread = calloc(threads, sizeof(*thread));
	int ret = thread ? 0 : -ENOMEM;

	raise_limit(threads);
	for (; started < threads && !ret; started++) {
		struct canfs_flow_thread *t = &thread[started];

		ret = set_up(t, run, group, first + started);
		if (!ret)
			ret = -pthread_create(&t->id, NULL, live, t);
		if (ret) {
			free(t->buffer);
			break;
		}
	}
	for (uint32_t i = 0; i < started; i++) {
		pthread_join(thread[i].id, NULL);
		clean_up(&thread[i]);
	}
	free(thread);
	return ret;
}
