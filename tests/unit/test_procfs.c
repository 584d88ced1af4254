// SPDX-License-Identifier: LGPL-3.0-or-later
/* /proc/meminfo, whole and torn. */
#include "tests/unit/fake_root.h"

#include "client-agent/kernel/procfs.h"
#include "common/file.h"

static const char meminfo_text[] = "MemTotal:        2014684 kB\n"
				   "MemFree:          900000 kB\n"
				   "MemAvailable:    1500000 kB\n"
				   "Buffers:            1000 kB\n"
				   "Active(file):     700000 kB\n"
				   "SwapCached:            7 kB\n"
				   "Dirty:             40000 kB\n"
				   "Writeback:          2000 kB\n"
				   "WritebackTmp:          9 kB\n"
				   "HugePages_Total:       0\n";

static void test_meminfo(void **state)
{
	struct canfs_meminfo meminfo;

	(void)state;
	assert_int_equal(canfs_meminfo_parse(meminfo_text, &meminfo), 0);
	assert_int_equal(meminfo.total_bytes, 2014684ull * 1024);
	assert_int_equal(meminfo.free_bytes, 900000 * 1024);
	assert_int_equal(meminfo.available_bytes, 1500000 * 1024);
	assert_int_equal(meminfo.active_file_bytes, 700000 * 1024);
	assert_int_equal(meminfo.dirty_bytes, 40000 * 1024);
	assert_int_equal(meminfo.writeback_bytes, 2000 * 1024);
	assert_int_equal(canfs_meminfo_spare_bytes(&meminfo), 1458000 * 1024);
}

static void test_spare_is_never_negative(void **state)
{
	struct canfs_meminfo meminfo = { .available_bytes = 10, .dirty_bytes = 11 };

	(void)state;
	assert_int_equal(canfs_meminfo_spare_bytes(&meminfo), 0);
	meminfo.dirty_bytes = meminfo.writeback_bytes = UINT64_MAX;
	assert_int_equal(canfs_meminfo_spare_bytes(&meminfo), 0);
}

/* Cut anywhere before the last line that we need: an error, and nothing is stored. */
static void test_torn_meminfo(void **state)
{
	char text[sizeof(meminfo_text)];
	size_t whole = (size_t)(strstr(meminfo_text, "WritebackTmp") - meminfo_text);

	(void)state;
	for (size_t len = 0; len < sizeof(meminfo_text); len++) {
		struct canfs_meminfo meminfo = { .total_bytes = 1 };
		memcpy(text, meminfo_text, len);
		text[len] = '\0';
		int ret = canfs_meminfo_parse(text, &meminfo);
		assert_int_equal(ret, len < whole ? -EPROTO : 0);
		assert_true((meminfo.total_bytes == 1) == (ret != 0));
	}
}

static void test_bad_numbers(void **state)
{
	static const char *const bad[] = { "MemTotal: -1 kB", "MemTotal: 1 MB", "MemTotal: kB",
		"MemTotal: 99999999999999999999 kB", "MemTotal: 18446744073709551615 kB",
		"MemTotal: 9007199254740992 kB" };
	struct canfs_meminfo meminfo;
	char text[sizeof(meminfo_text) + 64];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "%s\n%s", bad[i], strchr(meminfo_text, '\n') + 1);
		assert_int_equal(canfs_meminfo_parse(text, &meminfo), -EPROTO);
	}
}

/* A blank file, or a missing line, as with lxcfs and in containers: the missing line is named. */
static void test_what_meminfo_lacks(void **state)
{
	static const struct {
		const char *text, *lacks;
	} cases[] = {
		{ "", "MemTotal:" },
		{ "\n", "MemTotal:" },
		{ "MemTotal: 1 kB\nMemFree: 1 kB\n", "MemAvailable:" },
		{ "MemTotal: 1 kB\nMemFree: 9007199254740992 kB\n", "MemFree:" },
		{ "MemTotal: 1 kB\nMemFree: -1 kB\n", "MemFree:" },
		{ meminfo_text, NULL },
	};
	struct canfs_meminfo meminfo;
	struct fake_root root;

	(void)state;
	fake_root_make(&root);
	assert_null(canfs_meminfo_lack(root.path));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake_root_write(&root, "/proc/meminfo", cases[i].text);
		assert_int_equal(
			canfs_meminfo_read(root.path, &meminfo), cases[i].lacks ? -EPROTO : 0);
		if (cases[i].lacks)
			assert_string_equal(canfs_meminfo_lack(root.path), cases[i].lacks);
		else
			assert_null(canfs_meminfo_lack(root.path));
	}
	fake_root_remove(&root);
}

static void test_vmstat(void **state)
{
#define BACKGROUND "\nnr_dirty_background_threshold 25000\n"
	static const char good[] = "a 1\nworkingset_activate_file 2048\npgfault 7" BACKGROUND;
	static const char *const bad[] = { "", "nr_free_pages 1\n", "a 1" BACKGROUND,
		"a 1\nworkingset_activate_file 2048\n", "a 1\nworkingset_activate_file " BACKGROUND,
		"a 1" BACKGROUND "workingset_activate_file 12",
		"a 1\nworkingset_activate_file -1" BACKGROUND,
		"a 1\nworkingset_activate_file 1 kB" BACKGROUND,
		"a 1\nworkingset_activate_file 18446744073709551615" BACKGROUND };
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	struct canfs_vmstat vmstat = { .missed_bytes = 42, .background_bytes = 43 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(canfs_vmstat_parse(bad[i], &vmstat), -EPROTO);
	assert_int_equal(vmstat.missed_bytes, 42);
	assert_int_equal(vmstat.background_bytes, 43);
	assert_int_equal(canfs_vmstat_parse(good, &vmstat), 0);
	assert_int_equal(vmstat.missed_bytes, 2048 * page_bytes);
	assert_int_equal(vmstat.background_bytes, 25000 * page_bytes);
}

static void test_cgroup_dirty(void **state)
{
	static const char good[] = "anon 1\nfile 8192\nfile_dirty 4096\nfile_writeback 0\n";
	static const char *const bad[] = { "", "file_dirty 1\n", "anon 1\nfile_dirty \n",
		"anon 1\nfile_dirty 12", "anon 1\nfile_dirty -1\n", "anon 1\nfile_dirty 1 kB\n",
		"anon 1\nfile_dirty 18446744073709551616\n",
		"anon 1\nfile_dirty 18446744073709547520\n" };
	struct fake_root root;
	uint64_t bytes = 42;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(canfs_cgroup_dirty_parse(bad[i], &bytes), -EPROTO);
	assert_int_equal(bytes, 42);
	fake_root_make(&root);
	fake_root_write(&root, "/sys/fs/cgroup/a.slice/b/memory.stat", good);
	assert_int_equal(canfs_cgroup_dirty_read(root.path, "/a.slice/b", &bytes), 0);
	assert_int_equal(bytes, 4096);
	assert_int_equal(canfs_cgroup_dirty_read(root.path, "/a.slice", &bytes), -ENOENT);
	assert_int_equal(bytes, 4096);
	fake_root_remove(&root);
}

static void test_files(void **state)
{
	struct fake_root root;
	struct canfs_meminfo meminfo;
	char buf[8], *text;

	(void)state;
	fake_root_make(&root);
	fake_root_write(&root, "/proc/meminfo", meminfo_text);
	fake_root_write(&root, "/proc/short", "1234567");
	fake_root_write(&root, "/proc/long", "12345678");
	assert_int_equal(canfs_meminfo_read(root.path, &meminfo), 0);
	assert_int_equal(canfs_read_file(root.path, "/proc/short", buf, sizeof(buf)), 7);
	assert_string_equal(buf, "1234567");
	assert_int_equal(canfs_read_file(root.path, "/proc/long", buf, sizeof(buf)), -EFBIG);
	assert_int_equal(canfs_read_file(root.path, "/proc/none", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(canfs_read_text(root.path, "/proc/long", 8, &text), 0);
	assert_string_equal(text, "12345678");
	free(text);
	assert_int_equal(canfs_read_text(root.path, "/proc/long", 7, &text), -EFBIG);
	fake_root_remove(&root);
}

/* The kernel's own, which must parse everywhere. */
static void test_this_kernel(void **state)
{
	struct canfs_meminfo meminfo;
	struct canfs_vmstat vmstat;

	(void)state;
	assert_int_equal(canfs_meminfo_read("", &meminfo), 0);
	assert_true(meminfo.total_bytes >= meminfo.free_bytes);
	assert_int_equal(canfs_vmstat_read("", &vmstat), 0);
	assert_true(vmstat.background_bytes > 0);
}

/* The lengths of the lines that canfs_read_lines() hands out. */
static void note_line(void *data, const char *line, const char *end)
{
	char *noted = data;

	assert_int_equal(*end, '\n');
	sprintf(noted + strlen(noted), "%zu ", (size_t)(end - line));
}

/* Each line whole or not at all, wherever the end of what is read in one go falls. */
static void test_read_lines(void **state)
{
	static char text[CANFS_LINE_MAX + 100];
	struct fake_root root;
	char noted[128] = "", expected[128];

	(void)state;
	fake_root_make(&root);
	assert_int_equal(canfs_read_lines(root.path, "/lines", note_line, noted), -ENOENT);
	for (size_t len = CANFS_LINE_MAX - 10; len < CANFS_LINE_MAX + 10; len++) {
		memset(text, 'x', len);
		strcpy(text + len, "\nnext\n\nlast line\ntorn");
		fake_root_write(&root, "/lines", text);
		noted[0] = '\0';
		assert_int_equal(canfs_read_lines(root.path, "/lines", note_line, noted), 0);
		snprintf(expected, sizeof(expected), "%zu 4 0 9 ", len);
		assert_string_equal(
			noted, len < CANFS_LINE_MAX ? expected : strchr(expected, ' ') + 1);
	}
	fake_root_remove(&root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meminfo),
		cmocka_unit_test(test_spare_is_never_negative),
		cmocka_unit_test(test_torn_meminfo),
		cmocka_unit_test(test_bad_numbers),
		cmocka_unit_test(test_what_meminfo_lacks),
		cmocka_unit_test(test_vmstat),
		cmocka_unit_test(test_cgroup_dirty),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_this_kernel),
		cmocka_unit_test(test_read_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
