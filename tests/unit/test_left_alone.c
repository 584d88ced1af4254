// SPDX-License-Identifier: LGPL-3.0-or-later
/* Some mounts get a bidder; each of the others is named once, with the reason. */
#include "tests/unit/fake_kernel.h"

#include "client-agent/actuators/act.h"
#include "client-agent/bidders.h"
#include "client-agent/unread.h"

static struct fake_root root;
static struct canfs_agent_config config;
static struct canfs_actors actors;
static struct canfs_bidders bidders;
static struct canfs_mounts mounts;
static char said[8192];

static int setup(void **state)
{
	char error[256];

	(void)state;
	setenv("JOURNAL_STREAM", "1:1", 1);
	fake_root_make(&root);
	fake_stock_limits(&root);
	canfs_config_defaults(&config);
	strcpy(config.state_dir, "/state");
	config.price_port = 0;
	assert_int_equal(canfs_actors_open(&actors, &config, root.path, error, sizeof(error)), 0);
	bidders = (struct canfs_bidders) { 0 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	canfs_bidders_free(&bidders);
	canfs_actors_close(&actors);
	fake_root_remove(&root);
	unsetenv("JOURNAL_STREAM");
	return 0;
}

/* What is logged until heard() is in said. */
static int listen_to_log(FILE **log)
{
	int saved = dup(STDERR_FILENO);

	*log = tmpfile();
	assert_true(saved >= 0 && *log);
	assert_int_equal(dup2(fileno(*log), STDERR_FILENO), STDERR_FILENO);
	return saved;
}

static void heard(FILE *log, int saved)
{
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(log);
	said[fread(said, 1, sizeof(said) - 1, log)] = '\0';
	fclose(log);
}

static void refresh(const char *mountinfo)
{
	const struct canfs_bidders_wanted wanted = { &bidders, &config };
	FILE *log;
	int saved = listen_to_log(&log);

	fake_root_write(&root, "/proc/self/mountinfo", mountinfo);
	assert_int_equal(
		canfs_mounts_read_wanted(root.path, canfs_bidders_want, &wanted, &mounts), 0);
	canfs_bidders_refresh(&bidders, &mounts, &config, &actors);
	heard(log, saved);
}

#define NFS(id, bdi, point, source, options)                                                       \
	id " 1 0:" bdi " / " point " rw - nfs " source " rw,vers=3," options "\n"

static void test_each_is_named_once(void **state)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{ NFS("36", "41", "/tls", "localhost:/secret",
			  "sec=sys,xprtsec=mtls,addr=127.0.0.1"),
			"/tls: sec=sys, xprtsec=mtls, left at the kernel's defaults: prices cannot "
			"be asked for over TLS\n" },
		{ NFS("36", "41", "/k", "localhost:/x", "sec=krb5p,addr=127.0.0.1"),
			"/k: sec=krb5p, left at the kernel's defaults: prices cannot be asked for "
			"with Kerberos\n" },
		{ NFS("36", "41", "/m", "localhost:/x", "addr=odd"),
			"/m: left at the kernel's defaults: its server address cannot be "
			"parsed\n" },
		{ NFS("36", "41", "/m\\012x", "localhost:/x", "port=x,addr=127.0.0.1"),
			"/m?x: left at the kernel's defaults: its server port cannot be "
			"parsed\n" },
		{ NFS("36", "41", "/m",
			  "h:/" /* 33 components */
			  "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a",
			  "vers=4.2,addr=127.0.0.1"),
			"/m: sec=sys, left at the kernel's defaults: File name too long\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		refresh(cases[i].line);
		if (strcmp(said, cases[i].says) != 0)
			fail_msg("case %zu: '%s'", i, said);
		assert_int_equal(bidders.n, 0);
		assert_int_equal(bidders.left_alone, 1);
		refresh(cases[i].line);
		assert_string_equal(said, "");
		refresh("");
		assert_int_equal(bidders.left_alone, 0);
	}
}

/* Binds of a mount that is left alone are not named, nor are binds of a managed mount. */
static void test_one_of_each_super_block(void **state)
{
	char *many = calloc(700, 128), *at = many;

	(void)state;
	for (int i = 1; i <= 300; i++)
		at += sprintf(
			at, "%d 1 0:41 / /pods/%d rw - nfs srv:/x rw,vers=3,sec=krb5\n", i, i);
	for (int i = 301; i <= 600; i++)
		at += sprintf(at, "%d 1 0:43 / /pods/%d rw - nfs srv:/y rw,vers=9\n", i, i);
	strcpy(at, NFS("601", "99", "/scratch", "other:/scratch", "addr=127.0.0.1")
			   NFS("602", "99", "/odd", "other:/scratch", "addr=odd"));
	refresh(many);
	assert_string_equal(said,
		"/pods/1: sec=krb5, left at the kernel's defaults: the mount table names no "
		"address "
		"of its server\n"
		"/scratch: other:/scratch, NFSv3, BDI 0:99, observing\n"
		"/pods/301: left at the kernel's defaults: its NFS version cannot be parsed\n");
	assert_int_equal(bidders.n, 1);
	assert_int_equal(bidders.left_alone, 2);
	assert_int_equal(bidders.left_out, 0);
	refresh(many);
	assert_string_equal(said, "");
	free(many);
}

/* The mount that represents a BDI stays, even if others of the BDI come first. */
static void test_the_wanted_one_stays(void **state)
{
	char *many = calloc(700, 128), *at = many;

	(void)state;
	strcpy(config.mounts.path[0], "/mine/*");
	config.mounts.n = 1;
	for (int i = 1; i <= 600; i++)
		at += sprintf(at, "%d 1 0:%d / /pods/%d rw - nfs srv:/x rw,vers=3,addr=127.0.0.1\n",
			i, 40 + i / 2, i);
	strcpy(at, NFS("601", "41", "/mine/a", "srv:/x", "addr=127.0.0.1"));
	refresh(many);
	assert_string_equal(said, "/mine/a: srv:/x, NFSv3, BDI 0:41, observing\n");
	assert_int_equal(bidders.left_out, 0);
	refresh(many);
	assert_string_equal(said, "");
	config.mounts.n = 0;
	free(many);
}

static void test_lines_that_are_none(void **state)
{
	(void)state;
	refresh("garbage\n\n");
	assert_string_equal(said, "2 lines of /proc/self/mountinfo cannot be parsed\n");
	refresh("garbage\n\n");
	assert_string_equal(said, "");
}

static void test_counters_that_cannot_be_read(void **state)
{
	static const char header[] =
		"device other:/scratch mounted on /scratch with fstype nfs statvers=1.1\n";
	bool told = false;
	FILE *log;
	int saved;

	(void)state;
	refresh(NFS("1", "99", "/scratch", "other:/scratch", "addr=127.0.0.1"));
	fake_root_write(&root, "/proc/self/mountstats", header);
	saved = listen_to_log(&log);
	for (int i = 0; i < 10; i++)
		canfs_unread_note_counters(bidders.bidder[0], false, root.path, &mounts, 0);
	canfs_unread_note(&told, -EPROTO, "/proc/vmstat", "workingset_activate_file");
	canfs_unread_note(&told, -EPROTO, "/proc/vmstat", "workingset_activate_file");
	canfs_unread_note(&told, -ENOENT, "/proc/vmstat", "workingset_activate_file");
	heard(log, saved);
	assert_string_equal(said,
		"/scratch: left at the kernel's defaults: /proc/self/mountstats: the line bytes: "
		"of "
		"this mount is missing or unusable\n"
		"/proc/vmstat: the line workingset_activate_file is missing or unusable\n");
	assert_true(told);
	canfs_unread_note(&told, 0, "/proc/vmstat", "workingset_activate_file");
	assert_false(told);
}

#define BIDDERS_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BIDDERS_TEST(test_each_is_named_once),
		BIDDERS_TEST(test_one_of_each_super_block),
		BIDDERS_TEST(test_the_wanted_one_stays),
		BIDDERS_TEST(test_lines_that_are_none),
		BIDDERS_TEST(test_counters_that_cannot_be_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
