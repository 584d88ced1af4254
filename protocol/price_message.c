// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/price_message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "pricing/price.h"

enum { CALL, REPLY };
enum { ACCEPTED, DENIED };
#define RPC_VERSION 2

/* accept_stat of RFC 5531 §9. A call of another RPC version is denied instead. */
enum refusal {
	SUCCESS,
	PROGRAM_UNAVAILABLE,
	PROGRAM_MISMATCH,
	PROCEDURE_UNAVAILABLE,
	GARBAGE_ARGUMENTS,
	RPC_MISMATCH
};

#define AUTH_BYTES_MAX 400 /* RFC 5531 §8.2 */
#define OPERATIONS_MAX 8

/* The largest bottleneck accepted from the wire. A newer server may have resources unknown here. */
#define BOTTLENECK_MAX 7

/*
 * The part of XDR (RFC 4506) that is needed. A datagram is read from `at` to `end`; bad is set if the
 * datagram is too short or invalid. A writer starts at `at`.
 */
struct reader {
	const uint8_t *at, *end;
	bool bad;
};

struct writer {
	uint8_t *at;
};

/* Octets beyond the end are read as zeroes. */
static void take(struct reader *in, void *bytes, size_t count)
{
	size_t padded = (count + 3) & ~(size_t)3;

	if (in->bad || padded > (size_t)(in->end - in->at)) {
		in->bad = true;
		memset(bytes, 0, count);
		return;
	}
	memcpy(bytes, in->at, count);
	in->at += padded;
}

static uint32_t take_uint(struct reader *in)
{
	uint32_t number;

	take(in, &number, sizeof(number));
	return ntohl(number);
}

static double take_double(struct reader *in)
{
	uint64_t high = take_uint(in), both = high << 32 | take_uint(in);
	double number;

	memcpy(&number, &both, sizeof(number));
	return number;
}

static bool take_bool(struct reader *in)
{
	uint32_t number = take_uint(in);

	if (number > 1)
		in->bad = true;
	return number == 1;
}

static void skip(struct reader *in, size_t most)
{
	size_t count = take_uint(in), padded = (count + 3) & ~(size_t)3;

	if (in->bad || count > most || padded > (size_t)(in->end - in->at))
		in->bad = true;
	else
		in->at += padded;
}

static void put(struct writer *out, const void *bytes, size_t count)
{
	memcpy(out->at, bytes, count);
	out->at += count;
	for (; count % 4 != 0; count++)
		*out->at++ = 0;
}

static void put_uint(struct writer *out, uint32_t number)
{
	number = htonl(number);
	put(out, &number, sizeof(number));
}

static void put_double(struct writer *out, double number)
{
	uint64_t both;

	memcpy(&both, &number, sizeof(both));
	put_uint(out, (uint32_t)(both >> 32));
	put_uint(out, (uint32_t)both);
}

static void put_call_head(struct writer *out, uint32_t xid, uint32_t procedure)
{
	put_uint(out, xid);
	put_uint(out, CALL);
	put_uint(out, RPC_VERSION);
	put_uint(out, CANFS_PRICE_PROGRAM);
	put_uint(out, CANFS_PRICE_VERSION);
	put_uint(out, procedure);
	for (int i = 0; i < 4; i++) /* no credentials, no verifier */
		put_uint(out, 0);
}

static void put_prices(struct writer *out, const struct canfs_prices *prices)
{
	put_uint(out, prices->age_usec);
	put_uint(out, prices->interval_usec);
	put_uint(out, CANFS_OPERATIONS);
	for (int i = 0; i < CANFS_OPERATIONS; i++) {
		put_double(out, prices->quote[i].price);
		put_uint(out, prices->quote[i].bottleneck);
	}
	put_double(out, prices->others);
}

static bool is_fraction(double number)
{
	return number >= 0 && number <= 1; /* false for NaN */
}

static struct canfs_quote take_quote(struct reader *in)
{
	double price = take_double(in);
	uint32_t bottleneck = take_uint(in);

	if (!is_fraction(price) || bottleneck > BOTTLENECK_MAX)
		in->bad = true;
	return (struct canfs_quote) { .price = price * CANFS_PRICE_MAX,
		.bottleneck = (enum canfs_resource)bottleneck };
}

static void take_prices(struct reader *in, struct canfs_prices *prices)
{
	uint32_t operations;

	prices->age_usec = take_uint(in);
	prices->interval_usec = take_uint(in);
	operations = take_uint(in);
	if (operations < CANFS_OPERATIONS || operations > OPERATIONS_MAX)
		in->bad = true;
	for (uint32_t i = 0; i < operations && !in->bad; i++) {
		struct canfs_quote quote = take_quote(in);

		if (i < CANFS_OPERATIONS)
			prices->quote[i] = quote;
	}
	prices->others = take_double(in);
	if (!isfinite(prices->others))
		in->bad = true;
}

size_t canfs_price_encode_call(uint8_t datagram[CANFS_DATAGRAM_MAX], uint32_t xid,
	enum canfs_price_procedure procedure, const struct canfs_price_request *request)
{
	static const uint8_t zeroes[CANFS_PRICE_CALL_BYTES];
	struct writer out = { .at = datagram };
	size_t name_bytes = strlen(request->export_name), used, padding = 0;

	put_call_head(&out, xid, procedure);
	put(&out, request->cookie, sizeof(request->cookie));
	put_uint(&out, request->nfs_version);
	put_uint(&out, (uint32_t)name_bytes);
	put(&out, request->export_name, name_bytes);
	put(&out, request->token, sizeof(request->token));
	put_uint(&out, request->lease_sec);
	put_double(&out, request->threshold);
	put_uint(&out, request->others);
	used = (size_t)(out.at - datagram) + sizeof(uint32_t);
	if (used < CANFS_PRICE_CALL_BYTES)
		padding = CANFS_PRICE_CALL_BYTES - used;
	put_uint(&out, (uint32_t)padding);
	put(&out, zeroes, padding);
	return (size_t)(out.at - datagram);
}

size_t canfs_price_encode_push(
	uint8_t datagram[CANFS_DATAGRAM_MAX], uint32_t xid, const struct canfs_price_push *push)
{
	struct writer out = { .at = datagram };

	put_call_head(&out, xid, CANFS_PRICE_PUSH);
	put(&out, push->token, sizeof(push->token));
	put_uint(&out, push->number);
	put_prices(&out, &push->prices);
	return (size_t)(out.at - datagram);
}

static void put_denial(struct writer *out)
{
	put_uint(out, DENIED);
	put_uint(out, 0); /* RPC_MISMATCH of reject_stat */
	put_uint(out, RPC_VERSION);
	put_uint(out, RPC_VERSION);
}

static void put_result(struct writer *out, const struct canfs_price_result *result)
{
	put_uint(out, result->status);
	if (result->status == CANFS_STATUS_OK) {
		put_uint(out, result->lease_sec);
		put_prices(out, &result->prices);
	} else if (result->status == CANFS_STATUS_COOKIE) {
		put(out, result->cookie, sizeof(result->cookie));
	}
}

size_t canfs_price_encode_reply(uint8_t datagram[CANFS_DATAGRAM_MAX],
	const struct canfs_price_call *call, const struct canfs_price_result *result)
{
	struct writer out = { .at = datagram };

	put_uint(&out, call->xid);
	put_uint(&out, REPLY);
	if (call->refused == RPC_MISMATCH) {
		put_denial(&out);
		return (size_t)(out.at - datagram);
	}
	put_uint(&out, ACCEPTED);
	put_uint(&out, 0); /* no verifier */
	put_uint(&out, 0);
	put_uint(&out, (uint32_t)call->refused);
	if (call->refused == PROGRAM_MISMATCH) {
		put_uint(&out, CANFS_PRICE_VERSION);
		put_uint(&out, CANFS_PRICE_VERSION);
	} else if (call->refused == SUCCESS && call->procedure != CANFS_PRICE_NULL) {
		put_result(&out, result);
	}
	return (size_t)(out.at - datagram);
}

static enum refusal take_call_head(struct reader *in, struct canfs_price_call *call)
{
	uint32_t rpc = take_uint(in), program = take_uint(in), version = take_uint(in);

	call->procedure = take_uint(in);
	if (rpc != RPC_VERSION)
		return RPC_MISMATCH;
	for (int i = 0; i < 2; i++) { /* credentials and verifier, ignored */
		(void)take_uint(in);
		skip(in, AUTH_BYTES_MAX);
	}
	if (program != CANFS_PRICE_PROGRAM)
		return PROGRAM_UNAVAILABLE;
	if (version != CANFS_PRICE_VERSION)
		return PROGRAM_MISMATCH;
	return call->procedure < CANFS_PRICE_PUSH ? SUCCESS : PROCEDURE_UNAVAILABLE;
}

static void take_request(struct reader *in, struct canfs_price_request *request)
{
	uint32_t name_bytes;

	take(in, request->cookie, sizeof(request->cookie));
	request->nfs_version = take_uint(in);
	name_bytes = take_uint(in);
	if (name_bytes > CANFS_EXPORT_NAME_MAX) {
		in->bad = true;
		return;
	}
	take(in, request->export_name, name_bytes);
	request->export_name[name_bytes] = '\0';
	take(in, request->token, sizeof(request->token));
	request->lease_sec = take_uint(in);
	request->threshold = take_double(in);
	request->others = take_bool(in);
	skip(in, CANFS_DATAGRAM_MAX);
	if (strlen(request->export_name) != name_bytes || !is_fraction(request->threshold) ||
		(request->nfs_version != 3 && request->nfs_version != 4))
		in->bad = true;
}

int canfs_price_decode_call(const uint8_t *datagram, size_t len, struct canfs_price_call *call)
{
	struct reader in = { .at = datagram, .end = datagram + len };

	*call = (struct canfs_price_call) { .xid = take_uint(&in) };
	if (take_uint(&in) != CALL)
		return -EPROTO;
	call->refused = (int)take_call_head(&in, call);
	if (in.bad)
		return -EPROTO;
	if (call->refused == SUCCESS && call->procedure != CANFS_PRICE_NULL)
		take_request(&in, &call->request);
	if (in.bad || (call->refused == SUCCESS && in.at != in.end))
		call->refused = GARBAGE_ARGUMENTS;
	return 0;
}

static void take_result(struct reader *in, struct canfs_price_result *result)
{
	uint32_t status = take_uint(in);

	if (status >= CANFS_STATUSES) {
		in->bad = true;
		return;
	}
	result->status = (enum canfs_price_status)status;
	if (result->status == CANFS_STATUS_OK) {
		result->lease_sec = take_uint(in);
		take_prices(in, &result->prices);
	} else if (result->status == CANFS_STATUS_COOKIE) {
		take(in, result->cookie, sizeof(result->cookie));
	}
}

static void take_reply(struct reader *in, struct canfs_price_datagram *decoded)
{
	decoded->kind = CANFS_PRICE_IS_RESULT;
	if (take_uint(in) != ACCEPTED)
		in->bad = true;
	(void)take_uint(in);
	skip(in, AUTH_BYTES_MAX);
	if (take_uint(in) != SUCCESS)
		in->bad = true;
	take_result(in, &decoded->result);
}

static void take_push(struct reader *in, struct canfs_price_datagram *decoded)
{
	struct canfs_price_call call;

	decoded->kind = CANFS_PRICE_IS_PUSH;
	if (take_call_head(in, &call) != PROCEDURE_UNAVAILABLE ||
		call.procedure != CANFS_PRICE_PUSH)
		in->bad = true;
	take(in, decoded->push.token, sizeof(decoded->push.token));
	decoded->push.number = take_uint(in);
	take_prices(in, &decoded->push.prices);
}

int canfs_price_decode_datagram(
	const uint8_t *datagram, size_t len, struct canfs_price_datagram *decoded)
{
	struct reader in = { .at = datagram, .end = datagram + len };

	*decoded = (struct canfs_price_datagram) { .xid = take_uint(&in) };
	switch (take_uint(&in)) {
	case CALL:
		take_push(&in, decoded);
		break;
	case REPLY:
		take_reply(&in, decoded);
		break;
	default:
		return -EPROTO;
	}
	return in.bad || in.at != in.end ? -EPROTO : 0;
}

const char *canfs_price_status_name(enum canfs_price_status status)
{
	static const char *const names[] = {
		[CANFS_STATUS_OK] = "ok",
		[CANFS_STATUS_COOKIE] = "cookie",
		[CANFS_STATUS_ACCESS] = "access denied",
		[CANFS_STATUS_NONE] = "no prices",
		[CANFS_STATUS_FULL] = "too many subscriptions",
	};

	return status < CANFS_STATUSES ? names[status] : "unknown";
}
