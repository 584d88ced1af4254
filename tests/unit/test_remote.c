// SPDX-License-Identifier: LGPL-3.0-or-later
/* What is read ahead through an FSAL below: the test's own here, which answers when it is told. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/clock.h"
#include "ganesha-fsal/read/prefetch/remote.h"
#include "tests/unit/gate.h"

#define KIB  ((uint32_t)1024)
#define MIB  (1024 * KIB)
#define NAME 7u

static struct canfs_prefetcher *prefetcher;
static struct canfs_remote *remote;

static bool hangs;    /* behind the gate, all of these */
static int64_t fails; /* -errno, 0: does not */
static uint64_t file_bytes;
static unsigned int added, begun, ended, kept;

static int64_t read_below(struct canfs_remote_piece *piece, void *buffer)
{
	uint64_t left = piece->offset < file_bytes ? file_bytes - piece->offset : 0;
	uint64_t bytes = left < piece->bytes ? left : piece->bytes;
	int64_t result;

	pthread_mutex_lock(&gate);
	((char *)buffer)[piece->bytes - 1] = 1;
	begun++;
	pthread_cond_broadcast(&moved);
	while (hangs)
		pthread_cond_wait(&moved, &gate);
	piece->at_end = left <= piece->bytes;
	result = fails < 0 ? fails : (int64_t)bytes;
	pthread_mutex_unlock(&gate);
	return result;
}

static void end(struct canfs_remote_piece *piece, bool keeps_object)
{
	free(piece);
	pthread_mutex_lock(&gate);
	ended++;
	kept += keeps_object;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&gate);
}

static bool add_of(struct canfs_remote *to, const void *object, uint64_t offset, uint32_t bytes,
	uint32_t cursor)
{
	struct canfs_remote_piece *piece = calloc(1, sizeof(*piece));
	bool taken;

	assert_non_null(piece);
	piece->object = object;
	piece->file = NAME;
	piece->offset = offset;
	piece->bytes = bytes;
	piece->cursor = cursor;
	taken = canfs_remote_add(to, piece);
	if (!taken)
		free(piece);
	added += taken;
	return taken;
}

static bool add(uint64_t offset)
{
	return add_of(remote, &prefetcher, offset, KIB, 0);
}

static struct canfs_device_view seen;
static void see(const struct canfs_device_view *view, void *arg)
{
	(void)arg;
	seen = *view;
}

static struct canfs_device_view view(void)
{
	canfs_prefetcher_visit(prefetcher, see, NULL);
	return seen;
}

static struct canfs_remote *open_one(void)
{
	const struct canfs_remote_config config = {
		.files = 64, .name = "/far", .read = read_below, .end = end
	};
	struct canfs_remote *one = NULL;

	assert_int_equal(canfs_remote_open(&one, canfs_prefetcher_remotes(prefetcher), &config), 0);
	return one;
}

static int set_up(void **state)
{
	const struct canfs_prefetcher_config config = { .files = 64, .open_max = 16, .root = "" };

	(void)state;
	added = begun = ended = kept = 0;
	hangs = false;
	fails = 0;
	file_bytes = 64 * (uint64_t)MIB;
	assert_int_equal(canfs_prefetcher_new(&prefetcher, &config), 0);
	remote = open_one();
	assert_int_equal(canfs_prefetcher_open_count(prefetcher), 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	canfs_remote_drain(remote);
	assert_int_equal(canfs_prefetcher_open_count(prefetcher), 0);
	canfs_prefetcher_free(prefetcher);
	canfs_remote_close(remote); /* drained: may be later */
	return 0;
}

/* A client reads; what is advised is read. How much that was. */
static uint64_t client_reads(uint64_t offset)
{
	struct canfs_advice advice[CANFS_ADVICE_MAX];
	size_t count = canfs_remote_advise(remote, NAME, offset, 64 * KIB, 1, advice);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		for (uint64_t at = 0; at < advice[i].bytes; at += MIB) {
			uint64_t left = advice[i].bytes - at;

			assert_true(add_of(remote, &prefetcher, advice[i].offset + at,
				left < MIB ? (uint32_t)left : MIB, advice[i].cursor));
			gate_await(&ended, added);
		}
		sum += advice[i].bytes;
	}
	return sum;
}

static void test_stream_to_the_end(void **state)
{
	uint64_t advised = 0, beyond;

	(void)state;
	for (uint64_t at = 0; at < file_bytes; at += 64 * KIB)
		advised += client_reads(at);
	assert_true(advised > file_bytes / 2);
	canfs_remote_drain(remote); /* all is booked */
	beyond = advised > file_bytes ? advised - file_bytes : 0;
	assert_true(beyond <= 8 * (uint64_t)MIB); /* what was advised before the end was known */
}

/* What was fetched is used, and the end is known: nothing beyond it is ever asked for again. */
static void test_end_is_known(void **state)
{
	(void)state;
	file_bytes = 4 * (uint64_t)MIB;
	assert_true(add_of(remote, &prefetcher, file_bytes - KIB, MIB, 0));
	gate_await(&ended, 1);
	for (uint64_t at = 0; at < file_bytes; at += 64 * KIB)
		(void)client_reads(at);
	assert_int_equal(view().files.fetched_bytes <= file_bytes, 1);
	assert_true(view().files.used_bytes > 0);
	assert_int_equal(view().files.wasted_bytes, 0);
	/* It grows: a reader there is followed again. */
	file_bytes *= 4;
	for (uint64_t at = 4 * (uint64_t)MIB; at < file_bytes; at += 64 * KIB)
		(void)client_reads(at);
	assert_true(view().files.fetched_bytes > 6 * (uint64_t)MIB);
}

static void test_bounded(void **state)
{
	struct canfs_advice advice[CANFS_ADVICE_MAX];

	(void)state;
	gate_set(&hangs, true);
	for (unsigned int i = 0; i < CANFS_REMOTE_THREADS; i++)
		assert_true(add(i * MIB));
	gate_await(&begun, CANFS_REMOTE_THREADS);
	for (unsigned int i = 0; i < CANFS_REMOTE_WAITING_MAX; i++)
		assert_true(add((CANFS_REMOTE_THREADS + i) * (uint64_t)MIB));
	assert_false(add(1000 * (uint64_t)MIB));
	assert_int_equal(view().engine.in_kernel, CANFS_REMOTE_THREADS);
	assert_int_equal(view().engine.waiting, CANFS_REMOTE_WAITING_MAX);
	assert_int_equal(view().engine.refused, 1);
	/* A client has come to one of them, which makes room. */
	(void)canfs_remote_advise(remote, NAME, 10 * (uint64_t)MIB, 64 * KIB, 1, advice);
	assert_int_equal(view().engine.waiting, CANFS_REMOTE_WAITING_MAX - 1);
	assert_true(add(1000 * (uint64_t)MIB));
	/* The file is truncated. */
	canfs_remote_changed(remote, NAME, 20 * (uint64_t)MIB);
	assert_int_equal(view().engine.waiting, 20 - CANFS_REMOTE_THREADS - 1);
	gate_set(&hangs, false);
	gate_await(&ended, CANFS_REMOTE_THREADS + CANFS_REMOTE_WAITING_MAX + 1);
	assert_int_equal(begun, 20 - 1);
}

/* A read of an object that goes is the last to have it, in whatever export. */
static void test_object_goes(void **state)
{
	struct canfs_remote *other = open_one();
	int here, there;

	(void)state;
	assert_false(canfs_remote_forget(canfs_prefetcher_remotes(prefetcher), &here));
	gate_set(&hangs, true);
	assert_true(add_of(remote, &here, 0, KIB, 0));
	assert_true(add_of(other, &here, MIB, KIB, 0));
	gate_await(&begun, 2);
	assert_false(canfs_remote_forget(canfs_prefetcher_remotes(prefetcher), &there));
	assert_true(canfs_remote_forget(canfs_prefetcher_remotes(prefetcher), &here));
	gate_set(&hangs, false);
	gate_await(&ended, 2);
	assert_int_equal(kept, 1);
	assert_false(canfs_remote_forget(canfs_prefetcher_remotes(prefetcher), &here));
	canfs_remote_close(other);
}

static void *let_go(void *arg)
{
	const struct timespec until = canfs_in_msec(60000);

	(void)arg;
	canfs_remote_let_go(canfs_prefetcher_remotes(prefetcher), NAME, &until);
	assert_int_equal(view().engine.in_kernel, 0);
	return NULL;
}

/* Reads of a deleted file have ended before the reply; queued ones are dropped. */
static void test_file_is_deleted(void **state)
{
	const struct timespec now = canfs_in_msec(0);
	pthread_t thread;

	(void)state;
	gate_set(&hangs, true);
	for (unsigned int i = 0; i < CANFS_REMOTE_THREADS + 4; i++)
		assert_true(add(i * MIB));
	gate_await(&begun, CANFS_REMOTE_THREADS);
	canfs_remote_let_go(canfs_prefetcher_remotes(prefetcher), NAME + 1, &now);
	assert_int_equal(view().engine.waiting, 4);
	canfs_remote_let_go(canfs_prefetcher_remotes(prefetcher), NAME, &now);
	assert_int_equal(view().engine.waiting, 0);
	assert_int_equal(pthread_create(&thread, NULL, let_go, NULL), 0);
	gate_set(&hangs, false);
	assert_int_equal(pthread_join(thread, NULL), 0);
	gate_await(&ended, CANFS_REMOTE_THREADS + 4);
	assert_int_equal(begun, CANFS_REMOTE_THREADS);
}

static void test_what_waits_has_no_object(void **state)
{
	int object;

	(void)state;
	gate_set(&hangs, true);
	for (unsigned int i = 0; i < CANFS_REMOTE_THREADS; i++)
		assert_true(add(i * MIB));
	gate_await(&begun, CANFS_REMOTE_THREADS);
	assert_true(add_of(remote, &object, 0, KIB, 0));
	assert_false(canfs_remote_forget(canfs_prefetcher_remotes(prefetcher), &object));
	gate_set(&hangs, false);
	gate_await(&ended, CANFS_REMOTE_THREADS + 1);
	assert_int_equal(begun, CANFS_REMOTE_THREADS);
	assert_int_equal(kept, 0);
}

static void *open_the_gate(void *arg)
{
	gate_await(&begun, CANFS_REMOTE_THREADS);
	gate_set(&hangs, false);
	return arg;
}

static void test_drain(void **state)
{
	pthread_t opener;

	(void)state;
	gate_set(&hangs, true);
	for (unsigned int i = 0; i < 3 * CANFS_REMOTE_THREADS; i++)
		assert_true(add(i * MIB));
	gate_await(&begun, CANFS_REMOTE_THREADS);
	assert_int_equal(pthread_create(&opener, NULL, open_the_gate, NULL), 0);
	canfs_remote_drain(remote);
	pthread_join(opener, NULL);
	assert_int_equal(ended, 3 * CANFS_REMOTE_THREADS);
	assert_false(add(0));
	assert_int_equal(client_reads(0), 0);
}

/* The drain has a timeout: what is left behind ends when it can. */
static void test_drain_gives_up(void **state)
{
	const struct canfs_prefetcher_config short_timeout = {
		.files = 64, .open_max = 16, .drain_timeout_msec = 20, .root = ""
	};

	tear_down(state);
	assert_int_equal(canfs_prefetcher_new(&prefetcher, &short_timeout), 0);
	remote = open_one();
	gate_set(&hangs, true);
	for (unsigned int i = 0; i < 2 * CANFS_REMOTE_THREADS; i++)
		assert_true(add(i * MIB));
	gate_await(&begun, CANFS_REMOTE_THREADS);
	assert_false(canfs_remote_drain(remote));
	assert_false(canfs_remote_drain(remote));
	assert_int_equal(canfs_prefetcher_open_count(prefetcher), 1);
	canfs_remote_close(remote); /* it stays */
	assert_int_equal(ended, 0);
	gate_set(&hangs, false);
	gate_await(&ended, 2 * CANFS_REMOTE_THREADS);
	assert_int_equal(begun, CANFS_REMOTE_THREADS);
	while (!canfs_remote_drain(remote))
		sched_yield();
}

/* An FSAL that fails is asked less and less, and again as before once it answers. */
static void test_failures(void **state)
{
	unsigned int failed;

	(void)state;
	fails = -EIO;
	for (uint64_t at = 0; at < 32 * (uint64_t)MIB; at += 64 * KIB)
		(void)client_reads(at);
	failed = begun;
	assert_true(failed > 0 && failed < 64);
	assert_int_equal(view().engine.failed, failed);
	assert_int_equal(view().files.fetched_bytes, 0);
	fails = 0;
	assert_true(add(0));
	gate_await(&ended, added);
	for (uint64_t at = 32 * (uint64_t)MIB; at < file_bytes; at += 64 * KIB)
		(void)client_reads(at);
	assert_true(view().files.used_bytes > 16 * (uint64_t)MIB);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_stream_to_the_end),
		TEST(test_end_is_known),
		TEST(test_bounded),
		TEST(test_object_goes),
		TEST(test_file_is_deleted),
		TEST(test_what_waits_has_no_object),
		TEST(test_drain),
		TEST(test_drain_gives_up),
		TEST(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
