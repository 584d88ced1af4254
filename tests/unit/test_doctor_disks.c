// SPDX-License-Identifier: LGPL-3.0-or-later
/* Which disks canfsctl doctor finds below the file systems of a server, and what it learns of them. */
#include "tests/unit/fake_root.h"

#include "canfsctl/doctor/facts.h"

#define DEVICES "/sys/devices/pci0"

static struct canfs_host_facts host;

static void gather(const struct fake_root *root)
{
	canfs_server_gather(root->path, &host);
	canfs_disks_gather(root->path, &host);
}

static void run_process(const struct fake_root *root, const char *pid, const char *name)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	snprintf(text, sizeof(text), "%s\n", name);
	fake_root_write(root, path, text);
}

/* A link at path to target, both from the top of root. */
static void make_link(const struct fake_root *root, const char *path, const char *target)
{
	char full[PATH_MAX], relative[PATH_MAX] = ".";
	size_t len = 1;

	fake_root_write(root, path, ""); /* for the directories */
	fake_root_full(root, path, full);
	assert_int_equal(unlink(full), 0);
	for (const char *slash = path; (slash = strchr(slash + 1, '/'));)
		len += (size_t)snprintf(relative + len, sizeof(relative) - len, "/..");
	assert_true(snprintf(relative + len, sizeof(relative) - len, "%s", target) > 0);
	assert_int_equal(symlink(relative, full), 0);
}

/* Below a device's directory: dir/file. */
static void set(const struct fake_root *root, const char *dir, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fake_root_write(root, path, text);
}

/* A whole disk with the number, as the kernel shows it; NULL: no such file. */
static void make_disk(const struct fake_root *root, const char *number, const char *dir,
	const char *rotational, const char *scheduler, const char *wbt)
{
	char path[64];

	set(root, dir, "queue/rotational", rotational);
	if (scheduler)
		set(root, dir, "queue/scheduler", scheduler);
	if (wbt)
		set(root, dir, "queue/wbt_lat_usec", wbt);
	snprintf(path, sizeof(path), "/sys/dev/block/%s", number);
	make_link(root, path, dir);
}

static void make_partition(const struct fake_root *root, const char *number, const char *dir)
{
	char path[64];

	set(root, dir, "partition", "1\n");
	snprintf(path, sizeof(path), "/sys/dev/block/%s", number);
	make_link(root, path, dir);
}

static void mount_all(const struct fake_root *root, const char *text)
{
	run_process(root, "1", "systemd");
	run_process(root, "700", "nfsd");
	fake_root_write(root, "/proc/self/mountinfo", text);
}

static const struct canfs_disk_facts *find(const char *name)
{
	for (size_t i = 0; i < host.disks; i++) {
		if (strcmp(host.disk[i].name, name) == 0)
			return &host.disk[i];
	}
	fail_msg("%s is not found", name);
	return NULL;
}

static void test_servers_only(void **state)
{
	const struct fake_root *root = *state;

	gather(root); /* nothing is there */
	assert_false(canfs_serves_nfs(&host));
	make_disk(root, "8:0", DEVICES "/sda", "1\n", "[none] mq-deadline\n", "75000\n");
	fake_root_write(root, "/proc/self/mountinfo", "20 1 8:0 / / rw - ext4 /dev/sda rw\n");
	run_process(root, "1", "systemd");
	run_process(root, "60", "NFSv4 callback");
	run_process(root, "61", "nfsdcld");
	run_process(root, "sys", "nfsd"); /* no process */
	gather(root);
	assert_false(canfs_serves_nfs(&host));
	assert_int_equal(host.disks, 0);
	run_process(root, "4194304", "ganesha.nfsd");
	gather(root);
	assert_true(canfs_serves_nfs(&host));
	assert_int_equal(host.disks, 1);
	run_process(root, "4194304", "bash");
	run_process(root, "700", "nfsd");
	gather(root);
	assert_true(canfs_serves_nfs(&host));
}

static void test_partition(void **state)
{
	const struct fake_root *root = *state;

	make_disk(root, "8:0", DEVICES "/sda", "1\n", "[none] mq-deadline kyber bfq\n", "2000\n");
	make_partition(root, "8:1", DEVICES "/sda/sda1");
	make_partition(root, "8:2", DEVICES "/sda/sda2");
	mount_all(root, "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
			"21 20 8:2 / /srv rw,relatime shared:2 master:1 - xfs /dev/sda2 rw\n"
			"22 20 8:2 /a /bind rw,relatime - xfs /dev/sda2 rw\n"
			"23 20 0:40 / /mnt rw,relatime - nfs4 srv:/x rw\n");
	gather(root);
	assert_int_equal(host.disks, 1);
	assert_true(find("sda")->rotational && find("sda")->no_scheduler);
	assert_false(find("sda")->is_virtual);
	assert_int_equal(find("sda")->wbt_lat_usec, 2000);
}

/* A volume on a disk and on an array of two partitions; a file system on the volume. */
static void test_dm_and_md(void **state)
{
	const struct fake_root *root = *state;

	make_disk(root, "8:0", DEVICES "/sda", "1\n", "none [mq-deadline]\n", "75000\n");
	make_disk(root, "8:16", DEVICES "/sdb", "1\n", "[none] mq-deadline\n", "75000\n");
	make_disk(root, "259:0", DEVICES "/nvme0n1", "0\n", "[none] mq-deadline\n", "2000\n");
	make_disk(root, "9:0", "/sys/devices/virtual/block/md0", "1\n", "none\n", NULL);
	make_disk(root, "253:0", "/sys/devices/virtual/block/dm-0", "1\n", NULL, NULL);
	make_partition(root, "8:1", DEVICES "/sda/sda1");
	make_partition(root, "8:17", DEVICES "/sdb/sdb1");
	make_link(root, "/sys/devices/virtual/block/md0/slaves/sda1", DEVICES "/sda/sda1");
	make_link(root, "/sys/devices/virtual/block/md0/slaves/sdb1", DEVICES "/sdb/sdb1");
	make_link(root, "/sys/devices/virtual/block/dm-0/slaves/md0",
		"/sys/devices/virtual/block/md0");
	make_link(root, "/sys/devices/virtual/block/dm-0/slaves/nvme0n1", DEVICES "/nvme0n1");
	mount_all(root, "21 20 253:0 / /srv rw - ext4 /dev/mapper/vg-srv rw\n");
	gather(root);
	assert_int_equal(host.disks, 3);
	assert_false(find("sda")->no_scheduler);
	assert_true(find("sdb")->no_scheduler);
	assert_false(find("nvme0n1")->rotational);
}

/* dm above two paths to one disk has a queue of its own, and the paths' schedulers are not asked. */
static void test_multipath(void **state)
{
	const struct fake_root *root = *state;

	make_disk(root, "8:0", DEVICES "/sda", "1\n", "[none] mq-deadline\n", "75000\n");
	make_disk(root, "253:0", "/sys/devices/virtual/block/dm-0", "1\n", "[mq-deadline] none\n",
		"75000\n");
	make_link(root, "/sys/devices/virtual/block/dm-0/slaves/sda", DEVICES "/sda");
	mount_all(root, "21 20 253:0 / /srv rw - ext4 /dev/mapper/mpatha rw\n");
	gather(root);
	assert_int_equal(host.disks, 1);
	assert_false(find("dm-0")->no_scheduler);
}

static void test_btrfs(void **state)
{
	const struct fake_root *root = *state;

	make_disk(root, "8:0", DEVICES "/sda", "1\n", "[none] bfq\n", "75000\n");
	make_disk(root, "8:16", DEVICES "/sdb", "1\n", "none [bfq]\n", "0\n");
	make_partition(root, "8:17", DEVICES "/sdb/sdb1");
	make_link(root, "/sys/fs/btrfs/1111/devices/sda", DEVICES "/sda");
	make_link(root, "/sys/fs/btrfs/1111/devices/sdb1", DEVICES "/sdb/sdb1");
	fake_root_write(root, "/sys/fs/btrfs/features/raid56", "1\n");
	mount_all(root, "21 20 0:44 / /srv rw - btrfs /dev/mapper/x rw\n");
	gather(root);
	assert_int_equal(host.disks, 2);
	assert_true(find("sda")->no_scheduler);
	assert_int_equal(find("sdb")->wbt_lat_usec, 0);
}

static void test_virtual_disks(void **state)
{
	const struct fake_root *root = *state;

	make_disk(root, "7:0", "/sys/devices/virtual/block/loop0", "1\n", "[none] bfq\n", "2000\n");
	make_disk(root, "254:0", DEVICES "/vda", "1\n", "[none] mq-deadline\n", "75000\n");
	make_disk(root, "8:0", DEVICES "/sda", "1\n", "[none] mq-deadline\n", "75000\n");
	make_disk(root, "8:16", DEVICES "/sdb", "1\n", "[none] mq-deadline\n", "75000\n");
	set(root, DEVICES "/sda", "device/vendor", "QEMU    \n");
	set(root, DEVICES "/sdb", "device/vendor", "ATA     \n");
	set(root, DEVICES "/sdb", "device/model", "ST4000NM0035-1V4\n");
	mount_all(root,
		"20 1 7:0 / /a rw - ext4 /dev/loop0 rw\n21 1 254:0 / /b rw - ext4 /dev/vda rw\n"
		"22 1 8:0 / /c rw - ext4 /dev/sda rw\n23 1 8:16 / /d rw - ext4 /dev/sdb rw\n");
	gather(root);
	assert_int_equal(host.disks, 4);
	assert_true(find("loop0")->is_virtual && find("loop0")->rotational);
	assert_int_equal(find("loop0")->wbt_lat_usec, 2000);
	assert_true(find("vda")->is_virtual && find("sda")->is_virtual);
	assert_false(find("sdb")->is_virtual);
}

/* Of sda: what its two files say, as numbers. */
static void check_files(
	const struct fake_root *root, const char *scheduler, const char *wbt, bool none, int usec)
{
	set(root, DEVICES "/sda", "queue/scheduler", scheduler);
	set(root, DEVICES "/sda", "queue/wbt_lat_usec", wbt);
	gather(root);
	assert_int_equal(host.disks, 1);
	assert_int_equal(find("sda")->no_scheduler, none);
	assert_int_equal(find("sda")->wbt_lat_usec, usec);
}

static void test_torn_files(void **state)
{
	const struct fake_root *root = *state;
	static char longest[8192];

	make_disk(root, "8:0", DEVICES "/sda", "1\n", NULL, NULL);
	mount_all(root, "20 1 8:0 / / rw - ext4 /dev/sda rw\n");
	gather(root);
	assert_int_equal(host.disks, 1);
	assert_false(find("sda")->no_scheduler); /* neither file is there */
	assert_int_equal(find("sda")->wbt_lat_usec, 0);
	check_files(root, "[none] mq-deadline\n", "75000\n", true, 75000);
	check_files(root, "[none] \n", "2000\n", true, 2000);
	check_files(root, "[mq-deadline] none\n", "1\n", false, 1);
	check_files(root, "none\n", "0\n", false, 0);
	check_files(root, "", "", false, 0);
	check_files(root, "[none", "75000", false, 0); /* 750000 perhaps */
	check_files(root, "\n", "-1\n", false, 0);
	check_files(root, "\xff\n", "99999999999999999999999\n", false, 0);
	memset(longest, '[', sizeof(longest) - 1);
	check_files(root, longest, longest, false, 0);
	set(root, DEVICES "/sda", "queue/rotational", "yes\n");
	gather(root);
	assert_int_equal(host.disks, 0); /* of no kind */
}

static void test_what_is_not_there(void **state)
{
	const struct fake_root *root = *state;

	mount_all(root, "20 1 8:0 / / rw - ext4 /dev/sda rw\n"); /* no /sys */
	gather(root);
	assert_true(canfs_serves_nfs(&host));
	assert_int_equal(host.disks, 0);
	/* A ring of slaves ends, and a device without a queue is no disk. */
	make_link(root, "/sys/devices/virtual/block/dm-0/slaves/dm-0",
		"/sys/devices/virtual/block/dm-0");
	make_link(root, "/sys/devices/virtual/block/dm-0/slaves/gone", "/nowhere");
	make_link(root, "/sys/dev/block/8:0", "/sys/devices/virtual/block/dm-0");
	gather(root);
	assert_int_equal(host.disks, 0);
}

static void test_too_many(void **state)
{
	const struct fake_root *root = *state;
	static char mounts[32768];
	char number[16], dir[64];
	size_t len = 0;

	for (unsigned int i = 0; i < CANFS_DISKS_MAX + 3; i++) {
		snprintf(number, sizeof(number), "8:%u", i);
		snprintf(dir, sizeof(dir), DEVICES "/sd%u", i);
		make_disk(root, number, dir, "1\n", "[none]\n", "75000\n");
		len += (size_t)snprintf(mounts + len, sizeof(mounts) - len,
			"20 1 %s / /m rw - xfs /dev/x rw\n", number);
	}
	/* More than a name holds: it would be another disk's. */
	make_disk(root, "9:0", DEVICES "/a23456789012345678901234567890123", "1\n", "[none]\n",
		"0\n");
	mount_all(root, mounts);
	gather(root);
	assert_int_equal(host.disks, CANFS_DISKS_MAX);
	mount_all(root, "20 1 9:0 / /m rw - xfs /dev/x rw\n");
	gather(root);
	assert_int_equal(host.disks, 0);
}

static struct canfs_fs_facts fs; /* by parse() */

/* Is the line of a local file system? Then its number must be 8:1. */
static bool parse(const char *line)
{
	char text[256];

	snprintf(text, sizeof(text), "%s\n", line);
	if (!canfs_local_fs_parse(text, text + strlen(line), &fs))
		return false;
	assert_int_equal(fs.device.major, 8);
	assert_int_equal(fs.device.minor, 1);
	return true;
}

static void test_mount_lines(void **state)
{
	(void)state;
	assert_true(parse("36 25 8:1 / /srv rw,relatime shared:1 - ext4 /dev/sda1 rw"));
	assert_true(parse("36 25 8:1 / /srv\\040a rw - f2fs /dev/sda1 rw"));
	assert_false(parse("36 25 0:41 / /mnt rw - nfs srv:/a - ext4 rw"));
	assert_false(parse("36 25 8:1 / /snap ro - squashfs /dev/loop1 ro"));
	assert_false(parse("36 25 8:1 / /srv rw - ext4dev /dev/sda1 rw"));
	assert_false(parse("36 25 8:1 / /srv rw - ext4"));
	assert_false(parse("36 25 8:1 / /srv rw - ext"));
	assert_false(parse("36 25 8:1 / /srv rw -"));
	assert_false(parse("36 25 8:1 / /srv - ext4 /dev/sda1 rw"));
	assert_false(parse("36 25 8 / /srv rw - ext4 /dev/sda1 rw"));
	assert_false(parse("36 25 8:4294967296 / /srv rw - ext4 /dev/sda1 rw"));
	assert_false(parse("x 25 8:1 / /srv rw - ext4 /dev/sda1 rw"));
	assert_false(parse(" - ext4 "));
	assert_false(parse(""));
}

static void test_mount_options(void **state)
{
	char line[256];

	(void)state;
	assert_true(parse("36 25 8:1 / /srv\\040a rw,relatime shared:1 - ext4 /dev/sda1 "
			  "rw,errors=remount-ro"));
	assert_string_equal(fs.type, "ext4");
	assert_string_equal(fs.mountpoint, "/srv\\040a");
	assert_false(fs.no_barrier || fs.stamps_reads || fs.journal_inside);
	assert_true(parse("36 25 8:1 / /srv rw - ext4 /dev/sda1 rw,nobarrier,data=ordered"));
	assert_true(fs.no_barrier && fs.stamps_reads);
	assert_true(parse("36 25 8:1 / /srv rw,nosuid,noatime - ext4 /dev/sda1 rw,barrier=0"));
	assert_true(fs.no_barrier && !fs.stamps_reads);
	assert_true(parse("36 25 8:1 / /srv rw,nodiratime - ext4 /dev/sda1 rw,nobarriers"));
	assert_true(!fs.no_barrier && fs.stamps_reads);
	assert_true(parse("36 25 8:1 / /srv ro - ext4 /dev/sda1 rw"));
	assert_false(fs.stamps_reads);
	assert_true(parse("36 25 8:1 / /srv rw master:1 - ext4 /dev/sda1 ro"));
	assert_false(fs.stamps_reads);
	assert_true(parse("36 25 8:1 / /srv rw,noatime - xfs /dev/sda1 rw,attr2,logbufs=8"));
	assert_true(fs.journal_inside);
	assert_true(parse("36 25 8:1 / /srv rw,noatime - xfs /dev/sda1 rw,logdev=/dev/sdb1"));
	assert_false(fs.journal_inside);
	assert_true(parse("36 25 8:1 / /srv rw - ext4 /dev/sda1")); /* no more options */
	assert_false(fs.no_barrier);
	snprintf(line, sizeof(line), "36 25 8:1 / /%0200d rw - ext4 /dev/sda1 rw", 0);
	assert_true(parse(line));
	assert_int_equal(strlen(fs.mountpoint), CANFS_FS_MOUNTPOINT_MAX - 1);
}

/* Of a file system of each kind of disk, what is below it, and what the kernel tells of its log. */
static void test_file_systems(void **state)
{
	const struct fake_root *root = *state;

	make_disk(root, "8:0", DEVICES "/sda", "1\n", "none [mq-deadline]\n", "75000\n");
	make_disk(root, "259:0", DEVICES "/nvme0n1", "0\n", "[none] mq-deadline\n", "2000\n");
	make_disk(root, "254:0", DEVICES "/vda", "1\n", "[none] mq-deadline\n", "75000\n");
	make_partition(root, "8:1", DEVICES "/sda/sda1");
	make_partition(root, "8:2", DEVICES "/sda/sda2");
	fake_root_write(root, "/proc/fs/jbd2/sda1-8/info", "");
	fake_root_write(root, "/proc/fs/ext4/sda1/fc_info", "fc stats:\n0 commits\n");
	fake_root_write(root, "/proc/fs/ext4/sda2/fc_info", "fc stats:\n12 commits\n");
	mount_all(root,
		"20 1 8:1 / /a rw - ext4 /dev/sda1 rw\n21 1 8:2 / /b rw - ext4 /dev/sda2 rw\n"
		"22 1 8:1 / /c rw - ext4 /dev/sda1 rw\n23 1 259:0 / /d rw - xfs /dev/x rw\n"
		"24 1 254:0 / /e rw - ext4 /dev/vda rw\n");
	gather(root);
	assert_int_equal(host.file_systems, 4);
	assert_string_equal(host.file_system[0].mountpoint, "/a");
	assert_true(host.file_system[0].rotational && host.file_system[0].journal_inside);
	assert_false(host.file_system[0].fast_commit);
	assert_true(host.file_system[1].rotational && host.file_system[1].fast_commit);
	assert_false(host.file_system[1].journal_inside);
	assert_true(host.file_system[2].journal_inside && !host.file_system[2].rotational);
	assert_false(host.file_system[3].rotational);
	assert_string_equal(canfs_flash(&host)->name, "nvme0n1");
	fake_root_write(root, "/proc/fs/ext4/sda2/fc_info", "fc stats:");
	gather(root);
	assert_false(host.file_system[1].fast_commit);
}

static void test_kernel_server(void **state)
{
	const struct fake_root *root = *state;

	run_process(root, "700", "nfsd");
	run_process(root, "701", "nfsd");
	gather(root);
	assert_int_equal(host.kernel_threads, 2);
	assert_string_equal(host.async_export, "");
	fake_root_write(root, "/proc/fs/nfs/exports",
		"# Version 1.1\n# Path Client(Flags) # IPs\n"
		"/a\t*(rw,root_squash,sync,wdelay,uuid=0:0)\n/async,\t*(rw,sync,wdelay)\n"
		"/b\\040c\t10.0.0.0/8(rw,root_squash,async,wdelay)\n/d\t*(rw,async,wdelay)\n");
	gather(root);
	assert_string_equal(host.async_export, "/b\\040c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_servers_only, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_partition, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_dm_and_md, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_multipath, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(test_btrfs, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_virtual_disks, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_torn_files, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_what_is_not_there, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(test_too_many, fake_root_setup, fake_root_teardown),
		cmocka_unit_test(test_mount_lines),
		cmocka_unit_test(test_mount_options),
		cmocka_unit_test_setup_teardown(
			test_file_systems, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_kernel_server, fake_root_setup, fake_root_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
