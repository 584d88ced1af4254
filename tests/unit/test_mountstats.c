// SPDX-License-Identifier: LGPL-3.0-or-later
/* /proc/self/mountstats: counters of the right mount, and nothing from torn text. */
#include "tests/unit/fake_root.h"

#include "client-agent/kernel/mountstats.h"
#include "client-agent/kernel/procfs.h"

#define HEAD(source, point) "device " source " mounted on " point " with fstype nfs statvers=1.1\n"
#define BODY(w)                                                                                    \
	"\topts:\trw,vers=3,rsize=1048576\n"                                                       \
	"\tage:\t1234\n"                                                                           \
	"\tcaps:\tcaps=0x3fe7,wtmult=4096,dtsize=1048576,bsize=0,namlen=255\n"                     \
	"\tsec:\tflavor=1,pseudoflavor=1\n"                                                        \
	"\tevents:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27\n"     \
	"\tbytes:\t10 20 30 40 50 60 70 80\n"                                                      \
	"\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)\n"                                        \
	"\txprt:\ttcp 0 1 1 0 12 700 700 0 1000 0 16 200 300\n"                                    \
	"\tper-op statistics\n"                                                                    \
	"\t        NULL: 1 1 0 44 24 0 0 1 0\n"                                                    \
	"\t        READ: 100 101 1 2000 3000 4 500 600 7\n"                                        \
	"\t       WRITE: " w "\n"                                                                  \
	"\t      COMMIT: 5 5 0 600 700 1 900 901 0\n"                                              \
	"\t READDIRPLUS: 1 1 0 1 1 1 1 1 0\n"

static const char text[] =
	"device sysfs mounted on /sys with fstype sysfs\n" HEAD("srv:/export", "/mnt/a") BODY(
		"11 12 0 1300 1400 15 16 17 0") "device tmpfs mounted on /tmp with fstype tmpfs\n"
						"device srv:/b mounted on /mnt/with\\040space with "
						"fstype nfs4 statvers=1.1\n" BODY(
							"21 22 0 2300 2400 25 26 27 0");

static struct canfs_mounts *mounts(void)
{
	static struct canfs_mounts some;

	canfs_mounts_parse("1 1 0:41 / /mnt/a rw - nfs srv:/export rw,vers=3\n"
			   "2 1 0:42 / /mnt/with\\040space rw - nfs4 srv:/b rw,vers=4.1\n"
			   "3 1 0:43 / /mnt/c rw - nfs srv:/c rw,vers=3\n",
		&some);
	assert_int_equal(some.n, 3);
	return &some;
}

static void test_counters(void **state)
{
	struct canfs_mountstats stats[3];

	(void)state;
	assert_int_equal(canfs_mountstats_parse(text, mounts(), stats), 0);
	assert_true(stats[0].found);
	assert_int_equal(stats[0].age_sec, 1234);
	assert_int_equal(stats[0].normal_read_bytes, 10);
	assert_int_equal(stats[0].normal_write_bytes, 20);
	assert_int_equal(stats[0].direct_read_bytes, 30);
	assert_int_equal(stats[0].direct_write_bytes, 40);
	assert_int_equal(stats[0].server_read_bytes, 50);
	assert_int_equal(stats[0].server_write_bytes, 60);
	assert_int_equal(stats[0].begun_write_bytes, 80 * (uint64_t)sysconf(_SC_PAGESIZE));
	assert_int_equal(stats[0].xprt.connections, 1);
	assert_int_equal(stats[0].xprt.sends, 700);
	assert_int_equal(stats[0].xprt.backlog, 0);
	assert_int_equal(stats[0].xprt.max_slots, 16);
	assert_int_equal(stats[0].read.ops, 100);
	assert_int_equal(stats[0].read.transmissions, 101);
	assert_int_equal(stats[0].read.timeouts, 1);
	assert_int_equal(stats[0].read.received_bytes, 3000);
	assert_int_equal(stats[0].read.errors, 7);
	assert_int_equal(stats[0].write.ops, 11);
	assert_int_equal(stats[0].write.sent_bytes, 1300);
	assert_int_equal(stats[0].commit.rtt_msec, 900);
	assert_int_equal(stats[0].commit.execute_msec, 901);
	assert_true(stats[1].found);
	assert_int_equal(stats[1].write.ops, 21);
	assert_false(stats[2].found);
	assert_int_equal(stats[2].write.ops, 0);
}

static void test_connections_are_summed(void **state)
{
	struct canfs_mountstats stats[3];

	(void)state;
	canfs_mountstats_parse(
		HEAD("srv:/export",
			"/mnt/a") "\txprt:\ttcp 0 1 1 0 12 600 600 0 1000 30 16 200 300\n"
				  "\txprt:\ttcp 0 1 1 0 12 400 400 0 1000 70 32 200 300\n"
				  "\txprt:\ttcp 0 1 1\n"
				  "\txprt:\tudp 703 1 9 9 0 9 9 2 0 0\n"
				  "\txprt:\trdma 1\n" BODY("1 1 0 1 1 1 1 1 0"),
		mounts(), stats);
	assert_true(stats[0].found);
	assert_int_equal(stats[0].xprt.connections, 3); /* with the one of BODY */
	assert_int_equal(stats[0].xprt.sends, 1700);
	assert_int_equal(stats[0].xprt.backlog, 100);
	assert_int_equal(stats[0].xprt.max_slots, 32);
}

static void test_stacked_mounts_in_their_order(void **state)
{
	static struct canfs_mounts stacked;
	struct canfs_mountstats stats[2];

	(void)state;
	canfs_mounts_parse("1 1 0:41 / /m rw - nfs s:/x rw,vers=3\n"
			   "2 1 0:42 / /m rw - nfs s:/x rw,vers=3\n",
		&stacked);
	canfs_mountstats_parse(HEAD("s:/x", "/m") BODY("1 1 0 1 1 1 1 1 0") HEAD("s:/x", "/m")
				       BODY("2 1 0 1 1 1 1 1 0"),
		&stacked, stats);
	assert_int_equal(stats[0].write.ops, 1);
	assert_int_equal(stats[1].write.ops, 2);
}

static void test_malformed_lines(void **state)
{
	struct canfs_mountstats stats[3];

	(void)state;
	assert_int_equal(canfs_mountstats_parse(HEAD("srv:/export", "/mnt/a")
							BODY("11 x 0 1300 1400 15 16 17 0"),
				 mounts(), stats),
		1);
	assert_false(stats[0].found);
	assert_int_equal(stats[0].read.ops, 0);
	assert_int_equal(canfs_mountstats_parse(
				 HEAD("srv:/export", "/mnt/a") BODY("11 12 0"), mounts(), stats),
		1);
	assert_int_equal(canfs_mountstats_parse(HEAD("srv:/export", "/mnt/a") BODY(
							"99999999999999999999 1 1 1 1 1 1 1 1"),
				 mounts(), stats),
		1);
	/* statvers 1.0: no errors column */
	assert_int_equal(
		canfs_mountstats_parse(
			HEAD("srv:/export", "/mnt/a") BODY("1 2 3 4 5 6 7 8"), mounts(), stats),
		0);
	assert_true(stats[0].found);
}

/* Cut anywhere: a mount is found with all its counters or not at all. */
static void test_torn_text(void **state)
{
	struct canfs_mountstats whole[3], stats[3];
	char cut[sizeof(text)];

	(void)state;
	canfs_mountstats_parse(text, mounts(), whole);
	for (size_t len = 0; len < sizeof(text); len++) {
		memcpy(cut, text, len);
		cut[len] = '\0';
		canfs_mountstats_parse(cut, mounts(), stats);
		for (int i = 0; i < 3; i++)
			assert_true(!stats[i].found ||
				    memcmp(&stats[i], &whole[i], sizeof(stats[i])) == 0);
	}
}

static void test_file(void **state)
{
	struct canfs_mountstats stats[3];
	struct fake_root root;

	(void)state;
	fake_root_make(&root);
	assert_int_equal(canfs_mountstats_read(root.path, mounts(), stats), -ENOENT);
	fake_root_write(&root, "/proc/self/mountstats", text);
	assert_int_equal(canfs_mountstats_read(root.path, mounts(), stats), 0);
	assert_true(stats[1].found);
	fake_root_remove(&root);
}

/* More than a thousand NFSv4 mounts: megabytes, of which each line counts, across all reads. */
static void test_long_file(void **state)
{
	static const char v4[] =
		"\t  TEST_STATEID: 0 0 0 0 0 0 0 0 0\n\t    FREE_STATEID: 0 0 0 0 0 0 0 0 0\n";
	struct canfs_mountstats stats[3];
	struct fake_root root;
	char path[PATH_MAX];

	(void)state;
	fake_root_make(&root);
	fake_root_write(&root, "/proc/self/mountstats", "");
	fake_root_full(&root, "/proc/self/mountstats", path);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	for (int i = 0; i < 1500; i++) {
		fprintf(file, "device srv:/v4 mounted on /m%d with fstype nfs4 statvers=1.1\n", i);
		for (int k = 0; k < 40; k++)
			fputs(v4, file);
	}
	for (int k = 0; k < 2 * CANFS_PROC_LINE_MAX; k++)
		fputc('x', file); /* and a line that fits nowhere */
	fprintf(file, "\n%s", text);
	assert_true(ftell(file) > 4 << 20);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(canfs_mountstats_read(root.path, mounts(), stats), 0);
	assert_true(stats[0].found && stats[0].write.ops == 11);
	assert_true(stats[1].found && stats[1].write.ops == 21);
	assert_false(stats[2].found);
	fake_root_remove(&root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_connections_are_summed),
		cmocka_unit_test(test_stacked_mounts_in_their_order),
		cmocka_unit_test(test_malformed_lines),
		cmocka_unit_test(test_torn_text),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_long_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
