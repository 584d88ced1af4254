// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Figure 3 of Ellard & Seltzer 2003: eight readers begin at the same time, each of a file of 32 MB of its own, under
 * each policy, on the modelled disk and in its time. Fast and unfair, or fair and slow; with large reads ahead, fair and fast.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "bench/disk/drive.h"
#include "ganesha-fsal/read/scheduler/queue.h"
#include "ganesha-fsal/read/scheduler/sorted.h"

#define KIB            ((uint64_t)1 << 10)
#define MIB            ((uint64_t)1 << 20)
#define CAPACITY_BYTES (32768 * MIB)
#define READERS        8u
#define OUTSTANDING    16
#define RANDOM_BYTES   (8 * KIB)

struct setting {
	const char *policy;
	uint32_t request_bytes;
	unsigned int outstanding; /* of each reader */
	unsigned int depth;       /* in the kernel */
	uint64_t file_bytes;
	bool random_reader;
};

struct result {
	double mb_per_sec, last_over_first;
	double random_mean_msec, random_max_msec;
};

struct request {
	struct canfs_fetch fetch;
	double added_usec, end_usec;
	bool in_flight;
};

struct simulation {
	struct setting setting;
	struct canfs_drive drive;
	struct canfs_queue queue;
	double now_usec;
	struct request request[READERS + 1][OUTSTANDING];
	uint64_t next[READERS], done[READERS];
	double finished_usec[READERS];
	uint64_t seed;
	double random_sum_usec, random_max_usec;
	unsigned int random_reads;
};

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void add(struct simulation *s, struct request *request, uint64_t address)
{
	request->added_usec = s->now_usec;
	assert_true(canfs_queue_enter(&s->queue, &request->fetch, (uint64_t)(s->now_usec * 1000)));
	canfs_queue_place(&s->queue, &request->fetch, address);
}

static void ask_next(struct simulation *s, unsigned int reader, struct request *request)
{
	if (s->next[reader] == s->setting.file_bytes)
		return;
	request->fetch = (struct canfs_fetch) { .kind = CANFS_FETCH_PREFETCH,
		.file = reader,
		.stream = reader,
		.offset = s->next[reader],
		.bytes = s->setting.request_bytes };
	s->next[reader] += s->setting.request_bytes;
	add(s, request, reader * 1024 * MIB + request->fetch.offset);
}

static void ask_random(struct simulation *s)
{
	uint64_t offset = next_random(&s->seed) % (1024 * MIB / RANDOM_BYTES) * RANDOM_BYTES;
	struct request *request = &s->request[READERS][0];

	request->fetch = (struct canfs_fetch) { .kind = CANFS_FETCH_DEMAND,
		.file = READERS,
		.stream = READERS,
		.offset = offset,
		.bytes = RANDOM_BYTES };
	add(s, request, 8 * 1024 * MIB + offset);
}

static void dispatch(struct simulation *s)
{
	struct canfs_fetch *fetch;
	struct request *request;

	while ((fetch = canfs_queue_take(&s->queue, CANFS_FETCH_DEMAND)) ||
		(s->queue.in_kernel[CANFS_FETCH_PREFETCH] < s->setting.depth &&
			(fetch = canfs_queue_take(&s->queue, CANFS_FETCH_PREFETCH)))) {
		request = (struct request *)fetch;
		request->in_flight = true;
		request->end_usec = canfs_drive_read(
			&s->drive, fetch->address, canfs_fetch_own_bytes(fetch), s->now_usec);
	}
}

static struct request *earliest(struct simulation *s)
{
	struct request *request = &s->request[0][0], *first = NULL;

	for (size_t i = 0; i < sizeof(s->request) / sizeof(*request); i++) {
		if (request[i].in_flight && (!first || request[i].end_usec < first->end_usec))
			first = &request[i];
	}
	return first;
}

static void finish(struct simulation *s, struct request *request)
{
	struct canfs_fetch_list finished = { 0 };
	unsigned int reader = request->fetch.stream;
	double wait_usec;

	request->in_flight = false;
	s->now_usec = request->end_usec;
	canfs_queue_finish(&s->queue, &request->fetch, 0, &finished);
	assert_ptr_equal(finished.first, &request->fetch);
	if (reader == READERS) {
		wait_usec = s->now_usec - request->added_usec;
		s->random_reads++;
		s->random_sum_usec += wait_usec;
		s->random_max_usec =
			wait_usec > s->random_max_usec ? wait_usec : s->random_max_usec;
		ask_random(s);
		return;
	}
	s->done[reader] += request->fetch.bytes;
	s->finished_usec[reader] = s->now_usec;
	ask_next(s, reader, request);
}

static bool all_finished(const struct simulation *s)
{
	for (unsigned int i = 0; i < READERS; i++) {
		if (s->done[i] < s->setting.file_bytes)
			return false;
	}
	return true;
}

/* What the random reader has in flight. */
static void drain(struct simulation *s)
{
	struct canfs_fetch_list finished = { 0 };
	struct canfs_fetch *fetch;

	canfs_queue_cancel_all(&s->queue, &finished);
	for (struct request *left; (left = earliest(s)); left->in_flight = false) {
		fetch = &left->fetch;
		canfs_queue_finish(&s->queue, fetch, 0, &finished);
	}
}

static struct result run(struct setting setting)
{
	struct simulation *s = calloc(1, sizeof(*s));
	double first, last;
	struct result result;

	assert_non_null(s);
	s->setting = setting;
	canfs_drive_init(&s->drive, CAPACITY_BYTES);
	assert_int_equal(
		canfs_queue_init(&s->queue,
			&(struct canfs_queue_config) { .policy = canfs_policy_named(setting.policy),
				.waiting_max = 1000 }),
		0);
	for (unsigned int i = 0; i < setting.outstanding; i++) {
		for (unsigned int reader = 0; reader < READERS; reader++)
			ask_next(s, reader, &s->request[reader][i]);
	}
	if (setting.random_reader)
		ask_random(s);
	while (!all_finished(s)) {
		dispatch(s);
		finish(s, earliest(s));
	}
	first = last = s->finished_usec[0];
	for (unsigned int i = 1; i < READERS; i++) {
		first = s->finished_usec[i] < first ? s->finished_usec[i] : first;
		last = s->finished_usec[i] > last ? s->finished_usec[i] : last;
	}
	result = (struct result) { (double)(READERS * setting.file_bytes) / last, last / first,
		s->random_sum_usec / s->random_reads / 1000, s->random_max_usec / 1000 };
	print_message("%-8s %4u KiB x %u, depth %u: %5.1f MB/s, last/first %.2f", setting.policy,
		setting.request_bytes / 1024, setting.outstanding, setting.depth, result.mb_per_sec,
		result.last_over_first);
	if (setting.random_reader)
		print_message(", random reader %.0f ms, at most %.0f ms", result.random_mean_msec,
			result.random_max_msec);
	print_message("\n");
	drain(s);
	canfs_queue_destroy(&s->queue);
	free(s);
	return result;
}

static struct result run_policy(struct setting setting, const char *policy)
{
	setting.policy = policy;
	return run(setting);
}

static void assert_between(double value, double min, double max)
{
	if (!(value >= min && value <= max))
		fail_msg("%g is not in %g ... %g", value, min, max);
}

static void assert_elevator_is_fast_and_unfair(struct setting setting)
{
	struct result elevator = run_policy(setting, "elevator");

	assert_between(elevator.mb_per_sec, 160, 180);
	assert_between(elevator.last_over_first, 6, 9);
}

/* As in the paper: a little read-ahead, one request at a time. */
static void test_contrast_of_figure_3(void **state)
{
	struct setting setting = {
		.request_bytes = 128 * 1024, .outstanding = 4, .depth = 1, .file_bytes = 32 * MIB
	};
	struct result n_cscan = run_policy(setting, "n-cscan");
	struct result fifo = run_policy(setting, "fifo");

	(void)state;
	assert_elevator_is_fast_and_unfair(setting);
	/* "less than half the bandwidth delivered by the unfair elevator"; less than 20 % between first and last */
	assert_between(n_cscan.mb_per_sec, 40, 83);
	assert_between(n_cscan.last_over_first, 1, 1.2);
	assert_between(fifo.mb_per_sec, 10, 30);
}

/* As canfs does it: two units of 4 MB ahead. So much for each seek makes the fair policy fast, too. */
static void test_contrast_with_prefetch(void **state)
{
	struct setting setting = {
		.request_bytes = (uint32_t)MIB, .outstanding = 8, .depth = 4, .file_bytes = 32 * MIB
	};

	(void)state;
	for (; setting.file_bytes <= 128 * MIB; setting.file_bytes *= 4) {
		struct result n_cscan = run_policy(setting, "n-cscan");

		assert_elevator_is_fast_and_unfair(setting);
		assert_between(n_cscan.mb_per_sec, 0.85 * 166, 170);
		assert_between(n_cscan.last_over_first, 1, 1.35);
	}
}

/* A random reader beside them waits for no more than what the drive has, and leaves half of the disk to them. */
static void test_random_reader_beside_them(void **state)
{
	struct setting setting = { .request_bytes = (uint32_t)MIB,
		.outstanding = 8,
		.depth = 4,
		.file_bytes = 128 * MIB,
		.random_reader = true };
	const char *const policies[] = { "elevator", "n-cscan" };
	struct result result;

	(void)state;
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		result = run_policy(setting, policies[i]);
		assert_between(result.random_mean_msec, 10, 60);
		assert_between(result.random_max_msec, 10, 100);
		assert_between(result.mb_per_sec, 0.48 * 178, 178);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contrast_of_figure_3),
		cmocka_unit_test(test_contrast_with_prefetch),
		cmocka_unit_test(test_random_reader_beside_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
