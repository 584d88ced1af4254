// SPDX-License-Identifier: LGPL-3.0-or-later
/* /proc/self/mountinfo: v3, v4, bind mounts, escapes, and lines that are none. */
#include "tests/unit/fake_root.h"

#include <arpa/inet.h>

#include "client-agent/kernel/mounts.h"
#include "common/unescape.h"

#define V3                                                                                         \
	"rw,vers=3,rsize=1048576,namlen=255,hard,proto=tcp,timeo=600,sec=sys,"                     \
	"mountaddr=10.0.0.9,mountvers=3,mountport=20048,mountproto=tcp,local_lock=none"

static const char text[] =
	"22 27 0:21 / /proc rw,nosuid shared:12 - proc proc rw\n"
	"36 27 0:41 / /mnt/a rw,relatime shared:9 - nfs srv:/export " V3 ",addr=10.0.0.1\n"
	"37 27 0:42 / /mnt/with\\040space\\134 rw - nfs4 [fd00::1]:/ rw,vers=4.2,proto=tcp6,"
	"port=12049,sec=krb5p,clientaddr=fd00::2,addr=fd00::1\n"
	"38 27 0:41 /sub /mnt/bind ro,relatime master:1 shared:9 - nfs srv:/export " V3
	",addr=10.0.0.1\n"
	"39 27 0:43 / /mnt/m rw - nfs srv:/other " V3 "\n";

static struct canfs_mounts *parse(const char *mountinfo)
{
	static struct canfs_mounts mounts;

	canfs_mounts_parse(mountinfo, &mounts);
	return &mounts;
}

static void assert_address(const struct canfs_mount *mount, const char *expected)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&mount->address;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&mount->address;
	char shown[INET6_ADDRSTRLEN];

	if (mount->address.ss_family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, shown, sizeof(shown));
	else
		inet_ntop(AF_INET6, &in6->sin6_addr, shown, sizeof(shown));
	assert_string_equal(shown, expected);
}

static void test_nfs_mounts(void **state)
{
	const struct canfs_mounts *mounts = parse(text);
	const struct canfs_mount *v3 = &mounts->mount[0], *v4 = &mounts->mount[1];

	(void)state;
	assert_int_equal(mounts->n, 4);
	assert_int_equal(mounts->malformed, 0);
	assert_int_equal(v3->id, 36);
	assert_int_equal(v3->bdi.minor, 41);
	assert_string_equal(v3->mountpoint, "/mnt/a");
	assert_string_equal(v3->source, "srv:/export");
	assert_string_equal(v3->export_path, "/export");
	assert_int_equal(v3->version, 3);
	assert_int_equal(v3->port, 0);
	assert_int_equal(v3->mount_port, 20048);
	assert_true(v3->tcp);
	assert_string_equal(v3->sec, "sys");
	assert_address(v3, "10.0.0.1");

	assert_string_equal(v4->mountpoint, "/mnt/with space\\");
	assert_string_equal(v4->fstype, "nfs4");
	assert_string_equal(v4->export_path, "/");
	assert_int_equal(v4->version, 4);
	assert_int_equal(v4->minor_version, 2);
	assert_int_equal(v4->port, 12049);
	assert_string_equal(v4->sec, "krb5p");
	assert_address(v4, "fd00::1");

	assert_address(&mounts->mount[3], "10.0.0.9"); /* no addr=: mountaddr= */
}

/* A server that leaves its ports to chance (NFS-Ganesha's MNT_Port) has another one over TCP. */
static void test_mount_port_of_udp(void **state)
{
	static const char *const udp[] = { "mountport=40001,mountproto=udp",
		"mountproto=udp6,mountport=40001" };
	char line[160];

	(void)state;
	for (size_t i = 0; i < sizeof(udp) / sizeof(udp[0]); i++) {
		snprintf(line, sizeof(line), "36 27 0:41 / /m rw - nfs srv:/e rw,vers=3,%s\n",
			udp[i]);
		const struct canfs_mounts *mounts = parse(line);
		assert_int_equal(mounts->n, 1);
		assert_int_equal(mounts->mount[0].mount_port, 0);
	}
}

static void test_options(void **state)
{
	const struct canfs_mount_options *options = &parse(text)->mount[0].options;

	(void)state;
	assert_int_equal(options->rsize_bytes, 1048576);
	assert_int_equal(options->timeo_dsec, 600);
	assert_int_equal(options->acregmax_sec, 60);
	assert_int_equal(options->nconnect, 0);
	assert_false(options->soft || options->sync || options->noac || options->udp);
	assert_false(options->no_lookup_cache || options->no_callback || options->read_only);

	options = &parse(
		"1 1 0:41 / /m rw - nfs s:/x ro,sync,vers=4.0,rsize=odd,wsize=4096,acregmax=0,"
		"acdirmax=7,softerr,noac,proto=udp,nconnect=16,timeo=99999999999,"
		"clientaddr=0.0.0.0,lookupcache=none\n")
			   ->mount[0]
			   .options;
	assert_int_equal(options->rsize_bytes, 0);
	assert_int_equal(options->wsize_bytes, 4096);
	assert_int_equal(options->timeo_dsec, 0);
	assert_int_equal(options->acregmax_sec, 0);
	assert_int_equal(options->acdirmax_sec, 7);
	assert_int_equal(options->nconnect, 16);
	assert_true(options->soft && options->sync && options->noac && options->udp);
	assert_true(options->no_lookup_cache && options->no_callback && options->read_only);
}

/* As Linux prints a link-local address: the interface by its number, whatever the user wrote. */
static void test_a_link_local_server(void **state)
{
	const struct canfs_mounts *mounts =
		parse("36 27 0:41 / /mnt/a rw - nfs4 [fe80::1%eth0]:/export "
		      "rw,vers=4.2,sec=sys,proto=tcp6,clientaddr=fe80::2%3,addr=fe80::1%3\n");
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&mounts->mount[0].address;

	(void)state;
	assert_int_equal(mounts->n, 1);
	assert_string_equal(mounts->mount[0].export_path, "/export");
	assert_address(&mounts->mount[0], "fe80::1");
	assert_int_equal(in6->sin6_scope_id, 3);
}

static void test_mounts_to_leave_alone(void **state)
{
	static const struct {
		const char *options, *why;
	} cases[] = {
		{ "vers=3,sec=sys,addr=10.0.0.1", NULL },
		{ "vers=3,sec=null,addr=10.0.0.1", NULL },
		{ "vers=3,addr=10.0.0.1", NULL },
		{ "vers=4.1,sec=krb5,addr=10.0.0.1", "Kerberos" },
		{ "vers=4.1,sec=krb5i,addr=10.0.0.1", "Kerberos" },
		{ "vers=4.1,sec=krb5p,addr=10.0.0.1", "Kerberos" },
		{ "vers=4.1,sec=sys", "no address" },
		{ "vers=4.2,sec=sys,xprtsec=none,addr=10.0.0.1", NULL },
		{ "vers=4.2,sec=sys,xprtsec=tls,addr=10.0.0.1", "TLS" },
		{ "vers=4.2,sec=sys,xprtsec=mtls,clientaddr=10.0.0.2,addr=10.0.0.1", "TLS" },
		{ "vers=3,xprtsec=of-a-kernel-that-is-yet-to-come,addr=10.0.0.1", "TLS" },
		{ "vers=4.2,sec=krb5p,xprtsec=mtls,addr=10.0.0.1", "TLS" },
		{ "vers=3,sec=lkey,addr=10.0.0.1", "flavor" },
	};
	char line[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why;

		snprintf(line, sizeof(line), "36 27 0:41 / /mnt rw - nfs srv:/x %s\n",
			cases[i].options);
		why = canfs_mount_left_alone(&parse(line)->mount[0]);
		if (cases[i].why)
			assert_non_null(strstr(why, cases[i].why));
		else
			assert_null(why);
	}
}

static void test_bind_mounts_share_a_bdi(void **state)
{
	const struct canfs_mounts *mounts = parse(text);
	size_t index[CANFS_MOUNTS_MAX];

	(void)state;
	assert_int_equal(canfs_mounts_bdis(mounts, index), 3);
	assert_int_equal(index[0], 0);
	assert_int_equal(index[1], 1);
	assert_int_equal(index[2], 3);
}

static void test_the_same_mount(void **state)
{
	const struct canfs_mounts *mounts = parse(text);
	struct canfs_mount mount = mounts->mount[1];

	(void)state;
	assert_int_equal(canfs_mounts_find(mounts, &mount), 1);
	mount.id = 99; /* its numbers were used again */
	assert_int_equal(canfs_mounts_find(mounts, &mount), -ENOENT);
}

static void test_bad_lines_are_counted(void **state)
{
	static const char *const bad[] = {
		"",
		"garbage",
		"40 27 0:44 / /mnt rw - nfs",
		"40 27 0:44 / /mnt rw - nfs srv:/x",
		"40 27 0:44 / /mnt rw nfs srv:/x " V3,
		"x 27 0:44 / /mnt rw - nfs srv:/x " V3,
		"40 27 044 / /mnt rw - nfs srv:/x " V3,
		"40 27 0:44:1 / /mnt rw - nfs srv:/x " V3,
		"40 27 0:99999999999 / /mnt rw - nfs srv:/x " V3,
		"40 27 0:44 / mnt rw - nfs srv:/x " V3,
		"40 27 0:44 / /mnt rw - nfs srv " V3,
		"40 27 0:44 / /mnt rw - nfs [::1 " V3,
		"40 27 0:44 / /mnt rw - nfs srv:/x rw,addr=10.0.0.1",
		"40 27 0:44 / /mnt rw - nfs srv:/x rw,vers=3,addr=10.0.0",
		"40 27 0:44 / /mnt rw - nfs srv:/x rw,vers=9",
		"40 27 0:44 / /mnt rw - nfs srv:/x rw,vers=3,port=70000",
		"40 27 0:44 / /mnt rw - nfs srv:/x rw,vers=3,sec=much-too-long-a-flavor",
	};
	char line[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "%s\n%s", bad[i], text);
		const struct canfs_mounts *mounts = parse(line);
		assert_int_equal(mounts->n, 4);
		assert_int_equal(mounts->malformed, 1);
	}
}

/* Each unfit mount is listed with a reason; a second one of its BDI is not. */
static void test_mounts_that_are_unfit(void **state)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{ "40 27 0:44 / /mnt rw - nfs srv " V3 ",addr=10.0.0.1", "SERVER:/PATH" },
		{ "40 27 0:44 / /mnt rw - nfs srv: " V3 ",addr=10.0.0.1", "SERVER:/PATH" },
		{ "40 27 0:44 / /mnt rw - nfs [::1 " V3 ",addr=10.0.0.1", "SERVER:/PATH" },
		{ "40 27 0:44 / /mnt rw - nfs  " V3 ",addr=10.0.0.1", "SERVER:/PATH" },
		{ "40 27 0:44 / /mnt rw - nfs srv:/x rw,vers=3,addr=srv", "address" },
		{ "40 27 0:44 / /mnt rw - nfs srv:/x rw,vers=3,addr=", "address" },
		{ "40 27 0:44 / /mnt rw - nfs srv:/x rw,vers=3,addr=10.0.0.1.2", "address" },
		{ "40 27 0:44 / /mnt rw - nfs srv:/x rw,vers=3,addr=fe80::1%none0", "address" },
		{ "40 27 0:44 / /mnt rw - nfs srv:/x rw,vers=3,addr=fe80::1%", "address" },
		{ "40 27 0:44 / /mnt rw - nfs srv:/x rw,vers=5,addr=10.0.0.1", "version" },
		{ "40 27 0:44 / /mnt rw - nfs srv:/x rw,vers=,addr=10.0.0.1", "version" },
		{ "40 27 0:44 / /mnt rw - nfs srv:/x rw,addr=10.0.0.1", "version" },
		{ "40 27 0:44 / /mnt rw - nfs srv:/x", "version" },
		{ "40 27 0:44 / /mnt rw - nfs srv:/x rw,vers=3,port=-1", "port" },
		{ "40 27 0:44 / /mnt rw - nfs srv:/x rw,vers=3,sec=much-too-long-a-flavor",
			"flavor" },
		{ "99999999999 27 0:44 / /mnt rw - nfs srv:/x " V3, "numbers" },
	};
	char lines[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct canfs_mounts *mounts;

		snprintf(lines, sizeof(lines), "%s\n%s%s\n", cases[i].line, text, cases[i].line);
		mounts = parse(lines);
		assert_int_equal(mounts->n, 4);
		assert_int_equal(mounts->unfits, 1);
		assert_int_equal(mounts->malformed, 1);
		assert_string_equal(mounts->unfit[0].mountpoint, "/mnt");
		assert_int_equal(mounts->unfit[0].bdi.minor, 44);
		if (!strstr(mounts->unfit[0].why, cases[i].why))
			fail_msg("case %zu: %s", i, mounts->unfit[0].why);
		assert_ptr_equal(canfs_mounts_find_unfit(mounts, -1, mounts->unfit[0].bdi),
			&mounts->unfit[0]);
		assert_null(canfs_mounts_find_unfit(mounts, 36, mounts->mount[0].bdi));
	}
}

static void test_more_unfit_mounts_than_are_named(void **state)
{
	char *many = calloc(100, 128), *at = many;

	(void)state;
	for (int i = 0; i < 100; i++)
		at += sprintf(at, "%d 1 0:%d / /m%d rw - nfs s:/x rw,vers=9\n", i, i, i);
	assert_int_equal(parse(many)->unfits, CANFS_MOUNTS_UNFIT);
	assert_int_equal(parse(many)->malformed, 100);
	free(many);
}

/* Odd values of unimportant options do not make a mount unfit. */
static void test_names_and_odd_numbers(void **state)
{
	static const struct {
		const char *line, *mountpoint, *export_path, *address;
	} cases[] = {
		/* NFS-Ganesha's Tag. */
		{ "39 27 0:44 / /noslash rw - nfs filer:vol1 rw,vers=3,mountaddr=10.0.0.3,"
		  "addr=10.0.0.3",
			"/noslash", "vol1", "10.0.0.3" },
		{ "1 1 0:44 / /m rw - nfs [fd00::3]:vol1 rw,vers=3,addr=fd00::3", "/m", "vol1",
			"fd00::3" },
		{ "1 1 0:44 / /m rw - nfs fd00::3:vol1 rw,vers=3,addr=fd00::3", "/m", "vol1",
			"fd00::3" },
		{ "1 1 0:44 / /m rw - nfs srv://tmp rw,vers=3,addr=10.0.0.3", "/m", "/tmp",
			"10.0.0.3" },
		{ "1 1 0:44 / /m rw - nfs4 srv:/./a/../tmp/ rw,vers=4.2,addr=10.0.0.3", "/m",
			"/tmp", "10.0.0.3" },
		{ "1 1 0:44 / /m rw - nfs4 srv:// rw,vers=4.2,addr=10.0.0.3", "/m", "/",
			"10.0.0.3" },
		{ "1 1 0:44 / /m rw - nfs srv:/a:/b rw,vers=3,addr=10.0.0.3", "/m", "/a:/b",
			"10.0.0.3" },
		{ "1 1 0:44 / /m rw - nfs4 [fe80::1%lo]:/x rw,vers=4.2,addr=fe80::1%lo", "/m", "/x",
			"fe80::1" },
		{ "1 1 0:44 / /m\\012n\\011\\134\\043 rw - nfs s:/a\\040\\012 "
		  "rw,vers=3,addr=10.0.0.3",
			"/m\nn\t\\#", "/a \n", "10.0.0.3" },
		{ "1 1 0:44 / /m rw - nfs s:/x rw,vers=3,rsize=-1,timeo=99999999999,mountport=-5,"
		  "acregmax=x,mountvers=9,mountaddr=unspecified,addr=10.0.0.3",
			"/m", "/x", "10.0.0.3" },
	};
	char line[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct canfs_mounts *mounts;

		snprintf(line, sizeof(line), "%s\n", cases[i].line);
		mounts = parse(line);
		if (mounts->n != 1)
			fail_msg("case %zu: %s", i, mounts->unfits ? mounts->unfit[0].why : "");
		assert_string_equal(mounts->mount[0].mountpoint, cases[i].mountpoint);
		assert_string_equal(mounts->mount[0].export_path, cases[i].export_path);
		assert_address(&mounts->mount[0], cases[i].address);
		assert_null(canfs_mount_left_alone(&mounts->mount[0]));
	}
}

static void test_overlong_path(void **state)
{
	char *line = malloc(2 * CANFS_MOUNT_PATH_MAX);
	char path[CANFS_MOUNT_PATH_MAX + 1];

	(void)state;
	memset(path, 'p', sizeof(path));
	path[0] = '/';
	path[CANFS_MOUNT_PATH_MAX] = '\0';
	sprintf(line, "40 27 0:44 / %s rw - nfs srv:/x " V3 "\n", path);
	assert_int_equal(parse(line)->n, 0);
	assert_int_equal(parse(line)->malformed, 1);
	assert_int_equal(parse(line)->unfits, 1);
	assert_int_equal(strlen(parse(line)->unfit[0].mountpoint), CANFS_MOUNT_PATH_MAX - 1);
	assert_non_null(strstr(parse(line)->unfit[0].why, "mount point is too long"));
	assert_ptr_equal(canfs_mounts_find_unfit_at(parse(line), path), &parse(line)->unfit[0]);
	assert_null(canfs_mounts_find_unfit_at(parse(line), "/ppp"));
	sprintf(line, "40 27 0:44 / /m rw - nfs srv:%s " V3 "\n", path);
	assert_non_null(strstr(parse(line)->unfit[0].why, "export is too long"));
	path[CANFS_MOUNT_PATH_MAX - 1] = '\0';
	sprintf(line, "40 27 0:44 / %s rw - nfs srv:/x " V3 "\n", path);
	assert_int_equal(parse(line)->n, 1);
	free(line);
}

static void test_torn_last_line(void **state)
{
	char cut[sizeof(text)];

	(void)state;
	strcpy(cut, text);
	cut[strlen(cut) - 1] = '\0'; /* only its newline is missing: it may lack more */
	assert_int_equal(parse(cut)->n, 3);
	assert_int_equal(parse(cut)->malformed, 1);
}

static void test_more_mounts_than_fit(void **state)
{
	char *many = calloc(CANFS_MOUNTS_MAX + 5, 128), *at = many;

	(void)state;
	for (int i = 0; i < CANFS_MOUNTS_MAX + 5; i++)
		at += sprintf(at, "%d 1 0:%d / /m%d rw - nfs s:/x rw,vers=3\n", i, i, i);
	assert_int_equal(parse(many)->n, CANFS_MOUNTS_MAX);
	assert_int_equal(parse(many)->dropped, 5);
	free(many);
}

static bool is_of_other(const void *data, const struct canfs_mount *mount)
{
	return strncmp(mount->mountpoint, data, strlen(data)) == 0;
}

/* Binds of one super block leave room for others, and the wanted mount of each BDI stays. */
static void test_more_binds_than_fit(void **state)
{
	static struct canfs_mounts mounts;
	struct fake_root root;
	char *many = calloc(800, 128), *at = many;
	size_t index[CANFS_MOUNTS_MAX];

	(void)state;
	for (int i = 1; i <= 300; i++)
		at += sprintf(at, "%d 1 0:41 / /pods/%d rw - nfs srv:/export rw,vers=3\n", i, i);
	at += sprintf(at, "301 1 0:99 / /scratch rw - nfs other:/scratch rw,vers=3\n");
	assert_int_equal(parse(many)->n, CANFS_MOUNTS_MAX);
	assert_int_equal(parse(many)->dropped, 0);
	assert_int_equal(canfs_mounts_bdis(parse(many), index), 2);
	assert_string_equal(parse(many)->mount[index[0]].mountpoint, "/pods/1");
	assert_string_equal(parse(many)->mount[index[1]].mountpoint, "/scratch");
	for (int i = 400; i < 400 + CANFS_MOUNTS_MAX; i++) /* two too many, then */
		at += sprintf(at, "%d 1 0:%d / /m%d rw - nfs s:/x rw,vers=3\n", i, i, i);
	assert_int_equal(parse(many)->n, CANFS_MOUNTS_MAX);
	assert_int_equal(parse(many)->dropped, 2);
	assert_int_equal(canfs_mounts_bdis(parse(many), index), CANFS_MOUNTS_MAX);
	assert_string_equal(parse(many)->mount[1].mountpoint, "/scratch");
	assert_string_equal(parse(many)->mount[2].mountpoint, "/m400");

	at += sprintf(at, "900 1 0:41 / /mine/41 rw - nfs srv:/export rw,vers=3\n");
	at += sprintf(at, "901 1 0:901 / /mine/901 rw - nfs srv:/mine rw,vers=3\n");
	fake_root_make(&root);
	fake_root_write(&root, "/proc/self/mountinfo", many);
	assert_int_equal(canfs_mounts_read_wanted(root.path, is_of_other, "/mine", &mounts), 0);
	assert_int_equal(mounts.n, CANFS_MOUNTS_MAX);
	assert_int_equal(mounts.dropped, 0);
	assert_string_equal(mounts.mount[CANFS_MOUNTS_MAX - 2].mountpoint, "/mine/41");
	assert_string_equal(mounts.mount[CANFS_MOUNTS_MAX - 1].mountpoint, "/mine/901");
	fake_root_remove(&root);
	free(many);
}

static void test_unescape(void **state)
{
	char buf[8];

	(void)state;
	assert_int_equal(canfs_unescape("a\\040b\\x\\09", 11, buf, sizeof(buf)), -ENAMETOOLONG);
	assert_int_equal(canfs_unescape("a\\040b\\x", 8, buf, sizeof(buf)), 0);
	assert_string_equal(buf, "a b\\x");
	assert_int_equal(canfs_unescape("\\000\\04", 7, buf, sizeof(buf)), 0);
	assert_string_equal(buf, "\\000\\04");
	assert_int_equal(canfs_unescape("", 0, buf, 0), -ENAMETOOLONG);
}

static void test_file(void **state)
{
	static struct canfs_mounts mounts;
	struct fake_root root;

	(void)state;
	fake_root_make(&root);
	assert_int_equal(canfs_mounts_read(root.path, &mounts), -ENOENT);
	fake_root_write(&root, "/proc/self/mountinfo", text);
	assert_int_equal(canfs_mounts_read(root.path, &mounts), 0);
	assert_int_equal(mounts.n, 4);
	fake_root_remove(&root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nfs_mounts),
		cmocka_unit_test(test_mount_port_of_udp),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_a_link_local_server),
		cmocka_unit_test(test_mounts_to_leave_alone),
		cmocka_unit_test(test_bind_mounts_share_a_bdi),
		cmocka_unit_test(test_the_same_mount),
		cmocka_unit_test(test_bad_lines_are_counted),
		cmocka_unit_test(test_mounts_that_are_unfit),
		cmocka_unit_test(test_more_unfit_mounts_than_are_named),
		cmocka_unit_test(test_names_and_odd_numbers),
		cmocka_unit_test(test_overlong_path),
		cmocka_unit_test(test_torn_last_line),
		cmocka_unit_test(test_more_mounts_than_fit),
		cmocka_unit_test(test_more_binds_than_fit),
		cmocka_unit_test(test_unescape),
		cmocka_unit_test(test_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
