// SPDX-License-Identifier: LGPL-3.0-or-later
/* The accelerator's helper threads: requests are served, the caller never waits. */
#include "tests/unit/fake_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>

#include "client-agent/actuators/accelerate.h"
#include "client-agent/actuators/flush.h"
#include "client-agent/bidders.h"

#define MIB (UINT64_C(1) << 20)

static const struct timespec moment = { .tv_nsec = 1000000 };

struct lab {
	struct fake_root root;
	struct canfs_accelerator *accelerator;
	struct canfs_mounts mounts;
};

static const char mountinfo[] = "25 1 0:41 / /mnt/a rw - nfs s:/a rw,vers=3\n"
				"26 1 0:41 / /mnt/b rw - nfs s:/a rw,vers=3\n"
				"27 1 0:42 / /mnt/c rw - nfs s:/c rw,vers=3\n";

static int setup(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	fake_root_make(&lab->root);
	canfs_mounts_parse(mountinfo, &lab->mounts);
	assert_int_equal(lab->mounts.n, 3);
	fake_writer_mounts(&lab->root, mountinfo);
	assert_int_equal(canfs_accelerator_new(&lab->accelerator, lab->root.path), 0);
	*state = lab;
	return 0;
}

static int teardown(void **state)
{
	struct lab *lab = *state;

	canfs_accelerator_free(lab->accelerator);
	fake_root_remove(&lab->root);
	free(lab);
	return 0;
}

static struct canfs_accelerate_status wait_for(
	struct lab *lab, unsigned int minor, uint64_t requests)
{
	struct canfs_accelerate_status status;

	/* The test's own time-out ends this if the helper never serves. */
	for (;;) {
		canfs_accelerate_status(lab->accelerator, (struct canfs_bdi) { 0, minor }, &status);
		if (status.requests >= requests)
			return status;
		nanosleep(&moment, NULL);
	}
}

static void test_request_is_served(void **state)
{
	struct lab *lab = *state;
	const struct canfs_mount *a = &lab->mounts.mount[0];

	fake_writer(&lab->root, 26); /* the other mount of the same super block */
	/* It was there before: what is written to it is sent only when it must leave. */
	assert_int_equal(canfs_accelerate(lab->accelerator, a->bdi, 4 * MIB, true), 0);
	struct canfs_accelerate_status status = wait_for(lab, 41, 1);
	assert_int_equal(status.files, 1);
	assert_int_equal(status.errors, 0);
	assert_true(status.asked_bytes <= 4 * MIB);
	if (!canfs_flush_exact())
		assert_int_equal(status.asked_bytes, 4 * MIB);
	assert_false(status.busy);
	assert_int_equal(canfs_accelerate(lab->accelerator, a->bdi, 4 * MIB, false), 0);
	wait_for(lab, 41, 2);
}

static void test_each_bdi_its_own(void **state)
{
	struct lab *lab = *state;

	fake_writer(&lab->root, 25);
	assert_int_equal(
		canfs_accelerate(lab->accelerator, lab->mounts.mount[2].bdi, MIB, false), 0);
	assert_int_equal(wait_for(lab, 42, 1).files, 0);
	assert_int_equal(
		canfs_accelerate(lab->accelerator, lab->mounts.mount[0].bdi, MIB, false), 0);
	assert_int_equal(wait_for(lab, 41, 1).files, 1);
}

/*
 * More BDIs than are remembered: those that were asked for lately stay, or each request would look for all writers
 * anew; later the oldest gives way.
 */
static void test_many_bdis(void **state)
{
	struct lab *lab = *state;
	struct canfs_mount mount = lab->mounts.mount[2];
	struct canfs_accelerate_status status;

	for (unsigned int i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++) {
		mount.bdi.minor = 100 + i;
		assert_int_equal(canfs_accelerate(lab->accelerator, mount.bdi, MIB, false), 0);
	}
	for (unsigned int i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++)
		wait_for(lab, 100 + i, 1);
	mount.bdi.minor = 99;
	while (canfs_accelerate(lab->accelerator, mount.bdi, MIB, false) == -ENOBUFS)
		nanosleep(&moment, NULL);
	wait_for(lab, 99, 1);
	canfs_accelerate_status(lab->accelerator, (struct canfs_bdi) { 0, 100 }, &status);
	assert_int_equal(status.requests, 0);
}

/* As many as bidders.h has are asked for again and again: each keeps its place. */
static void test_every_bidder_keeps_its_place(void **state)
{
	struct lab *lab = *state;
	struct canfs_bdi bdi = { 0, 0 };

	for (uint64_t round = 1; round <= 2; round++) {
		for (bdi.minor = 1; bdi.minor <= CANFS_BIDDERS_MAX; bdi.minor++) {
			assert_int_equal(canfs_accelerate(lab->accelerator, bdi, MIB, false), 0);
			assert_int_equal(wait_for(lab, bdi.minor, round).requests, round);
		}
	}
}

/* A process that opens the file hangs, as on a server that does not answer. Returns the process that has the lease. */
static int hang_open(const struct lab *lab)
{
	char full[PATH_MAX];

	fake_root_full(&lab->root, "/file", full);
	signal(SIGIO, SIG_IGN);
	int holder = open(full, O_RDONLY | O_CLOEXEC);
	assert_true(holder >= 0);
	if (fcntl(holder, F_SETLEASE, F_WRLCK) == 0)
		return holder;
	close(holder);
	return -1;
}

static int threads(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/self/task", &st), 0);
	return (int)st.st_nlink - 2;
}

/* A dead server's mount waits; another's does not, nor does the end. */
static void test_one_that_hangs_hinders_no_other(void **state)
{
	struct lab *lab = *state;
	struct canfs_bdi dead = lab->mounts.mount[0].bdi, alive = lab->mounts.mount[2].bdi;
	int before = threads(); /* sanitizers have their own */
	struct canfs_accelerate_status status;

	fake_writer(&lab->root, 25);
	int holder = hang_open(lab);
	if (holder < 0)
		skip(); /* no leases on this file system */
	assert_int_equal(canfs_accelerate(lab->accelerator, dead, MIB, false), 0);
	do {
		nanosleep(&moment, NULL);
		canfs_accelerate_status(lab->accelerator, dead, &status);
	} while (!status.busy_since_usec);
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(canfs_accelerate(lab->accelerator, alive, MIB, false), 0);
		assert_int_equal(wait_for(lab, alive.minor, i).busy_since_usec, 0);
	}
	canfs_accelerate_status(lab->accelerator, dead, &status);
	assert_true(status.busy);
	assert_int_equal(status.requests, 0);
	assert_int_equal(canfs_accelerate(lab->accelerator, dead, MIB, false), -EBUSY);
	canfs_accelerator_free(lab->accelerator); /* leaves the helper behind */
	lab->accelerator = NULL;
	assert_true(threads() > before);
	close(holder);
	while (threads() > before) /* it comes back, and cleans up */
		nanosleep(&moment, NULL);
}

static void test_never_asked(void **state)
{
	struct lab *lab = *state;
	struct canfs_accelerate_status status;

	canfs_accelerate_status(lab->accelerator, (struct canfs_bdi) { 0, 41 }, &status);
	assert_int_equal(status.requests, 0);
	assert_false(status.busy);
	canfs_accelerator_free(NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_request_is_served),
		TEST(test_each_bdi_its_own),
		TEST(test_many_bdis),
		TEST(test_every_bidder_keeps_its_place),
		TEST(test_one_that_hangs_hinders_no_other),
		TEST(test_never_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
