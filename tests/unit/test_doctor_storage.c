// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfsctl doctor: of a server's disk or file system one check must see what is wrong, and no other. */
#include "tests/unit/fake_root.h"

#include "canfsctl/doctor/checks.h"

/* Bit i: check i has found something in some test. */
static unsigned long long found_of_disks, found_of_fs;

/* A check of a disk or a file system (subject) has found something. Fails unless the check is `name`, and its text contains `what`. */
static void assert_finding(const char *check, const struct canfs_finding *finding, const char *name,
	const char *what, const char *subject, int line)
{
	if (!name || strcmp(check, name) != 0)
		fail_msg("line %d: %s: %s", line, check, finding->what);
	if (!strstr(finding->what, what) && !strstr(finding->remedy, what))
		fail_msg("line %d: '%s' is in neither '%s' nor '%s'", line, what, finding->what,
			finding->remedy);
	assert_non_null(strstr(finding->what, subject));
	assert_null(strchr(finding->what, '\n'));
	assert_null(strchr(finding->remedy, '\n'));
	assert_true(strlen(finding->what) < sizeof(finding->what) - 1); /* not cut */
	assert_true(strlen(finding->remedy) < sizeof(finding->remedy) - 1);
}

/* Runs all checks of a disk. Only the check `name` may find something, and its text must contain `what`. name NULL: none may. */
static void judge_disk(
	const char *name, const char *what, const struct canfs_disk_facts *disk, int line)
{
	const struct canfs_disk_check *check;
	struct canfs_finding finding;
	bool seen = false;

	for (size_t i = 0; (check = canfs_disk_check_at(i)); i++) {
		if (!check->judge(disk, &finding))
			continue;
		assert_finding(check->name, &finding, name, what, disk->name, line);
		seen = true;
		found_of_disks |= 1ull << i;
	}
	if (name && !seen)
		fail_msg("line %d: %s found nothing", line, name);
}

#define OF_DISK(name, what, ...)                                                                   \
	judge_disk(name, what, &(struct canfs_disk_facts) { __VA_ARGS__ }, __LINE__)

#define LONGEST "1234567890123456789012345678901"

static void test_disks(void **state)
{
	static const char scheduler[] = "disk-scheduler", throttling[] = "write-throttling";

	(void)state;
	OF_DISK(NULL, "", "sda", .rotational = true, .wbt_lat_usec = 75000);
	OF_DISK(NULL, "", "nvme0n1", .no_scheduler = true, .wbt_lat_usec = 2000);
	OF_DISK(scheduler, "sda is rotational, but", "sda", .rotational = true,
		.no_scheduler = true, .wbt_lat_usec = 75000);
	OF_DISK(scheduler, "echo mq-deadline >/sys/block/sda/queue/scheduler; ", "sda",
		.rotational = true, .no_scheduler = true);
	OF_DISK(scheduler, "KERNEL==\"" LONGEST "\", ATTR{queue/rotational}==\"1\"", LONGEST,
		.rotational = true, .no_scheduler = true);
	OF_DISK(NULL, "", "vda", .rotational = true, .no_scheduler = true, .is_virtual = true);
	OF_DISK(throttling, "sda is rotational, but wbt_lat_usec is 2000", "sda",
		.rotational = true, .wbt_lat_usec = 2000);
	OF_DISK(throttling, "echo 75000 >/sys/block/loop0/queue/wbt_lat_usec; ", "loop0",
		.rotational = true, .is_virtual = true, .no_scheduler = true, .wbt_lat_usec = 2000);
	OF_DISK(throttling, "sdb is non-rotational, but wbt_lat_usec is 75000", "sdb",
		.wbt_lat_usec = 75000);
	OF_DISK(throttling, "==\"0\", ATTR{queue/wbt_lat_usec}=\"2000\"", LONGEST,
		.wbt_lat_usec = 75000);
	OF_DISK(NULL, "", "sda", .rotational = true, .wbt_lat_usec = 0);    /* off */
	OF_DISK(NULL, "", "sda", .rotational = true, .wbt_lat_usec = 2001); /* a choice */
	OF_DISK(NULL, "", "sdb", .wbt_lat_usec = 10000);
}

/* As judge_disk(), of a server with flash. */
static void judge_fs(const char *name, const char *what, const struct canfs_fs_facts *fs, int line)
{
	static const struct canfs_host_facts with_flash = { .disks = 1,
		.disk = { { .name = "sdb" } } };
	const struct canfs_fs_check *check;
	struct canfs_finding finding;
	bool seen = false;

	for (size_t i = 0; (check = canfs_fs_check_at(i)); i++) {
		if (!check->judge(&with_flash, fs, &finding))
			continue;
		assert_finding(check->name, &finding, name, what, fs->mountpoint, line);
		seen = true;
		found_of_fs |= 1ull << i;
	}
	if (name && !seen)
		fail_msg("line %d: %s found nothing", line, name);
}

#define OF_FS(name, what, fs_type, ...)                                                            \
	judge_fs(name, what,                                                                       \
		&(struct canfs_fs_facts) { .type = fs_type, .mountpoint = "/srv", __VA_ARGS__ },   \
		__LINE__)

static void test_file_systems(void **state)
{
	static const struct canfs_host_facts without_flash = { .disks = 0 };
	struct canfs_finding finding;

	(void)state;
	OF_FS(NULL, "", "ext4", .rotational = true);
	OF_FS(NULL, "", "ext4", .journal_inside = true);
	OF_FS("barriers", "remount,barrier=1 /srv", "ext4", .no_barrier = true);
	OF_FS("fast-commit", "tune2fs -O ^fast_commit", "ext4", .fast_commit = true);
	OF_FS("access-times", "remount,noatime /srv", "ext4", .stamps_reads = true);
	OF_FS("log-on-flash", "flash (sdb)", "ext4", .journal_inside = true, .rotational = true);
	OF_FS("log-on-flash", "tune2fs", "ext4", .journal_inside = true, .rotational = true);
	OF_FS("log-on-flash", "mkfs.xfs -l logdev", "xfs", .journal_inside = true,
		.rotational = true);
	assert_false(canfs_check_log_on_flash(&without_flash,
		&(struct canfs_fs_facts) { .journal_inside = true, .rotational = true }, &finding));
}

/* The last test: a check without a case above is one that may never find anything. */
static void test_each_disk_and_fs_check_has_a_case(void **state)
{
	(void)state;
	for (size_t i = 0; canfs_disk_check_at(i); i++) {
		assert_true(i < 64);
		if (!(found_of_disks >> i & 1))
			fail_msg("no case for %s", canfs_disk_check_at(i)->name);
	}
	for (size_t i = 0; canfs_fs_check_at(i); i++) {
		assert_true(i < 64);
		if (!(found_of_fs >> i & 1))
			fail_msg("no case for %s", canfs_fs_check_at(i)->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_disks),
		cmocka_unit_test(test_file_systems),
		cmocka_unit_test(test_each_disk_and_fs_check_has_a_case),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
