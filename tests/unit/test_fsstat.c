// SPDX-License-Identifier: LGPL-3.0-or-later
/* The client of protocol/fsstat.h against a server that behaves, and one that does not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "protocol/fsstat.h"
#include "tests/unit/fake_nfs.h"

static void test_everything_is_asked_once_and_the_connection_kept(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f, false, false);
	for (unsigned int i = 1; i <= 3; i++) {
		assert_answered(&f);
		assert_traffic(f.server.accepted, 1, 1, 1);
		assert_traffic(f.server.calls, 2, 1, i);
	}
	fixture_stop(&f);
}

static void test_what_is_known_is_not_asked(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f, true, false);
	assert_answered(&f);
	assert_traffic(f.server.calls, 0, 1, 1);
	fixture_stop(&f);

	fixture_start(&f, false, true);
	assert_answered(&f);
	assert_traffic(f.server.calls, 1, 0, 1);
	fixture_stop(&f);

	fixture_start(&f, true, true);
	assert_answered(&f);
	assert_traffic(f.server.accepted, 0, 0, 1);
	fixture_stop(&f);
}

static void test_the_call_on_the_wire(void **state)
{
	/* clang-format off */
	static const uint32_t expected[] = {
		0, 2, 100003, 3, 18,                  /* CALL, RPC 2, NFS 3 FSSTAT */
		1, 28, 0, 5, 0x63616e66, 0x73000000,  /* AUTH_SYS, stamp, "canfs" */
		0, 0, 0,                              /* root, root, no groups */
		0, 0,                                 /* AUTH_NONE */
		24, 0x09080706, 0x05040302, 0x01000000, 0, 0, 0
	};
	/* clang-format on */
	struct fixture f;

	(void)state;
	fixture_start(&f, true, true);
	assert_answered(&f);
	for (size_t i = 0; i < COUNT(expected); i++) {
		uint32_t word;

		memcpy(&word, f.server.call + 8 + 4 * i, sizeof(word)); /* after mark and xid */
		assert_int_equal(ntohl(word), expected[i]);
	}
	fixture_stop(&f);
}

static void test_fragments_of_any_size(void **state)
{
	(void)state;
	for (size_t size = 1; size <= 200; size += size < 10 ? 1 : 19) {
		struct fixture f;

		fixture_start(&f, false, false);
		f.server.fragment = size;
		assert_answered(&f);
		assert_answered(&f);
		fixture_stop(&f);
	}
}

static void test_replies_that_come_octet_by_octet(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f, false, false);
	f.server.dribble = true;
	assert_answered(&f);
	f.server.fragment = 3;
	assert_answered(&f);
	fixture_stop(&f);
}

static void test_a_server_that_hangs_up_fails_the_request_and_not_the_next(void **state)
{
	static const char *const names[] = { "rpcbind at 127.0.0.1", "MOUNT at", "NFS at" };

	(void)state;
	for (int service = 0; service < SERVICES; service++) {
		for (enum manners manners = HANG_UP; manners <= HANG_UP_HALFWAY; manners++) {
			struct fixture f;

			fixture_start(&f, false, false);
			f.server.manners[service] = manners;
			assert_fails(&f, -ECONNRESET, names[service]);
			assert_fails(&f, -ECONNRESET, "the server closed the connection");
			f.server.manners[service] = ANSWER;
			assert_answered(&f);
			fixture_stop(&f);
		}
	}
}

static void test_a_connection_closed_while_idle_costs_no_request(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f, true, true);
	assert_answered(&f);
	hang_up(&f.server);
	assert_answered(&f);
	assert_int_equal(f.server.accepted[NFS], 2);
	fixture_stop(&f);
}

static void test_silence_ends_by_the_deadline(void **state)
{
	static const char *const says[] = { "rpcbind", "MOUNT", "NFS" };

	(void)state;
	for (int service = 0; service < SERVICES; service++) {
		struct fixture f;

		fixture_start(&f, false, false);
		f.server.manners[service] = SAY_NOTHING;
		assert_fails(&f, -ETIMEDOUT, says[service]);
		assert_fails(&f, -ETIMEDOUT, "no answer in time");
		/* Why there is no price is known while the next question is on its way, too. */
		assert_int_equal(canfs_fsstat_start(f.fsstat, 0), 0);
		assert_non_null(strstr(canfs_fsstat_error(f.fsstat), "no answer in time"));
		assert_int_equal(
			canfs_fsstat_step(f.fsstat, 1, &(struct canfs_space) { 0 }), -ETIMEDOUT);
		f.server.manners[service] = ANSWER;
		assert_answered(&f);
		assert_string_equal(canfs_fsstat_error(f.fsstat), "");
		fixture_stop(&f);
	}
}

static void test_replies_to_other_calls_are_passed_over(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f, false, false);
	f.server.strays = 4; /* to each of four calls: 16 in the request */
	assert_answered(&f);
	assert_answered(&f);
	f.server.strays = 17;
	assert_fails(&f, -EPROTO, "too many replies to other calls");
	f.server.strays = 0;
	assert_answered(&f);
	fixture_stop(&f);
}

static void only_garbage(struct server *server, struct reply *reply)
{
	static const uint8_t garbage[300] = { 0x80, 0, 0, 255, 1, 2, 3 };

	memcpy(server->out, garbage, sizeof(garbage));
	server->out_len = sizeof(garbage);
	reply->len = 0;
}

static void one_octet_too_long(struct server *server, struct reply *reply)
{
	(void)server;
	memset(reply->octets + reply->len, 0, CANFS_REPLY_MAX + 1 - reply->len);
	reply->len = CANFS_REPLY_MAX + 1;
}

static void an_empty_fragment(struct server *server, struct reply *reply)
{
	put_fragment(server, reply->octets, reply->len, false);
	put_fragment(server, reply->octets, 0, true);
	reply->len = 0;
}

static void three_octets(struct server *server, struct reply *reply)
{
	(void)server;
	reply->len = 3;
}

static void test_replies_that_are_no_records(void **state)
{
	static const struct {
		void (*change)(struct server *server, struct reply *reply);
		size_t fragment;
		const char *says;
	} cases[] = { { one_octet_too_long, 0, "too long" },
		{ one_octet_too_long, 1000, "too long" }, { an_empty_fragment, 0, "record marks" },
		{ three_octets, 0, "malformed" }, { three_octets, 1, "malformed" } };

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture f;

		fixture_start(&f, false, false);
		f.server.change = cases[i].change;
		f.server.fragment = cases[i].fragment;
		assert_fails(&f, -EPROTO, cases[i].says);
		f.server.change = NULL;
		assert_answered(&f);
		fixture_stop(&f);
	}
}

static void test_a_reply_and_more_leaves_the_connection_unused(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f, true, true);
	assert_answered(&f);
	f.server.change = only_garbage; /* 255 octets of a reply to nobody, 41 of a wrong record */
	assert_fails(&f, -EPROTO, "NFS at");
	f.server.change = NULL;
	assert_answered(&f);
	assert_int_equal(f.server.accepted[NFS], 2);
	fixture_stop(&f);
}

static void refuse(struct server *server, struct reply *reply)
{
	const uint32_t xid = call_word(server, 0);

	reply->len = 0;
	if (server->service == RPCBIND)
		reply_getport(reply, xid, 0);
	else if (server->service == MOUNT)
		REPLY_WORDS(reply, xid, 1, 0, 0, 0, 0, 13); /* MNT3ERR_ACCES */
	else
		REPLY_WORDS(reply, xid, 1, 1, 1, 5); /* AUTH_TOOWEAK */
}

static void test_refusals_of_each_service(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f, false, false);
	f.server.change = refuse;
	assert_fails(&f, -EREMOTEIO, "rpcbind at 127.0.0.1 port ");
	fixture_stop(&f);
	fixture_start(&f, true, false);
	f.server.change = refuse;
	assert_fails(&f, -EREMOTEIO, "MNT3ERR_ACCES");
	fixture_stop(&f);
	fixture_start(&f, true, true);
	f.server.change = refuse;
	assert_fails(&f, -EREMOTEIO, "AUTH_TOOWEAK");
	f.server.change = NULL;
	assert_answered(&f);
	fixture_stop(&f);
}

static void stale(struct server *server, struct reply *reply)
{
	if (server->service == NFS) {
		reply_begin(reply, call_word(server, 0));
		REPLY_WORDS(reply, 70, 0);
	}
}

static void test_a_stale_handle_is_asked_for_again_next_time(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f, true, false);
	assert_answered(&f);
	f.server.change = stale;
	assert_fails(&f, -ESTALE, "stale file handle");
	assert_traffic(f.server.calls, 0, 1, 2);
	f.server.change = NULL;
	assert_answered(&f);
	assert_traffic(f.server.calls, 0, 2, 3);
	fixture_stop(&f);

	fixture_start(&f, true, true); /* no path: nobody to ask */
	f.server.change = stale;
	assert_fails(&f, -ESTALE, "stale file handle");
	f.server.change = NULL;
	assert_answered(&f);
	assert_traffic(f.server.calls, 0, 0, 2);
	fixture_stop(&f);
}

static void test_a_port_learned_is_asked_for_again_after_a_failure(void **state)
{
	struct fixture f;
	uint16_t old;

	(void)state;
	fixture_start(&f, false, true);
	assert_answered(&f);
	old = f.server.port[NFS];
	hang_up(&f.server);
	close(f.server.listener[NFS]); /* the server restarts elsewhere */
	f.server.listener[NFS] = listen_somewhere(AF_INET, &f.server.port[NFS]);
	assert_int_not_equal(f.server.port[NFS], old);
	assert_fails(&f, -ECONNREFUSED, "Connection refused");
	assert_answered(&f);
	assert_int_equal(f.server.calls[RPCBIND], 2);
	fixture_stop(&f);
}

static void test_one_request_at_a_time(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f, true, true);
	assert_int_equal(canfs_fsstat_step(f.fsstat, 0, &f.space), -EINVAL);
	assert_int_equal(canfs_fsstat_start(f.fsstat, DEADLINE_USEC), 0);
	assert_int_equal(canfs_fsstat_start(f.fsstat, DEADLINE_USEC), -EBUSY);
	assert_true(canfs_fsstat_fd(f.fsstat) >= 0);
	fixture_stop(&f); /* freed with a request in flight */
	canfs_fsstat_free(NULL);
}

static void test_bad_targets(void **state)
{
	struct canfs_fsstat_target target = { .address = loopback(AF_INET) };
	struct canfs_fsstat *fsstat;
	char path[1026];

	(void)state;
	assert_int_equal(canfs_fsstat_new(&fsstat, &target), -EINVAL); /* neither path nor handle */
	target.path = "";
	assert_int_equal(canfs_fsstat_new(&fsstat, &target), -EINVAL);
	memset(path, '/', sizeof(path));
	path[1025] = '\0';
	target.path = path;
	assert_int_equal(canfs_fsstat_new(&fsstat, &target), -ENAMETOOLONG);
	path[1024] = '\0';
	assert_int_equal(canfs_fsstat_new(&fsstat, &target), 0);
	canfs_fsstat_free(fsstat);
	target.handle = handle;
	assert_int_equal(canfs_fsstat_new(&fsstat, &target), -EINVAL);
	target.handle_len = CANFS_NFS3_HANDLE_MAX + 1;
	assert_int_equal(canfs_fsstat_new(&fsstat, &target), -EINVAL);
	target.handle_len = sizeof(handle);
	target.address.ss_family = AF_UNIX;
	assert_int_equal(canfs_fsstat_new(&fsstat, &target), -EINVAL);
	assert_null(fsstat);
}

static void test_the_longest_path_fits_the_call(void **state)
{
	struct canfs_fsstat_target target = { .address = loopback(AF_INET) };
	struct fixture f = { 0 };
	char path[1025];

	(void)state;
	memset(path, 'p', sizeof(path));
	path[0] = '/';
	path[1024] = '\0';
	start_server(&f.server, AF_INET);
	target.path = path;
	target.rpcbind_port = f.server.port[RPCBIND];
	assert_int_equal(canfs_fsstat_new(&f.fsstat, &target), 0);
	assert_answered(&f);
	fixture_stop(&f);
}

static bool has_ipv6(void)
{
	const struct sockaddr_storage address = loopback(AF_INET6);
	const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const bool has =
		fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;

	if (fd >= 0)
		close(fd);
	return has;
}

static void test_ipv6(void **state)
{
	struct canfs_fsstat_target target = { .path = "/export", .address = loopback(AF_INET6) };
	struct fixture f = { 0 };

	(void)state;
	if (!has_ipv6())
		skip();
	start_server(&f.server, AF_INET6);
	target.rpcbind_port = f.server.port[RPCBIND];
	assert_int_equal(canfs_fsstat_new(&f.fsstat, &target), 0);
	assert_answered(&f);
	f.server.manners[NFS] = HANG_UP;
	assert_fails(&f, -ECONNRESET, "NFS at ::1 port ");
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_is_asked_once_and_the_connection_kept),
		cmocka_unit_test(test_what_is_known_is_not_asked),
		cmocka_unit_test(test_the_call_on_the_wire),
		cmocka_unit_test(test_fragments_of_any_size),
		cmocka_unit_test(test_replies_that_come_octet_by_octet),
		cmocka_unit_test(test_a_server_that_hangs_up_fails_the_request_and_not_the_next),
		cmocka_unit_test(test_a_connection_closed_while_idle_costs_no_request),
		cmocka_unit_test(test_silence_ends_by_the_deadline),
		cmocka_unit_test(test_replies_to_other_calls_are_passed_over),
		cmocka_unit_test(test_replies_that_are_no_records),
		cmocka_unit_test(test_a_reply_and_more_leaves_the_connection_unused),
		cmocka_unit_test(test_refusals_of_each_service),
		cmocka_unit_test(test_a_stale_handle_is_asked_for_again_next_time),
		cmocka_unit_test(test_a_port_learned_is_asked_for_again_after_a_failure),
		cmocka_unit_test(test_one_request_at_a_time),
		cmocka_unit_test(test_bad_targets),
		cmocka_unit_test(test_the_longest_path_fits_the_call),
		cmocka_unit_test(test_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
