/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The accelerator's helper thread: requests are served, the caller never waits. */
#include "tests/unit/fake_root.h"

#include <fcntl.h>
#include <time.h>

#include "client-agent/accelerate.h"

#define MIB     (UINT64_C(1) << 20)
#define PROCESS "/proc/100/"

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
	fake_root_write(&lab->root, "/proc/100/mountinfo", mountinfo);
	fake_root_namespace(&lab->root, 100, "mnt:[1]");
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

/* A process writes a file on the mount with this ID. */
static void write_file(const struct lab *lab, int mount_id)
{
	static char data[8 * MIB];
	char path[PATH_MAX], full[PATH_MAX], text[128];
	struct stat st;

	memset(data, 'd', sizeof(data) - 1);
	fake_root_write(&lab->root, "/file", data);
	fake_root_full(&lab->root, "/file", full);
	assert_int_equal(stat(full, &st), 0);
	snprintf(text, sizeof(text), "pos:\t0\nflags:\t0%o\nmnt_id:\t%d\nino:\t%llu\n", O_RDWR,
		mount_id, (unsigned long long)st.st_ino);
	fake_root_write(&lab->root, PROCESS "fdinfo/3", text);
	fake_root_write(&lab->root, PROCESS "fd/x", "");
	fake_root_full(&lab->root, PROCESS "fd/3", path);
	assert_int_equal(symlink(full, path), 0);
}

static struct canfs_accelerate_status wait_for(
	struct lab *lab, unsigned int minor, uint64_t requests)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };
	struct canfs_accelerate_status status;

	/* The test's own time-out ends this if the helper never serves. */
	for (;;) {
		canfs_accelerate_status(lab->accelerator, (struct canfs_bdi) { 0, minor }, &status);
		if (status.requests >= requests)
			return status;
		nanosleep(&pause, NULL);
	}
}

static void test_request_is_served(void **state)
{
	struct lab *lab = *state;
	const struct canfs_mount *a = &lab->mounts.mount[0];

	write_file(lab, 26); /* the other mount of the same super block */
	assert_int_equal(canfs_accelerate(lab->accelerator, a->bdi, 4 * MIB), 0);
	struct canfs_accelerate_status status = wait_for(lab, 41, 1);
	assert_int_equal(status.files, 1);
	assert_int_equal(status.errors, 0);
	assert_true(status.asked_bytes <= 4 * MIB);
	if (!canfs_accelerate_exact(lab->accelerator))
		assert_int_equal(status.asked_bytes, 4 * MIB);
	assert_false(status.busy);
	assert_int_equal(canfs_accelerate(lab->accelerator, a->bdi, 4 * MIB), 0);
	wait_for(lab, 41, 2);
}

static void test_each_bdi_its_own(void **state)
{
	struct lab *lab = *state;

	write_file(lab, 25);
	assert_int_equal(canfs_accelerate(lab->accelerator, lab->mounts.mount[2].bdi, MIB), 0);
	assert_int_equal(wait_for(lab, 42, 1).files, 0);
	assert_int_equal(canfs_accelerate(lab->accelerator, lab->mounts.mount[0].bdi, MIB), 0);
	assert_int_equal(wait_for(lab, 41, 1).files, 1);
	assert_int_equal(canfs_accelerate(lab->accelerator, lab->mounts.mount[0].bdi, 0), -EINVAL);
}

/* More BDIs than are remembered: the oldest gives way. */
static void test_many_bdis(void **state)
{
	struct lab *lab = *state;
	struct canfs_mount mount = lab->mounts.mount[2];
	struct canfs_accelerate_status status;

	for (unsigned int i = 0; i < CANFS_ACCELERATE_BDIS_MAX + 3; i++) {
		mount.bdi.minor = 100 + i;
		assert_int_equal(canfs_accelerate(lab->accelerator, mount.bdi, MIB), 0);
		wait_for(lab, mount.bdi.minor, 1);
	}
	canfs_accelerate_status(lab->accelerator, (struct canfs_bdi) { 0, 100 }, &status);
	assert_int_equal(status.requests, 0);
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
		TEST(test_never_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
