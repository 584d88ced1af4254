// SPDX-License-Identifier: LGPL-3.0-or-later
/* The client of protocol/fsstat.h over NFSv4: one port, minor versions, sessions. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "protocol/fsstat.h"
#include "tests/unit/fake_nfs.h"

static void start(struct fixture *f, const char *path, const uint8_t *given_handle)
{
	struct canfs_fsstat_target target = {
		.version = 4,
		.address = loopback(AF_INET),
		.path = path,
		.handle = given_handle,
		.handle_len = sizeof(handle),
	};

	memset(f, 0, sizeof(*f));
	start_server(&f->server, AF_INET);
	target.nfs_port = f->server.port[NFS];
	assert_int_equal(canfs_fsstat_new(&f->fsstat, &target), 0);
}

static void assert_nfs_calls(struct fixture *f, unsigned int connections, unsigned int calls)
{
	assert_traffic(f->server.accepted, 0, 0, connections);
	assert_traffic(f->server.calls, 0, 0, calls);
}

static void test_one_call_over_one_connection(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, "/export/deep/down", NULL);
	for (unsigned int i = 1; i <= 3; i++) {
		assert_answered(&f);
		assert_nfs_calls(&f, 1, i);
		assert_int_equal(f.server.lookups, 3);
		assert_int_equal(f.server.minor, 0);
	}
	fixture_stop(&f);
}

static void test_paths(void **state)
{
	static const struct {
		const char *path;
		unsigned int lookups;
	} cases[] = { { "/", 0 }, { "//", 0 }, { "/.", 0 }, { "/a", 1 }, { "a", 1 }, { "/a/", 1 },
		{ "//a//b/./c/.", 3 }, { "/...", 1 }, { "/.a/b.", 2 } };

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture f;

		start(&f, cases[i].path, NULL);
		assert_answered(&f);
		assert_int_equal(f.server.lookups, cases[i].lookups);
		fixture_stop(&f);
	}
}

static void test_the_call_on_the_wire(void **state)
{
	/* clang-format off */
	static const uint32_t expected[] = {
		0, 2, 100003, 4, 1,                   /* CALL, RPC 2, NFS 4 COMPOUND */
		1, 28, 0, 5, 0x63616e66, 0x73000000,  /* AUTH_SYS, stamp, "canfs" */
		0, 0, 0,                              /* root, root, no groups */
		0, 0,                                 /* AUTH_NONE */
		0, 0, 4,                              /* no tag, minor version 0, 4 operations */
		24,                                   /* PUTROOTFH */
		15, 6, 0x6578706f, 0x72740000,        /* LOOKUP "export" */
		15, 4, 0x64656570,                    /* LOOKUP "deep" */
		9, 2, 0, 0x1c00                       /* GETATTR 42, 43, 44 */
	};
	/* clang-format on */
	struct fixture f;

	(void)state;
	start(&f, "/export/deep", NULL);
	assert_answered(&f);
	for (size_t i = 0; i < COUNT(expected); i++) {
		uint32_t word;

		memcpy(&word, f.server.call + 8 + 4 * i, sizeof(word)); /* after mark and xid */
		assert_int_equal(ntohl(word), expected[i]);
	}
	fixture_stop(&f);
}

static void test_a_session_where_minor_version_0_is_refused(void **state)
{
	(void)state;
	for (uint32_t minor = 1; minor <= 2; minor++) {
		struct fixture f;

		start(&f, "/export", NULL);
		for (uint32_t i = 0; i < minor; i++)
			f.server.refuses_minor[i] = true;
		for (unsigned int i = 0; i < 3; i++) {
			assert_answered(&f);
			assert_int_equal(f.server.minor, minor);
			assert_int_equal(f.server.sessions, 1);
			assert_int_equal(f.server.slot, 1 + i);
			/* refused GETATTR, refused EXCHANGE_ID of 4.1; the two of the session */
			assert_nfs_calls(&f, 1, minor + 2 + 1 + i);
		}
		fixture_stop(&f);
	}
}

static void test_a_server_that_refuses_every_minor_version(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, "/export", NULL);
	memset(f.server.refuses_minor, true, sizeof(f.server.refuses_minor));
	assert_fails(&f, -EPROTONOSUPPORT, "neither NFSv4.0 nor 4.1 nor 4.2");
	assert_nfs_calls(&f, 1, 3);
	memset(f.server.refuses_minor, false, sizeof(f.server.refuses_minor));
	assert_answered(&f); /* upgraded meanwhile */
	assert_int_equal(f.server.minor, 0);
	fixture_stop(&f);
}

static void test_a_lost_session_is_made_anew_in_the_same_request(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, "/export", NULL);
	f.server.refuses_minor[0] = true;
	assert_answered(&f);
	f.server.lost_session = true; /* its lease has expired */
	assert_answered(&f);
	assert_int_equal(f.server.sessions, 2);
	assert_nfs_calls(&f, 1, 4 + 4);
	hang_up(&f.server); /* another connection: the session stays */
	assert_answered(&f);
	assert_int_equal(f.server.sessions, 2);
	fixture_stop(&f);
}

static void bad_session(struct server *server, struct reply *reply)
{
	if (call_word(server, 20) == 53) {
		reply_compound(reply, call_word(server, 0), 10052, 1);
		REPLY_WORDS(reply, 53, 10052);
	}
}

static void test_a_session_that_never_works_is_no_endless_loop(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, "/export", NULL);
	f.server.refuses_minor[0] = true;
	f.server.change = bad_session;
	assert_fails(&f, -ENOLINK, "NFS4ERR_BADSESSION");
	assert_nfs_calls(&f, 1, 4);
	f.server.change = NULL;
	assert_answered(&f);
	fixture_stop(&f);
}

static void test_a_failed_request_leaves_no_half_used_slot(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, "/export", NULL);
	f.server.refuses_minor[0] = true;
	assert_answered(&f);
	f.server.manners[NFS] = SAY_NOTHING;
	assert_fails(&f, -ETIMEDOUT, "no answer in time");
	f.server.manners[NFS] = HANG_UP_HALFWAY;
	assert_fails(&f, -ECONNRESET, "the server closed the connection");
	f.server.manners[NFS] = ANSWER;
	assert_answered(&f);
	assert_int_equal(f.server.sessions, 2);
	assert_int_equal(f.server.slot, 1);
	fixture_stop(&f);
}

static void stale(struct server *server, struct reply *reply)
{
	reply_compound(reply, call_word(server, 0), 70, 1);
	REPLY_WORDS(reply, 22, 70);
}

static void test_a_stale_handle_is_replaced_by_the_path(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, "/export", handle);
	assert_answered(&f);
	assert_true(f.server.by_handle);
	f.server.change = stale;
	assert_fails(&f, -ESTALE, "stale file handle");
	f.server.change = NULL;
	assert_answered(&f);
	assert_false(f.server.by_handle);
	assert_int_equal(f.server.lookups, 1);
	fixture_stop(&f);

	start(&f, NULL, handle); /* no path: nothing else to ask about */
	f.server.change = stale;
	assert_fails(&f, -ESTALE, "stale file handle");
	f.server.change = NULL;
	assert_answered(&f);
	assert_true(f.server.by_handle);
	fixture_stop(&f);
}

static void an_old_server(struct server *server, struct reply *reply)
{
	reply->len = 0;
	REPLY_WORDS(reply, call_word(server, 0), 1, 0, 0, 0, 2, 3, 3);
}

static void test_a_server_of_version_3_only(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, "/export", NULL);
	f.server.change = an_old_server;
	assert_fails(&f, -EREMOTEIO, "PROG_MISMATCH");
	fixture_stop(&f);
}

static void test_replies_in_fragments(void **state)
{
	(void)state;
	for (size_t size = 1; size <= 200; size += size < 10 ? 1 : 19) {
		struct fixture f;

		start(&f, "/export", NULL);
		f.server.refuses_minor[0] = f.server.refuses_minor[1] = true;
		f.server.fragment = size;
		assert_answered(&f);
		assert_answered(&f);
		fixture_stop(&f);
	}
}

static void test_bad_targets(void **state)
{
	struct canfs_fsstat_target target = { .version = 4, .address = loopback(AF_INET) };
	char path[1026] = "";
	struct canfs_fsstat *fsstat;

	(void)state;
	assert_int_equal(canfs_fsstat_new(&fsstat, &target), -EINVAL); /* neither path nor handle */
	for (int i = 0; i < 33; i++)
		strcat(path, "/a");
	target.path = path;
	assert_int_equal(canfs_fsstat_new(&fsstat, &target), -ENAMETOOLONG);
	path[2 * 32] = '\0';
	assert_int_equal(canfs_fsstat_new(&fsstat, &target), 0);
	canfs_fsstat_free(fsstat);
	target.version = 2;
	assert_int_equal(canfs_fsstat_new(&fsstat, &target), -EINVAL);
	target.version = 5;
	assert_int_equal(canfs_fsstat_new(&fsstat, &target), -EINVAL);
	assert_null(fsstat);
}

/* As long and as deep as it may be, in a session. */
static void test_the_longest_path_fits_the_call(void **state)
{
	struct fixture f;
	char path[1025];

	(void)state;
	memset(path, 'p', sizeof(path));
	path[1024] = '\0';
	for (size_t i = 0; i < 32; i++)
		path[30 * i] = '/';
	start(&f, path, NULL);
	f.server.refuses_minor[0] = true;
	assert_answered(&f);
	assert_int_equal(f.server.lookups, 32);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_call_over_one_connection),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_the_call_on_the_wire),
		cmocka_unit_test(test_a_session_where_minor_version_0_is_refused),
		cmocka_unit_test(test_a_server_that_refuses_every_minor_version),
		cmocka_unit_test(test_a_lost_session_is_made_anew_in_the_same_request),
		cmocka_unit_test(test_a_session_that_never_works_is_no_endless_loop),
		cmocka_unit_test(test_a_failed_request_leaves_no_half_used_slot),
		cmocka_unit_test(test_a_stale_handle_is_replaced_by_the_path),
		cmocka_unit_test(test_a_server_of_version_3_only),
		cmocka_unit_test(test_replies_in_fragments),
		cmocka_unit_test(test_bad_targets),
		cmocka_unit_test(test_the_longest_path_fits_the_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
