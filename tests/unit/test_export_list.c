// SPDX-License-Identifier: LGPL-3.0-or-later
/* The exports of the kernel's server: which have price tables, and who may have their prices. */
#include "tests/unit/fake_root.h"

#include <arpa/inet.h>

#include "priced/export_list.h"

#define ETAB    "/var/lib/nfs/etab"
#define KERNEL  "/proc/fs/nfsd/exports"
#define DOMAINS "/proc/net/rpc/auth.unix.ip/content"

#define PRIVILEGED   700
#define UNPRIVILEGED 7000

static struct fake_root root;
static struct canfs_sampler *sampler;
static struct canfs_export_list *list;
static char said[256];

static void say(const char *message)
{
	snprintf(said, sizeof(said), "%s", message);
}

static void put_mounts(const char *device)
{
	char text[512];

	snprintf(text, sizeof(text),
		"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
		"2 1 %s / /srv rw - ext4 /dev/sdb1 rw\n"
		"3 1 0:44 / /fuse rw - fuse.sshfs host: rw\n",
		device);
	fake_root_write(&root, "/proc/self/mountinfo", text);
}

static int set_up(void **state)
{
	struct canfs_sampler_config market = {
		.interval_ms = 100, .publish = true, .monitors = 1u << CANFS_MEMORY, .say = say
	};
	struct canfs_export_list_config config = { .etab = ETAB, .say = say };

	(void)state;
	fake_root_make(&root);
	market.setup.root = root.path;
	config.root = root.path;
	put_mounts("8:17");
	assert_int_equal(canfs_sampler_new(&sampler, &market), 0);
	config.sampler = sampler;
	return canfs_export_list_new(&list, &config);
}

static int tear_down(void **state)
{
	(void)state;
	canfs_export_list_free(list);
	canfs_sampler_free(sampler);
	fake_root_remove(&root);
	return 0;
}

static void put_exports(const char *file, const char *text)
{
	fake_root_write(&root, file, text);
	assert_int_equal(canfs_export_list_refresh(list), 1);
}

static void keep(struct canfs_price_table *prices, void *arg)
{
	*(struct canfs_price_table **)arg = prices;
}

/* What the client gets; NULL: nothing. */
static struct canfs_price_table *ask_from(
	const char *name, uint32_t nfs_version, const char *address, unsigned int port)
{
	struct sockaddr_storage client = { .ss_family = AF_INET };
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)&client;
	struct canfs_price_table *prices = NULL;
	int ret;

	assert_int_equal(inet_pton(AF_INET, address, &ipv4->sin_addr), 1);
	ipv4->sin_port = htons((in_port_t)port);
	ret = canfs_export_list_use(list, name, nfs_version, &client, keep, &prices);
	assert_int_equal(ret == 0, prices ? 1 : 0);
	return prices;
}

static struct canfs_price_table *ask(const char *name, uint32_t nfs_version)
{
	return ask_from(name, nfs_version, "192.0.2.1", PRIVILEGED);
}

static uint64_t price_tables(void)
{
	struct canfs_sampler_counters counters;

	canfs_sampler_count(sampler, &counters);
	return counters.exports;
}

static void without_lists_nothing_is_exported(void **state)
{
	(void)state;
	assert_int_equal(canfs_export_list_refresh(list), 1); /* the mounts are new */
	assert_int_equal(canfs_export_list_refresh(list), 0);
	assert_null(ask("/srv/data", 3));
	assert_int_equal(price_tables(), 0);
}

static void either_list_will_do(void **state)
{
	(void)state;
	put_exports(ETAB, "/srv/a\t*(rw)\n");
	assert_non_null(ask("/srv/a", 3));
	put_exports("/proc/fs/nfs/exports", "# Version 1.1\n/srv/b\t*(rw)\n");
	assert_non_null(ask("/srv/a", 3));
	assert_non_null(ask("/srv/b", 3));
	/* Where that is mounted, it is the same list. */
	put_exports(KERNEL, "/srv/c\t*(rw)\n");
	assert_null(ask("/srv/b", 3));
	assert_non_null(ask("/srv/c", 3));
	assert_int_equal(price_tables(), 2);
}

static void an_export_that_stays_keeps_its_price_table(void **state)
{
	struct canfs_price_table *prices;

	(void)state;
	put_exports(ETAB, "/srv/a\t*(rw)\n/srv/b\t*(rw)\n");
	prices = ask("/srv/a", 3);
	put_exports(ETAB, "/srv/a\t192.0.2.0/24(ro)\n/srv/c\t*(rw)\n");
	assert_ptr_equal(ask("/srv/a", 3), prices);
	assert_null(ask("/srv/b", 3));
	assert_int_equal(price_tables(), 2);
	/* On another disk it is another one. */
	put_mounts("8:33");
	assert_int_equal(canfs_export_list_refresh(list), 1);
	assert_non_null(ask("/srv/a", 3));
	assert_int_equal(price_tables(), 2);
}

static void what_cannot_be_read_changes_nothing(void **state)
{
	char full[PATH_MAX];

	(void)state;
	put_exports(ETAB, "/srv/a\t*(rw)\n");
	fake_root_full(&root, ETAB, full);
	assert_int_equal(remove(full), 0);
	assert_int_equal(mkdir(full, 0755), 0);
	assert_int_equal(canfs_export_list_refresh(list), -EISDIR);
	assert_non_null(ask("/srv/a", 3));
	/* Gone it exports nothing. */
	assert_int_equal(rmdir(full), 0);
	assert_int_equal(canfs_export_list_refresh(list), 1);
	assert_null(ask("/srv/a", 3));
}

static void the_longest_path_counts(void **state)
{
	struct canfs_price_table *outer, *inner;

	(void)state;
	put_exports(ETAB, "/srv\t*(rw)\n/srv/data/deep\t192.0.2.1(rw)\n");
	outer = ask("/srv", 3);
	inner = ask("/srv/data/deep", 3);
	assert_non_null(outer);
	assert_ptr_not_equal(inner, outer);
	assert_ptr_equal(ask("/srv/data", 3), outer);
	assert_ptr_equal(ask("/srv/data/deeper", 3), outer);
	assert_ptr_equal(ask("/srv/data/deep/down", 3), inner);
	/* As mountd has it: of those that this client may use. */
	assert_ptr_equal(ask_from("/srv/data/deep", 3, "192.0.2.2", PRIVILEGED), outer);
	assert_null(ask("/srv2", 3));
	assert_null(ask("srv", 3));
	assert_null(ask("", 3));
}

static void nfs4_begins_at_its_root(void **state)
{
	(void)state;
	put_exports(ETAB, "/srv/nfs\t*(rw,fsid=0)\n/srv/nfs/data\t*(rw,fsid=2)\n/other\t*(rw)\n");
	assert_ptr_equal(ask("/data", 4), ask("/srv/nfs/data", 3));
	assert_ptr_equal(ask("/", 4), ask("/srv/nfs", 3));
	assert_null(ask("/data", 3));
}

/* Without one, mountd makes one of the root of the file systems, which has no files to write to. */
static void without_one_at_the_root_of_all(void **state)
{
	(void)state;
	put_exports(ETAB, "/srv/data\t*(rw)\n");
	put_exports(KERNEL, "/\t*(ro,v4root,fsid=0)\n/srv\t*(ro,v4root)\n/srv/data\t*(rw)\n");
	assert_ptr_equal(ask("/srv/data", 4), ask("/srv/data", 3));
	assert_non_null(ask("/srv/data", 4));
	assert_null(ask("/srv", 4));
	assert_int_equal(price_tables(), 1);
}

static void clients_are_admitted_by_address_and_port(void **state)
{
	(void)state;
	put_exports(ETAB, "/srv/a\t192.0.2.0/24(rw)\n/srv/b\t192.0.2.1(rw,insecure)\n");
	assert_non_null(ask_from("/srv/a", 3, "192.0.2.200", PRIVILEGED));
	assert_null(ask_from("/srv/a", 3, "192.0.2.200", UNPRIVILEGED));
	assert_null(ask_from("/srv/a", 3, "192.0.3.1", PRIVILEGED));
	assert_non_null(ask_from("/srv/b", 3, "192.0.2.1", UNPRIVILEGED));
	assert_null(ask_from("/srv/b", 3, "192.0.2.2", UNPRIVILEGED));
}

static void names_are_what_the_kernel_was_told(void **state)
{
	(void)state;
	fake_root_write(&root, DOMAINS,
		"#class IP domain\nnfsd 192.0.2.1 *.example.com\nnfsd 192.0.2.2 @trusted,host\n");
	put_exports(ETAB, "/srv/a\t*.example.com(rw)\n/srv/b\thost(rw)\n");
	put_exports(KERNEL, "/srv/c\t@trusted,host(rw)\n");
	assert_non_null(ask("/srv/a", 3));
	assert_null(ask("/srv/b", 3));
	assert_non_null(ask_from("/srv/b", 3, "192.0.2.2", PRIVILEGED));
	assert_non_null(ask_from("/srv/c", 3, "192.0.2.2", PRIVILEGED));
	assert_null(ask_from("/srv/a", 3, "192.0.2.3", PRIVILEGED));
}

/* What might hang is not even looked for. */
static void an_export_need_not_have_a_disk(void **state)
{
	(void)state;
	put_exports(ETAB, "/fuse/a\t*(rw,fsid=7)\n");
	assert_non_null(ask("/fuse/a", 3));
}

static void paths_are_bounded(void **state)
{
	static char text[64 * (CANFS_EXPORTS_MAX + 2)];
	size_t len = 0;

	(void)state;
	for (unsigned int i = 0; i < CANFS_EXPORTS_MAX + 2; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "/srv/%u\t*(rw)\n", i);
	put_exports(ETAB, text);
	assert_int_equal(price_tables(), CANFS_EXPORTS_MAX);
	assert_non_null(strstr(said, "more than 512 paths"));
}

static void put_link(const char *path, const char *target)
{
	char full[PATH_MAX];

	fake_root_full(&root, path, full);
	assert_int_equal(symlink(target, full), 0);
}

static void put_directories(void)
{
	fake_root_write(&root, "/srv/real/deep/file", "");
	fake_root_write(&root, "/fuse/file", "");
	put_link("/srv/link", "real");
	put_link("/srv/absolute", "/srv/real");
	put_link("/srv/twice", "./absolute/../link/");
	put_link("/srv/loop", "loop");
	put_link("/srv/real/up", "../../srv/real/deep");
	put_link("/fuse/link", "/srv/real");
	put_link("/srv/of_root", "/real");
	put_link("/srv/out", "../../../etc");
}

/* mountd resolves links in the path, for every client. */
static void a_name_means_what_mountd_finds(void **state)
{
	static const char *const same[] = { "//srv/real", "/srv//real", "/srv/./real", "/srv/real/",
		"/./srv/real/.", "/srv/none/../real", "/srv/link", "/srv/link/",
		"//srv/./link//deep", "/srv/absolute", "/srv/twice", "/srv/link/none/such",
		"/srv/real/up", "/../srv/real" };
	static const char *const others[] = { "srv/real", "", "/srv", "/srv/loop", "/srv/loop/real",
		"/fuse/link", "/srv/real2", "/srv/link/../other", "/srv/of_root" };
	struct canfs_price_table *real;

	(void)state;
	put_directories();
	put_exports(ETAB, "/srv/real\t*(rw)\n");
	real = ask("/srv/real", 3);
	assert_non_null(real);
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_ptr_equal(ask(same[i], 3), real);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_null(ask(others[i], 3));
	/* With two exports, the one that the link leads to. */
	put_exports(ETAB, "/srv\t*(rw)\n/srv/real\t*(rw)\n");
	assert_ptr_equal(ask("/srv/link/deep", 3), real);
	assert_ptr_equal(ask("/srv/link/..", 3), ask("/srv", 3));
	assert_ptr_not_equal(ask("/srv", 3), real);
	/* A client that may not mount the target of a link gets the export that it may mount. */
	put_exports(ETAB, "/srv/real\t192.0.2.9(rw)\n");
	assert_null(ask("/srv/link", 3));
}

/* Neither a link nor .. leaves the root of NFSv4. */
static void links_stay_below_the_root_of_nfs4(void **state)
{
	struct canfs_price_table *real;

	(void)state;
	put_directories();
	put_exports(ETAB, "/srv\t*(rw,fsid=0)\n/srv/real\t*(rw)\n/etc\t*(rw)\n");
	real = ask("/srv/real", 3);
	assert_ptr_equal(ask("/real", 4), real);
	assert_ptr_equal(ask("//link/./deep/", 4), real);
	assert_ptr_equal(ask("/of_root", 4), real);
	assert_ptr_equal(ask("/../../etc/../real", 4), real);
	assert_ptr_equal(ask("/out", 4), ask("/", 4));
	assert_ptr_equal(ask("/", 4), ask("/srv", 3));
	assert_ptr_equal(ask("/absolute", 4), ask("/", 4));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_lists_nothing_is_exported),
		TEST(either_list_will_do),
		TEST(an_export_that_stays_keeps_its_price_table),
		TEST(what_cannot_be_read_changes_nothing),
		TEST(the_longest_path_counts),
		TEST(nfs4_begins_at_its_root),
		TEST(without_one_at_the_root_of_all),
		TEST(clients_are_admitted_by_address_and_port),
		TEST(names_are_what_the_kernel_was_told),
		TEST(an_export_need_not_have_a_disk),
		TEST(a_name_means_what_mountd_finds),
		TEST(links_stay_below_the_root_of_nfs4),
		TEST(paths_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
