// SPDX-License-Identifier: LGPL-3.0-or-later
/* /proc/self/mountstats: counters of the right mount, and nothing from torn text. */
#include "tests/unit/fake_root.h"

#include "client-agent/kernel/mountstats.h"
#include "common/file.h"

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

/* The counters of /mnt/a, with this READ line and bytes line. */
static const struct canfs_mountstats *counted(const char *bytes, const char *read)
{
	static struct canfs_mountstats stats[3];
	char section[1024];

	snprintf(section, sizeof(section),
		HEAD("srv:/export",
			"/mnt/a") "\tage:\t100\n\tbytes:\t%s\n\tREAD: %s\n"
				  "\tWRITE: 1 1 0 1 1 1 1 1\n\tCOMMIT: 1 1 0 1 1 1 1 1\n",
		bytes, read);
	canfs_mountstats_parse(section, mounts(), stats);
	return &stats[0];
}

/* From bug reports: sums of times that ran below 0, in NFSv3 and NFSv4. */
static void test_numbers_that_cannot_be(void **state)
{
	static const char bytes[] = "1 2 3 4 5 6 7 8";
	const struct canfs_mountstats *stats = counted(bytes,
		"2440299007 2440299000 0 511100701900 135283040252 18446743979242238815 1334197895 "
		"1556584543");

	(void)state;
	assert_true(stats->found);
	assert_int_equal(stats->read.ops, 2440299007);
	assert_int_equal(stats->read.queue_msec, 0);
	assert_int_equal(stats->read.rtt_msec, 1334197895);
	stats = counted(bytes, "9 -9 9223372036854775808 99999999999999999999 -1 7 -3 5 -5");
	assert_true(stats->found);
	assert_int_equal(stats->read.ops, 9);
	assert_int_equal(stats->read.transmissions, 0);
	assert_int_equal(stats->read.timeouts, 0);
	assert_int_equal(stats->read.sent_bytes, 0);
	assert_int_equal(stats->read.received_bytes, 0);
	assert_int_equal(stats->read.queue_msec, 7);
	assert_int_equal(stats->read.rtt_msec, 0);
	assert_int_equal(stats->read.execute_msec, 5);
	assert_int_equal(stats->read.errors, 0);
	assert_true(counted(bytes, "9223372036854775807 1 1 1 1 1 1 1")->found);
	/* The counters that everything depends on. */
	assert_false(counted(bytes, "9223372036854775808 1 1 1 1 1 1 1")->found);
	assert_false(counted(bytes, "-1 1 1 1 1 1 1 1")->found);
	assert_false(counted("1 -2 3 4 5 6 7 8", "1 1 1 1 1 1 1 1")->found);
	assert_false(counted("1 2 3 4 5 18446744073709551615 7 8", "1 1 1 1 1 1 1 1")->found);
	/* Pages read are unused; pages written may be missing. */
	stats = counted("1 2 3 4 5 6 -7 -8", "1 1 1 1 1 1 1 1");
	assert_true(stats->found);
	assert_int_equal(stats->begun_write_bytes, 0);
	assert_int_equal(
		counted("1 2 3 4 5 6 7 9223372036854775807", "1 1 1 1 1 1 1 1")->begun_write_bytes,
		0);
	assert_true(counted("1 2 3 4 5 6", "1 1 1 1 1 1 1 1")->found);
	assert_true(counted("1 2 3 4 5 6 7 8 9 10", "1 1 1 1 1 1 1 1 1 1 1")->found);
	assert_false(counted("1 2 3 4 5", "1 1 1 1 1 1 1 1")->found);
	/* No numbers. */
	assert_false(counted(bytes, "1 1 1 1 1 1 1 1x")->found);
	assert_false(counted(bytes, "1 - 1 1 1 1 1 1")->found);
	assert_false(counted(bytes, "1 +1 1 1 1 1 1 1")->found);
}

static void test_lines_that_come_twice(void **state)
{
	static const char good[] = "READ: 5 5 0 1 1 1 1 1 0\n", bad[] = "READ: 5 x\n";
	static const struct {
		const char *lines[2];
		bool found;
	} cases[] = { { { good, good }, true }, { { bad, good }, true }, { { good, bad }, false } };
	struct canfs_mountstats stats[3];
	char section[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(section, sizeof(section),
			HEAD("srv:/export", "/mnt/a") "\tbytes:\t9 9 9 9 9 9 9 9\n%s%s"
						      "\tbytes:\t1 2 3 4 5 6 7 8\n"
						      "\tWRITE: 1 1 0 1 1 1 1 1\n"
						      "\tCOMMIT: 1 1 0 1 1 1 1 1\n",
			cases[i].lines[0], cases[i].lines[1]);
		canfs_mountstats_parse(section, mounts(), stats);
		assert_int_equal(stats[0].found, cases[i].found);
		if (stats[0].found)
			assert_int_equal(stats[0].normal_read_bytes, 1);
	}
}

/* From the kernels of RHEL 5 and 6: no slots. */
static void test_connections_of_statvers_1_0(void **state)
{
	struct canfs_mountstats stats[3];

	(void)state;
	canfs_mountstats_parse(
		"device rpc_pipefs mounted on /var/lib/nfs/rpc_pipefs with fstype rpc_pipefs\n"
		"device srv:/export mounted on /mnt/a with fstype nfs statvers=1.0\n"
		"\tbytes:\t62141776651 75366231 0 0 6920924 75366231 12250 18501 \n"
		"\txprt:\ttcp 0 1 9821 0 0 403452500 403452499 1 659008617 7\n"
		"\txprt:\ttcp 0 1 1 0 0 -1 5 0 5 9223372036854775807\n"
		"\txprt:\ttcp 0 1 1 0 0 9 5 0 5 9223372036854775807 65536\n"
		"\tREAD: 1 1 0 1 1 1 1 1\n\tWRITE: 1 1 0 1 1 1 1 1\n"
		"\tCOMMIT: 1 1 0 1 1 1 1 1\n",
		mounts(), stats);
	assert_true(stats[0].found);
	assert_int_equal(stats[0].xprt.connections, 3);
	assert_int_equal(stats[0].xprt.sends, 403452500);
	assert_int_equal(stats[0].xprt.backlog, 7);
	assert_int_equal(stats[0].xprt.max_slots, 65536);
}

/* A section of NFSv4.1, with the server's text about itself as the kernel prints it. */
#define BAD_HEAD "device bad:/x mounted on /bad with fstype nfs4 statvers=1.1\n"
#define IMPL(text)                                                                                 \
	"\topts:\trw,vers=4.1\n\tage:\t1000\n\timpl_id:\tname='" text                              \
	"',domain='freebsd.org',date='1293840000,0'\n"
#define REST(n)                                                                                    \
	"\tcaps:\tcaps=0x3fffdf,wtmult=512\n\tbytes:\t" n " 20 0 0 10 20 3 5 \n"                   \
	"\tper-op statistics\n\tREAD: " n " 7 0 70 70 1 1 1 0\n"                                   \
	"\tWRITE: 8 8 0 80 80 1 1 1 0\n\tCOMMIT: 9 9 0 90 90 1 1 1 0\n"
#define GOOD_HEAD "device good:/data mounted on /good with fstype nfs4 statvers=1.1\n"
#define GOOD      GOOD_HEAD "\tage:\t1000\n" REST("100")
#define CLOSED    "',domain='',date='1,0'\n"

static void test_words_of_a_server(void **state)
{
	static const char *const texts[] = {
		BAD_HEAD IMPL("FreeBSD 12.2") REST("10") GOOD,
		/* A newline, and then anything. */
		BAD_HEAD IMPL("FreeBSD\namd64") REST("10") GOOD,
		BAD_HEAD IMPL("x\n" GOOD_HEAD REST("666")) REST("10") GOOD,
		GOOD BAD_HEAD IMPL("x\n" GOOD_HEAD REST("666")) REST("10"),
		BAD_HEAD IMPL("x\n\tbytes:\t1\n\tREAD: x\n" BAD_HEAD) REST("10") GOOD,
		BAD_HEAD IMPL("x\ndevice a mounted on /b with fstype tmpfs\n") REST("10") GOOD,
		/* With a quote at the end of its first line. */
		BAD_HEAD IMPL("x'\n" GOOD_HEAD REST("666")) REST("10") GOOD,
		/* An end as the kernel writes it, one or two of them. */
		BAD_HEAD IMPL("x" CLOSED REST("5") GOOD_HEAD REST("666")) REST("10") GOOD,
		BAD_HEAD IMPL("x" CLOSED REST("5") GOOD_HEAD IMPL("y")) REST("10") GOOD,
		GOOD BAD_HEAD IMPL("x" CLOSED REST("5") GOOD_HEAD IMPL("y")) REST("10"),
		BAD_HEAD IMPL("x" CLOSED GOOD_HEAD REST("6") IMPL("y") GOOD_HEAD REST("666"))
			REST("10") GOOD,
		/* The other server sends a text, too. */
		BAD_HEAD IMPL("x") REST("10") GOOD_HEAD IMPL("y") REST("100"),
		BAD_HEAD IMPL("x\n" GOOD_HEAD) REST("10") GOOD_HEAD IMPL("y\nz") REST("100"),
		BAD_HEAD IMPL("x" CLOSED REST("5") GOOD_HEAD IMPL("z")) REST("10")
			GOOD_HEAD IMPL("y") REST("100"),
		/* Two mounts of one server have the same text; one is not in our table. */
		BAD_HEAD IMPL("x\n" GOOD_HEAD)
			REST("10") "device bad:/y mounted on /y with fstype nfs4 "
				   "statvers=1.1\n" IMPL("x\n" GOOD_HEAD) REST("11") GOOD,
	};
	static struct canfs_mounts table;
	struct canfs_mountstats stats[2];

	(void)state;
	canfs_mounts_parse("1 1 0:41 / /bad rw - nfs4 bad:/x rw,vers=4.1\n"
			   "2 1 0:42 / /good rw - nfs4 good:/data rw,vers=4.1\n",
		&table);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		canfs_mountstats_parse(texts[i], &table, stats);
		if (!stats[0].found || stats[0].normal_read_bytes != 10 ||
			stats[0].read.ops != 10 || !stats[1].found ||
			stats[1].normal_read_bytes != 100 || stats[1].read.ops != 100)
			fail_msg("text %zu: %d %llu, %d %llu", i, stats[0].found,
				(unsigned long long)stats[0].normal_read_bytes, stats[1].found,
				(unsigned long long)stats[1].normal_read_bytes);
	}
}

/* A mount with two sections is not used, because the reader cannot tell which one is the kernel's. */
static void test_two_sections_of_one_mount(void **state)
{
	struct canfs_mountstats stats[3];

	(void)state;
	canfs_mountstats_parse(HEAD("srv:/export", "/mnt/a") BODY("1 1 0 1 1 1 1 1")
				       HEAD("srv:/export", "/mnt/a") BODY("2 1 0 1 1 1 1 1"),
		mounts(), stats);
	assert_false(stats[0].found);
}

/* The name of the line that a mount's counters lack. */
static void test_what_is_lacking(void **state)
{
	static const struct {
		const char *text, *lacks;
	} cases[] = {
		{ "", "device" },
		{ "device srv:/export mounted on /mnt/a with fst\n", "device" },
		{ HEAD("srv:/export", "/mnt/a"), "bytes:" },
		{ HEAD("srv:/export", "/mnt/a") "\tbytes: 1 2 3 4 5 6 7 8\n", "READ:" },
		{ HEAD("srv:/export", "/mnt/a") "\tbytes: 1 2 3 4 5 6 7 8\n"
						"\tREAD: 1 1 1 1 1 1 1 1\n\tWRITE: 1\n",
			"WRITE:" },
		{ text, NULL },
	};
	struct fake_root root;

	(void)state;
	fake_root_make(&root);
	assert_null(canfs_mountstats_lack(root.path, mounts(), 0));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *lacks;

		fake_root_write(&root, "/proc/self/mountstats", cases[i].text);
		lacks = canfs_mountstats_lack(root.path, mounts(), 0);
		if (cases[i].lacks) {
			assert_non_null(lacks);
			assert_string_equal(lacks, cases[i].lacks);
		} else {
			assert_null(lacks);
		}
	}
	fake_root_remove(&root);
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
	for (int k = 0; k < 2 * CANFS_LINE_MAX; k++)
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
		cmocka_unit_test(test_numbers_that_cannot_be),
		cmocka_unit_test(test_lines_that_come_twice),
		cmocka_unit_test(test_connections_of_statvers_1_0),
		cmocka_unit_test(test_words_of_a_server),
		cmocka_unit_test(test_two_sections_of_one_mount),
		cmocka_unit_test(test_what_is_lacking),
		cmocka_unit_test(test_torn_text),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_long_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
