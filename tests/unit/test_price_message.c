// SPDX-License-Identifier: LGPL-3.0-or-later
/* The price service's datagrams: against libtirpc's encoding of prices.x, there and back, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "protocol/price_message.h"
#include "prices.h" /* rpcgen's */

static const struct canfs_prices prices = { .quote = { [CANFS_WRITE] = { 0.123456789, CANFS_LOG },
						    [CANFS_READAHEAD] = { 1, CANFS_DISK } },
	.age_usec = 12345,
	.interval_usec = 100000,
	.others = 1.5 };

static struct canfs_price_request request(void)
{
	struct canfs_price_request request = { .nfs_version = 4,
		.export_name = "/srv/data",
		.lease_sec = 60,
		.threshold = 0.0025,
		.others = true };

	memset(request.cookie, 0xc0, sizeof(request.cookie));
	memset(request.token, 0x70, sizeof(request.token));
	return request;
}

/* What libtirpc decodes of it, behind a header of header_bytes. */
static void decode_by_libtirpc(
	uint8_t *datagram, size_t bytes, size_t header_bytes, xdrproc_t decode, void *decoded)
{
	XDR xdr;

	xdrmem_create(
		&xdr, (char *)datagram + header_bytes, (u_int)(bytes - header_bytes), XDR_DECODE);
	assert_true(decode(&xdr, decoded));
	assert_int_equal(xdr_getpos(&xdr), bytes - header_bytes);
}

static void assert_prices(const price_list *list)
{
	assert_int_equal(list->age_usec, prices.age_usec);
	assert_int_equal(list->interval_usec, prices.interval_usec);
	assert_true(list->others == prices.others);
	assert_int_equal(list->operations.operations_len, CANFS_OPERATIONS);
	for (int i = 0; i < CANFS_OPERATIONS; i++) {
		assert_true(list->operations.operations_val[i].price == prices.quote[i].price);
		assert_int_equal(
			list->operations.operations_val[i].bottleneck, prices.quote[i].bottleneck);
	}
}

#define CALL_HEADER  40
#define REPLY_HEADER 24

static void a_call_is_what_prices_x_says(void **state)
{
	struct canfs_price_request asked = request();
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	size_t bytes = canfs_price_encode_call(datagram, 7, CANFS_PRICE_SUBSCRIBE, &asked);
	struct rpc_msg head = { 0 };
	price_args args = { 0 };
	XDR xdr;

	(void)state;
	assert_int_equal(bytes, CANFS_PRICE_CALL_BYTES);
	xdrmem_create(&xdr, (char *)datagram, CALL_HEADER, XDR_DECODE);
	assert_true(xdr_callmsg(&xdr, &head));
	assert_int_equal(head.rm_xid, 7);
	assert_int_equal(head.rm_call.cb_prog, PRICE_PROGRAM);
	assert_int_equal(head.rm_call.cb_vers, PRICE_V1);
	assert_int_equal(head.rm_call.cb_proc, PRICE_SUBSCRIBE);
	decode_by_libtirpc(datagram, bytes, CALL_HEADER, (xdrproc_t)xdr_price_args, &args);
	assert_memory_equal(args.cookie, asked.cookie, PRICE_COOKIE_SIZE);
	assert_memory_equal(args.token, asked.token, PRICE_TOKEN_SIZE);
	assert_int_equal(args.nfs_version, 4);
	assert_string_equal(args.export, "/srv/data");
	assert_int_equal(args.lease_sec, 60);
	assert_true(args.threshold == 0.0025);
	assert_true(args.others);
	xdr_free((xdrproc_t)xdr_price_args, (char *)&args);
}

static void replies_are_what_prices_x_says(void **state)
{
	struct canfs_price_call call = { .xid = 9, .procedure = CANFS_PRICE_GET };
	struct canfs_price_result given = {
		.status = CANFS_STATUS_OK, .lease_sec = 60, .prices = prices
	};
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	size_t bytes = canfs_price_encode_reply(datagram, &call, &given);
	price_result result = { 0 };

	(void)state;
	decode_by_libtirpc(datagram, bytes, REPLY_HEADER, (xdrproc_t)xdr_price_result, &result);
	assert_int_equal(result.status, PRICE_OK);
	assert_int_equal(result.price_result_u.answer.lease_sec, 60);
	assert_prices(&result.price_result_u.answer.prices);
	xdr_free((xdrproc_t)xdr_price_result, (char *)&result);

	given.status = CANFS_STATUS_COOKIE;
	memset(given.cookie, 0xee, sizeof(given.cookie));
	bytes = canfs_price_encode_reply(datagram, &call, &given);
	memset(&result, 0, sizeof(result));
	decode_by_libtirpc(datagram, bytes, REPLY_HEADER, (xdrproc_t)xdr_price_result, &result);
	assert_int_equal(result.status, PRICE_COOKIE);
	assert_memory_equal(result.price_result_u.cookie, given.cookie, PRICE_COOKIE_SIZE);
}

static void a_push_is_what_prices_x_says(void **state)
{
	struct canfs_price_push given = { .number = 3, .prices = prices };
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	price_push push = { 0 };
	size_t bytes;

	(void)state;
	memset(given.token, 0x70, sizeof(given.token));
	bytes = canfs_price_encode_push(datagram, 1, &given);
	decode_by_libtirpc(datagram, bytes, CALL_HEADER, (xdrproc_t)xdr_price_push, &push);
	assert_memory_equal(push.token, given.token, PRICE_TOKEN_SIZE);
	assert_int_equal(push.number, 3);
	assert_prices(&push.prices);
	xdr_free((xdrproc_t)xdr_price_push, (char *)&push);
}

static void there_and_back(void **state)
{
	struct canfs_price_request asked = request();
	struct canfs_price_result given = {
		.status = CANFS_STATUS_OK, .lease_sec = 60, .prices = prices
	};
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	struct canfs_price_datagram answer;
	struct canfs_price_call call;
	size_t bytes, call_bytes;

	(void)state;
	call_bytes = canfs_price_encode_call(datagram, 7, CANFS_PRICE_GET, &asked);
	assert_int_equal(canfs_price_decode_call(datagram, call_bytes, &call), 0);
	assert_int_equal(call.refused, 0);
	assert_int_equal(call.procedure, CANFS_PRICE_GET);
	assert_string_equal(call.request.export_name, asked.export_name);
	assert_memory_equal(call.request.cookie, asked.cookie, sizeof(asked.cookie));
	assert_memory_equal(call.request.token, asked.token, sizeof(asked.token));
	assert_int_equal(call.request.nfs_version, asked.nfs_version);
	assert_int_equal(call.request.lease_sec, asked.lease_sec);
	assert_true(call.request.threshold == asked.threshold);
	assert_true(call.request.others);
	for (int status = 0; status < CANFS_STATUSES; status++) {
		given.status = (enum canfs_price_status)status;
		bytes = canfs_price_encode_reply(datagram, &call, &given);
		assert_true(bytes < call_bytes);
		assert_int_equal(canfs_price_decode_datagram(datagram, bytes, &answer), 0);
		assert_int_equal(answer.kind, CANFS_PRICE_IS_RESULT);
		assert_int_equal(answer.xid, 7);
		assert_int_equal(answer.result.status, status);
	}
}

/* The longest name leaves the call in one datagram. */
static void the_longest_name_fits(void **state)
{
	struct canfs_price_request asked = request();
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	struct canfs_price_call call;
	size_t bytes;

	(void)state;
	memset(asked.export_name, 'x', CANFS_EXPORT_NAME_MAX);
	bytes = canfs_price_encode_call(datagram, 7, CANFS_PRICE_GET, &asked);
	assert_in_range(bytes, CANFS_EXPORT_NAME_MAX, CANFS_DATAGRAM_MAX);
	assert_int_equal(canfs_price_decode_call(datagram, bytes, &call), 0);
	assert_string_equal(call.request.export_name, asked.export_name);
}

static void put_word(uint8_t *datagram, size_t word, uint32_t number)
{
	number = htonl(number);
	memcpy(datagram + 4 * word, &number, sizeof(number));
}

/* What RPC refuses has its own answers, none longer than the call. */
static void rpc_refuses(void **state)
{
	static const struct {
		size_t word;
		uint32_t number;
		const char *what;
		size_t reply_bytes;
	} cases[] = {
		{ 2, 3, "another version of RPC", 24 },
		{ 3, 100003, "another program", 24 },
		{ 4, 2, "another version", 32 },
		{ 5, CANFS_PRICE_PUSH, "a procedure that servers do not have", 24 },
		{ 14, 5, "another version of NFS", 24 },
		{ 15, CANFS_EXPORT_NAME_MAX + 1, "a name that is too long", 24 },
		{ 15, 0xffffffff, "a name that is much too long", 24 },
		{ 16, 0x2f002f78, "a NUL in the name", 24 },
		{ 24, 0x7ff80000, "a threshold that is no number", 24 },
		{ 26, 2, "a boolean that is neither", 24 },
		{ 27, 1, "a padding that is too short", 24 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct canfs_price_request asked = request();
		uint8_t datagram[CANFS_DATAGRAM_MAX];
		struct canfs_price_datagram answer;
		struct canfs_price_call call;
		size_t bytes = canfs_price_encode_call(datagram, 7, CANFS_PRICE_GET, &asked);

		put_word(datagram, cases[i].word, cases[i].number);
		if (canfs_price_decode_call(datagram, bytes, &call) != 0 || call.refused == 0)
			fail_msg("%s: not refused", cases[i].what);
		bytes = canfs_price_encode_reply(datagram, &call, NULL);
		if (bytes != cases[i].reply_bytes)
			fail_msg("%s: a reply of %zu octets", cases[i].what, bytes);
		assert_int_equal(canfs_price_decode_datagram(datagram, bytes, &answer), -EPROTO);
	}
}

static void what_is_cut_is_refused(void **state)
{
	struct canfs_price_request asked = request();
	struct canfs_price_push given = { .number = 1, .prices = prices };
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	struct canfs_price_datagram answer;
	struct canfs_price_call call;
	size_t bytes = canfs_price_encode_call(datagram, 7, CANFS_PRICE_GET, &asked);

	(void)state;
	for (size_t cut = 0; cut < bytes; cut++)
		assert_true(canfs_price_decode_call(datagram, cut, &call) == -EPROTO ||
			    call.refused != 0);
	bytes = canfs_price_encode_push(datagram, 1, &given);
	for (size_t cut = 0; cut < bytes; cut++)
		assert_int_equal(canfs_price_decode_datagram(datagram, cut, &answer), -EPROTO);
}

static int decode_push_with(double price, uint32_t bottleneck, struct canfs_price_push *push)
{
	struct canfs_price_push given = { .number = 1, .prices = prices };
	struct canfs_price_datagram answer;
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	size_t bytes;
	int ret;

	given.prices.quote[CANFS_WRITE].price = price;
	bytes = canfs_price_encode_push(datagram, 1, &given);
	put_word(datagram, 20, bottleneck);
	ret = canfs_price_decode_datagram(datagram, bytes, &answer);
	*push = answer.push;
	return ret;
}

static void only_prices_are_prices(void **state)
{
	static const double wrong[] = { -0.001, 1.001, INFINITY, -INFINITY, NAN };
	struct canfs_price_push push;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(decode_push_with(wrong[i], CANFS_DISK, &push), -EPROTO);
	assert_int_equal(decode_push_with(0, CANFS_DISK, &push), 0);
	assert_int_equal(push.prices.quote[CANFS_WRITE].bottleneck, CANFS_DISK);
	assert_int_equal(decode_push_with(1, CANFS_LOG, &push), 0);
	assert_int_equal(push.prices.quote[CANFS_WRITE].bottleneck, CANFS_LOG);
	assert_int_equal(decode_push_with(1, 6, &push), 0);
	assert_int_equal(push.prices.quote[CANFS_WRITE].bottleneck, CANFS_PEER);
	assert_int_equal(decode_push_with(1, 8, &push), -EPROTO);
}

static void others_are_a_number(void **state)
{
	static const double told[] = { -1, 0, 0.3, 1e9, INFINITY, NAN };

	(void)state;
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		struct canfs_price_push given = { .number = 1, .prices = prices };
		struct canfs_price_datagram answer;
		uint8_t datagram[CANFS_DATAGRAM_MAX];
		size_t bytes;

		given.prices.others = told[i];
		bytes = canfs_price_encode_push(datagram, 1, &given);
		assert_int_equal(canfs_price_decode_datagram(datagram, bytes, &answer),
			isfinite(told[i]) ? 0 : -EPROTO);
	}
}

static void what_coming_and_going_is(void **state)
{
	(void)state;
	assert_true(canfs_others_came(0, 0.3));
	assert_false(canfs_others_came(0, 0.2));
	assert_false(canfs_others_came(1, 2));
	assert_true(canfs_others_came(1, 3));
	/* Of whom nothing is known. */
	assert_false(canfs_others_came(-1, -1));
	assert_false(canfs_others_came(1, -1));
	assert_true(canfs_others_came(-1, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_is_what_prices_x_says),
		cmocka_unit_test(replies_are_what_prices_x_says),
		cmocka_unit_test(a_push_is_what_prices_x_says),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(the_longest_name_fits),
		cmocka_unit_test(rpc_refuses),
		cmocka_unit_test(what_is_cut_is_refused),
		cmocka_unit_test(only_prices_are_prices),
		cmocka_unit_test(others_are_a_number),
		cmocka_unit_test(what_coming_and_going_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
