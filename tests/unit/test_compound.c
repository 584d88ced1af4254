// SPDX-License-Identifier: LGPL-3.0-or-later
/* The decoders of protocol/compound.h against replies that are wrong in every way. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "protocol/compound.h"
#include "protocol/fsstat.h"
#include "tests/unit/reply.h"

#define XID  0x12345678u
#define SLOT 7

static const uint64_t counts[3] = { 0xfffffff9ac, 0x7ffffffbd9, 0x3ffffffd80 };
static const struct canfs_session session = { .id = { 1, 2, 3 }, .sequence = SLOT };
static const struct canfs_getattr by_path = { .path = "/a/b" };
static const struct canfs_getattr in_session = { .minor = 1,
	.session = &session,
	.path = NULL,
	.handle = (const uint8_t *)"fh",
	.handle_len = 2 };

enum kind { BY_PATH, IN_SESSION, CLIENT_ID, SESSION, KINDS };

/* What a decoder may set, filled with a pattern by decode(): all of it must stay after an error. */
static struct {
	struct canfs_space space;
	struct canfs_session session;
} out;

/* Decodes from a heap block of exactly that size, for the sanitizers to see every octet too far. */
static int decode(enum kind kind, const uint8_t *octets, size_t len, const char **error)
{
	uint8_t *record = malloc(len ? len : 1), untouched[sizeof(out)];
	int ret;

	assert_non_null(record);
	memcpy(record, octets, len);
	memset(&out, 0x5a, sizeof(out));
	memset(untouched, 0x5a, sizeof(untouched));
	*error = NULL;
	if (kind == CLIENT_ID)
		ret = canfs_decode_exchange_id(record, len, XID, &out.session, error);
	else if (kind == SESSION)
		ret = canfs_decode_create_session(record, len, XID, &out.session, error);
	else
		ret = canfs_decode_getattr(record, len, XID,
			kind == BY_PATH ? &by_path : &in_session, &out.space, error);
	free(record);
	assert_non_null(*error);
	assert_true((ret == 0) == (**error == '\0'));
	if (ret < 0)
		assert_memory_equal(&out, untouched, sizeof(out));
	return ret;
}

static void assert_decodes(
	enum kind kind, const struct reply *reply, int expected, const char *says)
{
	const char *error;

	assert_int_equal(decode(kind, reply->octets, reply->len, &error), expected);
	assert_non_null(strstr(error, says));
}

static void good(struct reply *reply, enum kind kind)
{
	switch (kind) {
	case BY_PATH:
		reply_compound(reply, XID, 0, 4);
		REPLY_WORDS(reply, 24, 0, 15, 0, 15, 0);
		reply_space_attributes(reply, counts);
		break;
	case IN_SESSION:
		reply_compound(reply, XID, 0, 3);
		reply_sequence(reply, session.id, SLOT);
		REPLY_WORDS(reply, 22, 0);
		reply_space_attributes(reply, counts);
		break;
	case CLIENT_ID:
		reply_exchange_id(reply, XID, 0x123456789abcdef0, 4);
		break;
	default:
		reply_create_session(reply, XID, session.id, 4);
		break;
	}
}

static void test_good_replies(void **state)
{
	struct reply reply;

	(void)state;
	for (enum kind kind = BY_PATH; kind <= IN_SESSION; kind++) {
		good(&reply, kind);
		assert_decodes(kind, &reply, 0, "");
		assert_true(out.space.total_bytes == counts[0]);
		assert_true(out.space.free_bytes == counts[1]);
		assert_true(out.space.avail_bytes == counts[2]);
	}
	good(&reply, CLIENT_ID);
	assert_decodes(CLIENT_ID, &reply, 0, "");
	assert_true(out.session.client_id == 0x123456789abcdef0);
	assert_int_equal(out.session.create_sequence, 4);
	good(&reply, SESSION);
	assert_decodes(SESSION, &reply, 0, "");
	assert_memory_equal(out.session.id, session.id, sizeof(session.id));
	assert_int_equal(out.session.sequence, 1);
}

static void test_every_truncation_and_any_trailing_octets_are_malformed(void **state)
{
	(void)state;
	for (enum kind kind = BY_PATH; kind < KINDS; kind++) {
		struct reply reply;
		const char *error;

		good(&reply, kind);
		for (size_t len = 0; len < reply.len; len++)
			assert_int_equal(decode(kind, reply.octets, len, &error), -EPROTO);
		for (int more = 0; more < 5; more++) {
			reply_octets(&reply, "", 1);
			assert_decodes(kind, &reply, -EPROTO, "malformed");
		}
		while (reply.len <= CANFS_REPLY_MAX)
			REPLY_WORDS(&reply, 0);
		assert_decodes(kind, &reply, -EPROTO, "too long");
	}
}

static void test_an_answer_to_another_call(void **state)
{
	(void)state;
	for (enum kind kind = BY_PATH; kind < KINDS; kind++) {
		struct reply reply;

		for (enum kind other = BY_PATH; other < KINDS; other++) {
			good(&reply, other);
			if (kind != other)
				assert_decodes(kind, &reply, -EPROTO, "malformed");
		}
		good(&reply, kind);
		reply.octets[3] ^= 1;
		assert_decodes(kind, &reply, -EPROTO, "another call");
	}
}

static const struct {
	uint32_t status;
	int expected;
	const char *says;
} statuses[] = {
	{ 2, -EREMOTEIO, "NFS4ERR_NOENT" },
	{ 13, -EREMOTEIO, "NFS4ERR_ACCES" },
	{ 70, -ESTALE, "NFS4ERR_STALE" },
	{ 10001, -ESTALE, "NFS4ERR_BADHANDLE" },
	{ 10014, -ESTALE, "NFS4ERR_FHEXPIRED" },
	{ 10008, -EREMOTEIO, "NFS4ERR_DELAY" },
	{ 10016, -EREMOTEIO, "NFS4ERR_WRONGSEC" },
	{ 10021, -EPROTONOSUPPORT, "NFS4ERR_MINOR_VERS_MISMATCH" },
	{ 10022, -EREMOTEIO, "NFS4ERR_STALE_CLIENTID" },
	{ 10044, -EREMOTEIO, "NFS4ERR_OP_ILLEGAL" },
	{ 77, -EREMOTEIO, "unknown" },
	{ 0xffffffff, -EREMOTEIO, "unknown" },
};

/* At the head alone, at the first operation, at the third of four. */
static void test_statuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(statuses); i++) {
		const uint32_t status = statuses[i].status;
		struct reply reply;

		reply_compound(&reply, XID, status, 0);
		assert_decodes(BY_PATH, &reply, statuses[i].expected, statuses[i].says);
		reply_compound(&reply, XID, status, 1);
		REPLY_WORDS(&reply, 24, status);
		assert_decodes(BY_PATH, &reply, statuses[i].expected, statuses[i].says);
		reply_compound(&reply, XID, status, 3);
		REPLY_WORDS(&reply, 24, 0, 15, 0, 15, status);
		assert_decodes(BY_PATH, &reply, statuses[i].expected, statuses[i].says);
	}
}

static void test_a_refused_session(void **state)
{
	static const struct {
		uint32_t status;
		int expected;
		const char *says;
	} cases[] = { { 10052, -ENOLINK, "NFS4ERR_BADSESSION" },
		{ 10078, -ENOLINK, "NFS4ERR_DEADSESSION" }, { 10011, -ENOLINK, "NFS4ERR_EXPIRED" },
		{ 10063, -ENOLINK, "refuses the session" }, { 70, -ENOLINK, "NFS4ERR_STALE" },
		{ 10008, -EREMOTEIO, "NFS4ERR_DELAY" } };

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct reply reply;

		reply_compound(&reply, XID, cases[i].status, 1);
		REPLY_WORDS(&reply, 53, cases[i].status);
		assert_decodes(IN_SESSION, &reply, cases[i].expected, cases[i].says);
	}
}

/* Whole results of a COMPOUND for by_path, that do not agree with themselves or the call. */
static const struct {
	size_t count;
	uint32_t words[24];
} wrong[] = {
	{ 3, { 0, 0, 0 } },                       /* well, and no results */
	{ 5, { 0, 0, 1, 24, 0 } },                /* well, and not all */
	{ 5, { 0, 0, 1, 22, 0 } },                /* PUTFH for PUTROOTFH */
	{ 5, { 2, 0, 1, 24, 0 } },                /* failed, and no operation did */
	{ 5, { 0, 0, 1, 24, 2 } },                /* the other way round */
	{ 5, { 2, 0, 1, 24, 13 } },               /* two statuses */
	{ 7, { 2, 0, 2, 24, 2, 15, 2 } },         /* on after a failure */
	{ 7, { 2, 0, 2, 24, 2, 15, 0 } },         /* the same */
	{ 5, { 2, 0, 5, 24, 2 } },                /* more results than operations */
	{ 5, { 2, 0, 0xffffffff, 24, 2 } },       /* many more */
	{ 5, { 10044, 0, 1, 10044, 2 } },         /* illegal, but for another reason */
	{ 7, { 0, 0, 2, 10044, 10044, 15, 0 } },  /* illegal, and on */
	{ 4, { 0, 65, 0x41414141, 0x41414141 } }, /* a long tag */
	{ 4, { 0, 0xffffffff, 0x41414141, 0 } },  /* a tag that lies */
	{ 14, { 0, 0, 4, 24, 0, 15, 0, 15, 0, 9, 0, 9, 0, 0 } },          /* a long mask */
	{ 12, { 0, 0, 4, 24, 0, 15, 0, 15, 0, 9, 0, 0xffffffff } },       /* a mask that lies */
	{ 15, { 0, 0, 4, 24, 0, 15, 0, 15, 0, 9, 0, 2, 0, 0x1c00, 68 } }, /* many values */
	{ 15, { 0, 0, 4, 24, 0, 15, 0, 15, 0, 9, 0, 2, 0, 0x1c00, 0 } },  /* no values */
	{ 17, { 0, 0, 4, 24, 0, 15, 0, 15, 0, 9, 0, 2, 0, 0x1c00, 8, 0, 1 } }, /* one of three */
	{ 14, { 0, 0, 4, 24, 0, 15, 0, 15, 0, 9, 0, 1, 2, 0 } }, /* one not asked for */
	{ 15, { 0, 0, 4, 24, 0, 15, 0, 15, 0, 9, 0, 2, 0, 0x3c00, 0 } },
	{ 16, { 0, 0, 4, 24, 0, 15, 0, 15, 0, 9, 0, 3, 0, 0x1c00, 1, 0 } },
};

static void test_results_that_contradict_themselves_or_the_call(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct reply reply;

		reply_begin(&reply, XID);
		reply_words(&reply, wrong[i].count, wrong[i].words);
		assert_decodes(BY_PATH, &reply, -EPROTO, "malformed");
	}
}

static void test_an_operation_the_server_does_not_know(void **state)
{
	struct reply reply;

	(void)state;
	reply_compound(&reply, XID, 10044, 1);
	REPLY_WORDS(&reply, 10044, 10044);
	assert_decodes(CLIENT_ID, &reply, -EREMOTEIO, "NFS4ERR_OP_ILLEGAL");
}

static void test_a_server_that_does_not_tell_its_space(void **state)
{
	struct reply reply;

	(void)state;
	for (uint32_t words = 0; words <= 8; words += 4) {
		reply_compound(&reply, XID, 0, 4);
		REPLY_WORDS(&reply, 24, 0, 15, 0, 15, 0, 9, 0, words);
		for (uint32_t i = 0; i < words; i++)
			REPLY_WORDS(&reply, i == 1 ? 0x400 : 0);
		REPLY_WORDS(&reply, words ? 8 : 0);
		if (words)
			reply_hyper(&reply, 4096);
		assert_decodes(BY_PATH, &reply, -EREMOTEIO, "does not report space_total");
	}
}

static void test_a_mask_of_more_words_than_it_needs(void **state)
{
	struct reply reply;

	(void)state;
	reply_compound(&reply, XID, 0, 4);
	REPLY_WORDS(&reply, 24, 0, 15, 0, 15, 0, 9, 0, 4, 0, 0x1c00, 0, 0, 24);
	for (uint64_t i = 1; i <= 3; i++)
		reply_hyper(&reply, i);
	assert_decodes(BY_PATH, &reply, 0, "");
	assert_true(out.space.avail_bytes == 1 && out.space.free_bytes == 2 &&
		    out.space.total_bytes == 3);
}

/* Of the session, and of nothing else: id, sequence, slot. */
static void test_another_session(void **state)
{
	static const size_t words[] = { 12, 15, 16, 17 }; /* of the reply */

	(void)state;
	for (size_t i = 0; i < COUNT(words); i++) {
		struct reply reply;

		good(&reply, IN_SESSION);
		reply.octets[4 * words[i] - 1] ^= 1;
		assert_decodes(IN_SESSION, &reply, -EPROTO, "malformed");
	}
}

static void test_state_protection_is_not_accepted(void **state)
{
	struct reply reply;

	(void)state;
	good(&reply, CLIENT_ID);
	assert_int_equal(reply.octets[4 * 15 + 3], 0);
	reply.octets[4 * 15 + 3] = 1; /* SP4_MACH_CRED */
	assert_decodes(CLIENT_ID, &reply, -EPROTO, "malformed");
}

/* One wrong octet anywhere: an error, or a reply that is as good; nothing else is promised. */
static void test_every_octet_replaced(void **state)
{
	(void)state;
	for (enum kind kind = BY_PATH; kind < KINDS; kind++) {
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
					    ret == -ESTALE || ret == -ENOLINK ||
					    ret == -EPROTONOSUPPORT);
			}
			reply.octets[i] = before;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_replies),
		cmocka_unit_test(test_every_truncation_and_any_trailing_octets_are_malformed),
		cmocka_unit_test(test_an_answer_to_another_call),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_a_refused_session),
		cmocka_unit_test(test_results_that_contradict_themselves_or_the_call),
		cmocka_unit_test(test_an_operation_the_server_does_not_know),
		cmocka_unit_test(test_a_server_that_does_not_tell_its_space),
		cmocka_unit_test(test_a_mask_of_more_words_than_it_needs),
		cmocka_unit_test(test_another_session),
		cmocka_unit_test(test_state_protection_is_not_accepted),
		cmocka_unit_test(test_every_octet_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
