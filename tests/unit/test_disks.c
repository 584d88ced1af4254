// SPDX-License-Identifier: LGPL-3.0-or-later
/* Disks below an anonymous device (btrfs, overlay), their types, and what becomes of them in the market. */
#include "tests/unit/fake_root.h"

#include <sys/sysmacros.h>
#include "server/monitors/devices.h"
#include "server/monitors/disk_types.h"
#include "server/market/sampler.h"
#include "server/monitors/mountinfo.h"

#define ANONYMOUS makedev(0, 77)
#define BTRFS_A   "/sys/fs/btrfs/1b5cc7a2-a/devices/"
#define BTRFS_B   "/sys/fs/btrfs/9f00d3c1-b/devices/"

static struct fake_root root;

static void say(const char *message)
{
	print_message("%s\n", message);
}

static void put_link(const char *path, const char *target)
{
	char full[PATH_MAX];

	fake_root_write(&root, path, "");
	fake_root_full(&root, path, full);
	assert_int_equal(unlink(full), 0);
	assert_int_equal(symlink(target, full), 0);
}

/* A disk with one partition, as sda and sda1. */
static void put_disk(const char *name, const char *rotational)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/devices/%s/queue/rotational", name);
	fake_root_write(&root, path, rotational);
	snprintf(path, sizeof(path), "/sys/devices/%s/%s1/partition", name, name);
	fake_root_write(&root, path, "1\n");
	snprintf(path, sizeof(path), "/sys/devices/%s/stat", name);
	fake_root_write(&root, path, "0 0 0 0 0 0 0 0 0 0 0\n");
	snprintf(path, sizeof(path), "/sys/devices/%s/inflight", name);
	fake_root_write(&root, path, "0 0\n");
}

static int set_up(void **state)
{
	(void)state;
	fake_root_make(&root);
	put_disk("sda", "1\n");
	put_disk("sdb", "0\n");
	put_disk("vda", "1\n");
	put_link("/sys/dev/block/8:1", "../../devices/sda/sda1");
	put_link("/sys/dev/block/8:16", "../../devices/sdb");
	put_link("/sys/dev/block/254:0", "../../devices/vda");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fake_root_remove(&root);
	return 0;
}

static void mounts(const char *text)
{
	fake_root_write(&root, "/proc/self/mountinfo", text);
}

/* How many, and the last name of the first. */
static int find(const char *path, char first[64])
{
	struct canfs_disk_path disks[4];
	int count = canfs_find_disks(root.path, ANONYMOUS, path, disks, 4);

	snprintf(first, 64, "%s", count > 0 ? strrchr(disks[0].path, '/') + 1 : "");
	return count;
}

static void btrfs_has_all_its_devices(void **state)
{
	char first[64];

	(void)state;
	put_link(BTRFS_A "sda1", "../../../../devices/sda/sda1");
	put_link(BTRFS_A "sdb", "../../../../devices/sdb");
	put_link(BTRFS_B "vda", "../../../../devices/vda");
	fake_root_write(&root, "/sys/fs/btrfs/features/raid1c34", "0\n");
	mounts("1 0 254:0 / / rw - ext4 /dev/vda rw\n"
	       "2 1 0:45 /sub /srv rw,noatime shared:5 - btrfs /dev/sdb rw,subvol=/sub\n"
	       "3 1 0:46 / /other rw - btrfs /dev/vda rw\n");
	assert_int_equal(find("/srv/data", first), 2);
	assert_int_equal(find("/other", first), 1);
	assert_string_equal(first, "vda");
	/* Not its own, but that of a file system which it does not name. */
	assert_int_equal(find("/srvdata", first), -ENODATA);
	/* The source is a name for the device, as of LVM. */
	put_link("/dev/mapper/vg-data", "../sda1");
	fake_root_write(&root, "/dev/sda1", "");
	mounts("2 1 0:45 / /srv rw - btrfs /dev/mapper/vg-data rw\n");
	assert_int_equal(find("/srv/data", first), 2);
	mounts("2 1 0:45 / /srv rw - btrfs /dev/sdz rw\n");
	assert_int_equal(find("/srv/data", first), -ENODATA);
	mounts("2 1 0:45 / /srv rw - btrfs none rw\n");
	assert_int_equal(find("/srv/data", first), -ENODATA);
}

static void overlay_is_on_the_disks_of_its_upper_layer(void **state)
{
	char first[64];

	(void)state;
	mounts("1 0 254:0 / / rw - ext4 /dev/vda rw\n"
	       "2 1 8:1 / /var/lib/my\\040layers rw - xfs /dev/sda1 rw\n"
	       "3 1 0:50 / /srv rw - overlay overlay "
	       "rw,lowerdir=/a:/b,upperdir=/var/lib/my\\040layers/up,workdir=/w\n"
	       "4 1 0:51 / /read-only ro - overlay overlay ro,lowerdir=/a:/b\n"
	       "5 1 0:52 / /comma rw - overlay overlay rw,lowerdir=/a,upperdir=/c\\054upperdir=/x\n"
	       "6 1 8:16 / /c,upperdir= rw - ext4 /dev/sdb rw\n"
	       "7 1 0:53 / /relative rw - overlay overlay rw,lowerdir=a,upperdir=up\n");
	assert_int_equal(find("/srv/data", first), 1);
	assert_string_equal(first, "sda");
	assert_int_equal(find("/read-only", first), -ENODATA);
	assert_int_equal(find("/comma", first), 1);
	assert_string_equal(first, "sdb");
	assert_int_equal(find("/relative", first), -ENODATA);
}

static void overlay_on_btrfs_behind_a_link(void **state)
{
	char first[64];

	(void)state;
	put_link(BTRFS_A "sda1", "../../../../devices/sda/sda1");
	put_link(BTRFS_A "sdb", "../../../../devices/sdb");
	fake_root_write(&root, "/data/up/file", "");
	put_link("/layers", "data");
	mounts("1 0 254:0 / / rw - ext4 /dev/vda rw\n"
	       "2 1 0:45 / /data rw - btrfs /dev/sda1 rw\n"
	       "3 1 0:50 / /srv rw - overlay overlay rw,upperdir=/layers/up\n");
	assert_int_equal(find("/srv/data", first), 2);
}

/* In a container the upper layer is a path of the host: here it leads to the overlay again. */
static void overlay_that_leads_to_itself_ends(void **state)
{
	char first[64];

	(void)state;
	mounts("1 0 0:50 / / rw - overlay overlay rw,upperdir=/var/lib/docker/up\n");
	assert_int_equal(find("/srv/data", first), -ENODATA);
}

static void other_file_systems_have_no_disk(void **state)
{
	char first[64];

	(void)state;
	mounts("1 0 254:0 / / rw - ext4 /dev/vda rw\n"
	       "2 1 0:45 / /srv rw - tmpfs tmpfs rw\n"
	       "3 1 0:46 / /nfs rw - nfs4 host:/x rw\n");
	assert_int_equal(find("/srv/data", first), -ENODATA);
	assert_int_equal(find("/nfs/data", first), -ENODATA);
	/* Not even if the path seems to be on one: st_dev says no. */
	assert_int_equal(find("/elsewhere", first), -ENODATA);
	mounts("");
	assert_int_equal(find("/srv/data", first), -ENODATA);
}

static void longest_and_last_mount_counts(void **state)
{
	struct canfs_mountinfo_entry mount;

	(void)state;
	assert_int_equal(
		canfs_find_mount("1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /s rw - ext4 b rw\n"
				 "3 1 8:3 / /s rw a:1 b:2 - xfs c rw\n",
			"/s/x", &mount),
		0);
	assert_string_equal(mount.source, "c");
	assert_string_equal(mount.type, "xfs");
	assert_int_equal(mount.device, makedev(8, 3));
	/* Torn lines are none. */
	assert_int_equal(
		canfs_find_mount("\n1\n1 0\n1 0 8\n1 0 8:\n1 0 8:1\n1 0 8:1 /\n1 0 8:1 / /\n"
				 "1 0 8:1 / / rw\n1 0 8:1 / / rw -\nx 0 8:1 / / rw - ext4 a b\n"
				 "1 0 99999999999:1 / / rw - ext4 a b\n",
			"/s", &mount),
		-ENODATA);
	assert_int_equal(canfs_find_mount("", "/s", &mount), -ENODATA);
	assert_int_equal(canfs_find_mount("1 0 8:1 / / rw - ext4 a b\n", "", &mount), -ENODATA);
	assert_int_equal(canfs_find_mount("1 0 8:1 / /a\\134b rw - ext4 a", "/a\\b/c", &mount), 0);
}

static const char *type_of(const char *name, const char *file, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/devices/%s/%s", name, file);
	fake_root_write(&root, path, text);
	snprintf(path, sizeof(path), "/sys/devices/%s", name);
	return canfs_disk_type(root.path, path)->name;
}

static void types_are_recognized(void **state)
{
	(void)state;
	assert_string_equal(type_of("sdc", "queue/rotational", "1\n"), "rotational");
	assert_string_equal(type_of("sdc", "queue/rotational", "0\n"), "ssd");
	assert_string_equal(type_of("sdc", "device/vendor", "ATA     \n"), "ssd");
	assert_string_equal(type_of("sdc", "device/vendor", "Msft    \n"), "virtual");
	assert_string_equal(type_of("sdd", "device/model", "QEMU HARDDISK   \n"), "virtual");
	assert_string_equal(type_of("nvme0n1", "queue/rotational", "0\n"), "nvme");
	assert_string_equal(
		type_of("nvme0n1", "device/model", "Amazon Elastic Block Store   \n"), "virtual");
	assert_string_equal(type_of("vdb", "queue/rotational", "0\n"), "virtual");
	assert_string_equal(type_of("xvda", "queue/rotational", "1\n"), "virtual");
	assert_string_equal(type_of("rbd0", "queue/rotational", "0\n"), "virtual");
	assert_string_equal(type_of("nbd0", "queue/rotational", "0\n"), "virtual");
	assert_string_equal(type_of("loop0", "queue/rotational", "1\n"), "rotational");
	assert_string_equal(canfs_disk_type(root.path, "none")->name, "rotational");
}

static void raid_controllers_are_recognized(void **state)
{
	static const struct {
		const char *vendor, *model, *type;
	} volumes[] = {
		{ "DELL    ", "PERC H730P Mini ", "raid" },
		{ "Dell    ", "PERC H755       ", "raid" },
		{ "LSI     ", "MR9271-8iCC     ", "raid" },
		{ "LSILOGIC", "Logical Volume  ", "raid" },
		{ "AVAGO   ", "MR9361-8i       ", "raid" },
		{ "BROADCOM", "MR9560-16i      ", "raid" },
		{ "HP      ", "LOGICAL VOLUME  ", "raid" },
		{ "HPE     ", "LOGICAL VOLUME  ", "raid" },
		{ "Adaptec ", "LOGICAL VOLUME  ", "raid" },
		{ "Adaptec ", "RAID6           ", "raid" },
		{ "ADAPTEC ", "Data 2          ", "raid" },
		{ "ASR8405 ", "storage         ", "raid" },
		{ "Areca   ", "vs#0 av1        ", "raid" },
		{ "IBM     ", "ServeRAID M5110e", "raid" },
		{ "IBM     ", "SERVERAID       ", "raid" },
		/* Behind such a controller, or with its maker's name, but one disk */
		{ "SEAGATE ", "ST9300603SS     ", "rotational" },
		{ "HP      ", "EG0600FBVFP     ", "rotational" },
		{ "IBM-ESXS", "ST9300603SS   F ", "rotational" },
		{ "DELL    ", "                ", "rotational" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(volumes) / sizeof(volumes[0]); i++) {
		(void)type_of("sdr", "queue/rotational", "1\n");
		(void)type_of("sdr", "device/vendor", volumes[i].vendor);
		assert_string_equal(
			type_of("sdr", "device/model", volumes[i].model), volumes[i].type);
	}
	/* One of flash that says so is as any other. */
	(void)type_of("sdr", "device/model", "PERC H755       ");
	assert_string_equal(type_of("sdr", "queue/rotational", "0\n"), "ssd");
}

/* A faster kind takes more, and gets expensive later. */
static void types_are_in_order_of_what_they_bear(void **state)
{
	const struct canfs_disk_type *rotational, *virtual, *ssd, *nvme;

	(void)state;
	rotational = canfs_disk_type(root.path, "/sys/devices/sda");
	ssd = canfs_disk_type(root.path, "/sys/devices/sdb");
	virtual = canfs_disk_type(root.path, "/sys/devices/vda");
	(void)type_of("nvme0n1", "queue/rotational", "0\n");
	nvme = canfs_disk_type(root.path, "/sys/devices/nvme0n1");
	assert_true(rotational->reads == 1 && rotational->writes == 32 && rotational->k == 4);
	assert_true(rotational->reads < virtual->reads && virtual->reads < ssd->reads);
	assert_true(ssd->reads < nvme->reads && ssd->writes < nvme->writes);
	assert_true(rotational->k <= virtual->k && virtual->k < ssd->k && ssd->k < nvme->k);
}

struct seen {
	double k;
	struct canfs_monitor_traits disk;
};

static void see(const struct canfs_price_table_view *view, void *arg)
{
	struct seen *seen = arg;

	seen += strcmp(view->path, "/a") != 0;
	*seen = (struct seen) { view->market->k[CANFS_DISK], *view->disk };
}

/* The k of the price tables /a and /b after a step. */
static void look(struct canfs_sampler *sampler, struct seen seen[2])
{
	static uint64_t now_usec = 1000000;

	canfs_sampler_step(sampler, now_usec += 100000);
	canfs_sampler_visit(sampler, now_usec, see, seen);
}

static void k_is_that_of_the_exports_own_disk(void **state)
{
	const struct canfs_sampler_config config = { .interval_ms = 100,
		.monitors = 1u << CANFS_DISK,
		.setup = { .root = root.path, .disk_read_queue = 5 },
		.say = say };
	struct canfs_sampler *sampler;
	struct canfs_price_table *a, *b;
	struct canfs_settings before, settings;
	struct seen seen[2];

	(void)state;
	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	assert_int_equal(canfs_price_table_open(&a, sampler, "/a", makedev(8, 16), NULL), 0);
	assert_int_equal(canfs_price_table_open(&b, sampler, "/b", makedev(0, 1), NULL), 0);
	look(sampler, seen);
	assert_true(seen[0].k == 32 && seen[1].k == 4);
	assert_string_equal(seen[0].disk.type, "ssd");
	assert_true(seen[0].disk.nominal_reads == 5 && seen[0].disk.nominal_writes == 64);
	assert_null(seen[1].disk.type);

	/* What the administrator says holds for all, until that is taken back. */
	canfs_sampler_settings(sampler, &settings);
	before = settings;
	assert_true(settings.k[CANFS_DISK] == 0);
	settings.k[CANFS_DISK] = 12;
	assert_int_equal(canfs_sampler_set(sampler, &before, &settings), 0);
	look(sampler, seen);
	assert_true(seen[0].k == 12 && seen[1].k == 12);
	canfs_sampler_settings(sampler, &settings);
	before = settings;
	assert_true(settings.k[CANFS_DISK] == 12);
	settings.k[CANFS_DISK] = 0;
	assert_int_equal(canfs_sampler_set(sampler, &before, &settings), 0);
	look(sampler, seen);
	assert_true(seen[0].k == 32 && seen[1].k == 4);
	settings.k[CANFS_CPU] = 0;
	assert_int_equal(canfs_sampler_set(sampler, &before, &settings), -EINVAL);
	canfs_price_table_close(a);
	canfs_price_table_close(b);
	canfs_sampler_free(sampler);
}

/*
 * The way to an export may hang one day, and all prices with it: it is looked at before the export is there, and
 * then no more.
 */
static void links_to_an_export_are_followed_once(void **state)
{
	struct canfs_sampler_config config = { .interval_ms = 100,
		.monitors = 1u << CANFS_DISK,
		.setup = { .root = root.path },
		.say = say };
	struct canfs_sampler *sampler;
	struct canfs_price_table *prices;
	struct seen seen[2];
	char first[64], full[PATH_MAX];

	(void)state;
	put_link(BTRFS_A "sdb", "../../../../devices/sdb");
	fake_root_write(&root, "/srv/data/file", "");
	put_link("/a", "srv/data");
	mounts("2 1 0:45 / /srv rw - btrfs /dev/sdb rw\n");
	assert_int_equal(find("/a", first), -ENODATA);
	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	assert_int_equal(canfs_price_table_open(&prices, sampler, "/a", ANONYMOUS, NULL), 0);
	look(sampler, seen);
	assert_string_equal(seen[0].disk.type, "ssd");

	fake_root_full(&root, "/a", full);
	assert_int_equal(unlink(full), 0);
	config.setup.disk_read_queue = 5;
	assert_int_equal(canfs_sampler_reload(sampler, &config, 1), 1);
	look(sampler, seen);
	assert_string_equal(seen[0].disk.type, "ssd");
	assert_true(seen[0].disk.nominal_reads == 5);
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

static void a_configured_k_goes_before_the_type(void **state)
{
	const struct canfs_sampler_config config = { .interval_ms = 100,
		.monitors = 1u << CANFS_DISK,
		.k_disk = 3,
		.setup = { .root = root.path },
		.say = say };
	struct canfs_sampler *sampler;
	struct canfs_price_table *prices;
	struct seen seen[2];

	(void)state;
	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	assert_int_equal(canfs_price_table_open(&prices, sampler, "/a", makedev(8, 16), NULL), 0);
	look(sampler, seen);
	assert_true(seen[0].k == 3);
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

/* A mirror of different disks is as expensive as the one that gets expensive first. */
static void the_disk_that_gets_expensive_first_speaks_for_all(void **state)
{
	const struct canfs_sampler_config config = { .interval_ms = 100,
		.monitors = 1u << CANFS_DISK,
		.setup = { .root = root.path },
		.say = say };
	struct canfs_sampler *sampler;
	struct canfs_price_table *prices;
	struct seen seen[2];

	(void)state;
	put_link(BTRFS_A "sda1", "../../../../devices/sda/sda1");
	put_link(BTRFS_A "sdb", "../../../../devices/sdb");
	mounts("2 1 0:45 / /a rw - btrfs /dev/sdb rw\n");
	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	assert_int_equal(canfs_price_table_open(&prices, sampler, "/a", ANONYMOUS, NULL), 0);
	look(sampler, seen);
	assert_true(seen[0].k == 4);
	assert_string_equal(seen[0].disk.type, "rotational");
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(btrfs_has_all_its_devices),
		TEST(overlay_is_on_the_disks_of_its_upper_layer),
		TEST(overlay_on_btrfs_behind_a_link),
		TEST(overlay_that_leads_to_itself_ends),
		TEST(other_file_systems_have_no_disk),
		TEST(longest_and_last_mount_counts),
		TEST(types_are_recognized),
		TEST(raid_controllers_are_recognized),
		TEST(types_are_in_order_of_what_they_bear),
		TEST(k_is_that_of_the_exports_own_disk),
		TEST(links_to_an_export_are_followed_once),
		TEST(a_configured_k_goes_before_the_type),
		TEST(the_disk_that_gets_expensive_first_speaks_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
