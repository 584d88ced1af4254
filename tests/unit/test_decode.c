// SPDX-License-Identifier: LGPL-3.0-or-later
/* The decoders of protocol/fsstat.h against replies that are wrong in every way. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "protocol/fsstat.h"
#include "tests/unit/reply.h"

#define XID 0x12345678u

static const uint64_t counts[3] = { 0xfffffff9ac, 0x7ffffffbd9, 0x3ffffffd80 };
static const uint8_t handle[64] = { 1, 2, 3, 4, 5, 6, 7, 8, 255 };

/* Decodes from a heap block of exactly that size, for the sanitizers to see every octet too far. */
enum kind { GETPORT, MNT, FSSTAT };

static int decode(enum kind kind, const uint8_t *octets, size_t len, const char **error)
{
	uint8_t *record = malloc(len ? len : 1);
	uint8_t got_handle[CANFS_NFS3_HANDLE_MAX];
	struct canfs_space space;
	size_t handle_len;
	uint16_t port;
	int ret = 0;

	assert_non_null(record);
	memcpy(record, octets, len);
	*error = NULL;
	switch (kind) {
	case GETPORT:
		ret = canfs_decode_getport(record, len, XID, &port, error);
		break;
	case MNT:
		ret = canfs_decode_mnt(record, len, XID, got_handle, &handle_len, error);
		break;
	case FSSTAT:
		ret = canfs_decode_fsstat(record, len, XID, &space, error);
		break;
	}
	free(record);
	assert_non_null(*error);
	assert_true((ret == 0) == (**error == '\0'));
	return ret;
}

static void assert_decodes(enum kind kind, const struct reply *reply, int expected)
{
	const char *error;

	assert_int_equal(decode(kind, reply->octets, reply->len, &error), expected);
}

static void good(struct reply *reply, enum kind kind)
{
	switch (kind) {
	case GETPORT:
		reply_getport(reply, XID, 2049);
		break;
	case MNT:
		reply_mnt(reply, XID, handle, sizeof(handle));
		break;
	case FSSTAT:
		reply_fsstat(reply, XID, true, counts);
		break;
	}
}

static void test_getport(void **state)
{
	const char *error;
	struct reply reply;
	uint16_t port = 7;

	(void)state;
	reply_getport(&reply, XID, 65535);
	assert_int_equal(canfs_decode_getport(reply.octets, reply.len, XID, &port, &error), 0);
	assert_int_equal(port, 65535);
	reply_getport(&reply, XID, 0);
	assert_int_equal(
		canfs_decode_getport(reply.octets, reply.len, XID, &port, &error), -EREMOTEIO);
	assert_non_null(strstr(error, "not registered"));
	reply_getport(&reply, XID, 65536);
	assert_int_equal(
		canfs_decode_getport(reply.octets, reply.len, XID, &port, &error), -EPROTO);
	assert_int_equal(port, 65535);
}

static void test_mnt(void **state)
{
	uint8_t got[CANFS_NFS3_HANDLE_MAX];
	const char *error;
	struct reply reply;
	size_t len = 7;

	(void)state;
	for (size_t want = 4; want <= sizeof(handle); want += 4) {
		reply_mnt(&reply, XID, handle, want);
		memset(got, 0, sizeof(got));
		assert_int_equal(
			canfs_decode_mnt(reply.octets, reply.len, XID, got, &len, &error), 0);
		assert_int_equal(len, want);
		assert_memory_equal(got, handle, want);
	}
	reply_begin(&reply, XID); /* an odd length, padded */
	REPLY_WORDS(&reply, 0, 3, 0x01020300, 0);
	assert_int_equal(canfs_decode_mnt(reply.octets, reply.len, XID, got, &len, &error), 0);
	assert_int_equal(len, 3);
	assert_memory_equal(got, handle, 3);
}

static void test_mnt_with_a_handle_or_flavors_out_of_bounds(void **state)
{
	static const uint32_t lies[] = { 65, 68, 8192, 0x7fffffff, 0x80000000, 0xfffffffd,
		0xffffffff };
	struct reply reply;

	(void)state;
	reply_begin(&reply, XID);
	REPLY_WORDS(&reply, 0, 0, 0); /* an empty handle, no flavors */
	assert_decodes(MNT, &reply, -EPROTO);
	for (size_t i = 0; i < COUNT(lies); i++) {
		reply_begin(&reply, XID);
		REPLY_WORDS(&reply, 0, lies[i]);
		for (int word = 0; word < 30; word++)
			REPLY_WORDS(&reply, 0x41414141);
		assert_decodes(MNT, &reply, -EPROTO);

		reply_begin(&reply, XID);
		REPLY_WORDS(&reply, 0, 4, 0x41414141, lies[i]);
		for (int word = 0; word < 80; word++)
			REPLY_WORDS(&reply, 1);
		assert_decodes(MNT, &reply, -EPROTO);
	}
}

static void test_fsstat_with_and_without_attributes(void **state)
{
	(void)state;
	for (int attributes = 0; attributes <= 1; attributes++) {
		struct canfs_space space = { 0 };
		const char *error;
		struct reply reply;

		reply_fsstat(&reply, XID, attributes, counts);
		assert_int_equal(
			canfs_decode_fsstat(reply.octets, reply.len, XID, &space, &error), 0);
		assert_true(space.total_bytes == counts[0]);
		assert_true(space.free_bytes == counts[1]);
		assert_true(space.avail_bytes == counts[2]);
	}
}

static void test_every_truncation_and_any_trailing_octets_are_malformed(void **state)
{
	(void)state;
	for (enum kind kind = GETPORT; kind <= FSSTAT; kind++) {
		struct reply reply;
		const char *error;

		good(&reply, kind);
		assert_decodes(kind, &reply, 0);
		for (size_t len = 0; len < reply.len; len++)
			assert_int_equal(decode(kind, reply.octets, len, &error), -EPROTO);
		for (int more = 0; more < 5; more++) {
			reply_octets(&reply, "", 1);
			assert_decodes(kind, &reply, -EPROTO);
		}
		while (reply.len <= CANFS_REPLY_MAX)
			REPLY_WORDS(&reply, 0);
		assert_decodes(kind, &reply, -EPROTO);
		assert_int_equal(decode(kind, reply.octets, reply.len, &error), -EPROTO);
		assert_non_null(strstr(error, "too long"));
	}
}

static void test_another_calls_reply_is_refused(void **state)
{
	(void)state;
	for (enum kind kind = GETPORT; kind <= FSSTAT; kind++) {
		struct reply reply;
		const char *error;

		good(&reply, kind);
		reply.octets[3] ^= 1;
		assert_int_equal(decode(kind, reply.octets, reply.len, &error), -EPROTO);
		assert_non_null(strstr(error, "another call"));
	}
}

static const struct {
	const char *says;
	int expected;
	size_t count;
	uint32_t words[8];
} headers[] = {
	{ "malformed", -EPROTO, 6, { XID, 0, 0, 0, 0, 0 } },          /* a call */
	{ "malformed", -EPROTO, 6, { XID, 2, 0, 0, 0, 0 } },          /* no such direction */
	{ "malformed", -EPROTO, 6, { XID, 1, 2, 0, 0, 0 } },          /* no such reply status */
	{ "malformed", -EPROTO, 6, { XID, 1, 0, 0, 401, 0 } },        /* verifier too long */
	{ "malformed", -EPROTO, 6, { XID, 1, 0, 0, 0xffffffff, 0 } }, /* verifier lies */
	{ "malformed", -EPROTO, 4, { XID, 1, 1, 2 } },                /* no such reason */
	{ "RPC_MISMATCH", -EREMOTEIO, 6, { XID, 1, 1, 0, 3, 4 } },
	{ "AUTH_BADCRED", -EREMOTEIO, 5, { XID, 1, 1, 1, 1 } },
	{ "AUTH_TOOWEAK", -EREMOTEIO, 5, { XID, 1, 1, 1, 5 } },
	{ "authentication", -EREMOTEIO, 5, { XID, 1, 1, 1, 0xffffffff } },
	{ "PROG_UNAVAIL", -EREMOTEIO, 6, { XID, 1, 0, 0, 0, 1 } },
	{ "PROG_MISMATCH", -EREMOTEIO, 8, { XID, 1, 0, 0, 0, 2, 4, 4 } },
	{ "PROC_UNAVAIL", -EREMOTEIO, 6, { XID, 1, 0, 0, 0, 3 } },
	{ "GARBAGE_ARGS", -EREMOTEIO, 6, { XID, 1, 0, 0, 0, 4 } },
	{ "SYSTEM_ERR", -EREMOTEIO, 6, { XID, 1, 0, 0, 0, 5 } },
	{ "unknown", -EREMOTEIO, 6, { XID, 1, 0, 0, 0, 6 } },
	{ "unknown", -EREMOTEIO, 6, { XID, 1, 0, 0, 0, 0xffffffff } },
};

static void test_headers(void **state)
{
	(void)state;
	for (enum kind kind = GETPORT; kind <= FSSTAT; kind++) {
		for (size_t i = 0; i < COUNT(headers); i++) {
			struct reply reply = { 0 };
			const char *error;

			reply_words(&reply, headers[i].count, headers[i].words);
			assert_int_equal(
				decode(kind, reply.octets, reply.len, &error), headers[i].expected);
			assert_non_null(strstr(error, headers[i].says));
		}
	}
}

static void test_a_verifier_of_the_greatest_length_is_skipped(void **state)
{
	struct reply reply = { 0 };

	(void)state;
	REPLY_WORDS(&reply, XID, 1, 0, 6, 400);
	for (int word = 0; word < 100; word++)
		REPLY_WORDS(&reply, 0x5a5a5a5a);
	REPLY_WORDS(&reply, 0, 2049);
	assert_decodes(GETPORT, &reply, 0);
}

static void test_mount_statuses(void **state)
{
	static const struct {
		uint32_t status;
		const char *says;
	} cases[] = { { 1, "MNT3ERR_PERM" }, { 2, "MNT3ERR_NOENT" }, { 13, "MNT3ERR_ACCES" },
		{ 10006, "MNT3ERR_SERVERFAULT" }, { 3, "unknown" }, { 0xffffffff, "unknown" } };

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct reply reply;
		const char *error;

		reply_begin(&reply, XID);
		REPLY_WORDS(&reply, cases[i].status);
		assert_int_equal(decode(MNT, reply.octets, reply.len, &error), -EREMOTEIO);
		assert_non_null(strstr(error, cases[i].says));
	}
}

static void test_nfs_statuses(void **state)
{
	static const struct {
		uint32_t status;
		int expected;
		const char *says;
	} cases[] = { { 5, -EREMOTEIO, "NFS3ERR_IO" }, { 70, -ESTALE, "NFS3ERR_STALE" },
		{ 10001, -ESTALE, "NFS3ERR_BADHANDLE" }, { 10008, -EREMOTEIO, "NFS3ERR_JUKEBOX" },
		{ 77, -EREMOTEIO, "unknown" }, { 0xffffffff, -EREMOTEIO, "unknown" } };

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (int attributes = 0; attributes <= 1; attributes++) {
			struct reply reply;
			const char *error;

			reply_begin(&reply, XID);
			REPLY_WORDS(&reply, cases[i].status);
			reply_attributes(&reply, attributes);
			assert_int_equal(
				decode(FSSTAT, reply.octets, reply.len, &error), cases[i].expected);
			assert_non_null(strstr(error, cases[i].says));
		}
	}
}

/* One wrong octet anywhere: an error, or a reply that is as good; nothing else is promised. */
static void test_every_octet_replaced(void **state)
{
	(void)state;
	for (enum kind kind = GETPORT; kind <= FSSTAT; kind++) {
		struct reply reply;

		good(&reply, kind);
		for (size_t i = 0; i < reply.len; i++) {
			const uint8_t before = reply.octets[i];

			for (int octet = 0; octet <= 255; octet++) {
				const char *error;
				int ret;

				reply.octets[i] = (uint8_t)octet;
				ret = decode(kind, reply.octets, reply.len, &error);
				assert_true(ret == 0 || ret == -EPROTO || ret == -EREMOTEIO ||
					    ret == -ESTALE);
			}
			reply.octets[i] = before;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_getport),
		cmocka_unit_test(test_mnt),
		cmocka_unit_test(test_mnt_with_a_handle_or_flavors_out_of_bounds),
		cmocka_unit_test(test_fsstat_with_and_without_attributes),
		cmocka_unit_test(test_every_truncation_and_any_trailing_octets_are_malformed),
		cmocka_unit_test(test_another_calls_reply_is_refused),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_a_verifier_of_the_greatest_length_is_skipped),
		cmocka_unit_test(test_mount_statuses),
		cmocka_unit_test(test_nfs_statuses),
		cmocka_unit_test(test_every_octet_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
