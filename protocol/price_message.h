/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The datagrams of the price service (prices.x, README.md): encoders and decoders without I/O.
 *
 *	client --- GET, SUBSCRIBE (call) ---> server
 *	       <-- result (reply) ----------
 *	       <-- PUSH (call) -------------  while subscribed
 */
#ifndef CANFS_PROTOCOL_PRICE_MESSAGE_H
#define CANFS_PROTOCOL_PRICE_MESSAGE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "pricing/market.h"

#define CANFS_PRICE_PROGRAM   0x20ca0f50u /* of the range for users, RFC 5531 §8.4 */
#define CANFS_PRICE_VERSION   1u
#define CANFS_PRICE_PORT      20590 /* UDP, where nothing else is said */
#define CANFS_PRICE_LEASE_SEC 60    /* the longest one */

#define CANFS_COOKIE_BYTES     16
#define CANFS_TOKEN_BYTES      16
#define CANFS_EXPORT_NAME_MAX  1024
#define CANFS_PRICE_CALL_BYTES 192 /* a call is padded to so many octets, more than any reply has */
#define CANFS_DATAGRAM_MAX     1400 /* octets of any datagram */

enum canfs_price_procedure {
	CANFS_PRICE_NULL,
	CANFS_PRICE_GET,
	CANFS_PRICE_SUBSCRIBE,
	CANFS_PRICE_PUSH
};

enum canfs_price_status {
	CANFS_STATUS_OK,
	CANFS_STATUS_COOKIE,
	CANFS_STATUS_ACCESS,
	CANFS_STATUS_NONE,
	CANFS_STATUS_FULL,
	CANFS_STATUSES
};

/* All that an export asks, at full precision. */
struct canfs_prices {
	struct canfs_quote quote[CANFS_OPERATIONS];
	uint32_t age_usec;      /* since they were computed */
	uint32_t interval_usec; /* from one computation to the next */
	double others; /* reads, writes and commits of other clients in flight; negative: not known */
};

/*
 * Have others come, or more of them? That is told at once (README.md): their mean moves by itself, with what an operation
 * takes. They have gone in the same way, with before and now exchanged.
 */
static inline bool canfs_others_came(double before, double now)
{
	return now > 2 * fmax(before, 0) + 0.25;
}

struct canfs_price_request {
	uint8_t cookie[CANFS_COOKIE_BYTES];
	uint32_t nfs_version;
	char export_name[CANFS_EXPORT_NAME_MAX + 1];
	uint8_t token[CANFS_TOKEN_BYTES];
	uint32_t lease_sec;
	double threshold;
	bool others; /* are to be told */
};

struct canfs_price_result {
	enum canfs_price_status status;
	uint32_t lease_sec;                 /* CANFS_STATUS_OK */
	struct canfs_prices prices;         /* likewise */
	uint8_t cookie[CANFS_COOKIE_BYTES]; /* CANFS_STATUS_COOKIE */
};

struct canfs_price_push {
	uint8_t token[CANFS_TOKEN_BYTES];
	uint32_t number; /* of the subscription, from 1 */
	struct canfs_prices prices;
};

/* What the server took of a call. */
struct canfs_price_call {
	uint32_t xid;
	uint32_t procedure; /* an enum canfs_price_procedure that a server has */
	int refused;        /* 0, or why RPC refuses it: opaque, for canfs_price_encode_reply() */
	struct canfs_price_request request; /* of GET and SUBSCRIBE that are not refused */
};

/* What the client took of a datagram. */
struct canfs_price_datagram {
	uint32_t xid;
	enum { CANFS_PRICE_IS_RESULT, CANFS_PRICE_IS_PUSH } kind;
	struct canfs_price_result result;
	struct canfs_price_push push;
};

/*
 * Each encodes a datagram of CANFS_DATAGRAM_MAX octets at most, and returns its length.
 * request: its name of the export has at most CANFS_EXPORT_NAME_MAX octets.
 */
size_t canfs_price_encode_call(uint8_t datagram[CANFS_DATAGRAM_MAX], uint32_t xid,
	enum canfs_price_procedure procedure, const struct canfs_price_request *request);
size_t canfs_price_encode_push(
	uint8_t datagram[CANFS_DATAGRAM_MAX], uint32_t xid, const struct canfs_price_push *push);

/* result: of a call that is not refused; else, and of CANFS_PRICE_NULL, not used. */
size_t canfs_price_encode_reply(uint8_t datagram[CANFS_DATAGRAM_MAX],
	const struct canfs_price_call *call, const struct canfs_price_result *result);

/*
 * 0: to be answered, if only with a refusal; -EPROTO: no RPC call, to be ignored. A name with a NUL in it, a
 * version of NFS that is neither 3 nor 4, a threshold outside [0, 1] make the arguments garbage.
 */
int canfs_price_decode_call(const uint8_t *datagram, size_t len, struct canfs_price_call *call);

/*
 * 0, or -EPROTO: neither a result nor a push, or refused by RPC, or a price outside [0, 1], or others that are no number.
 * More operations than are known here are left out; fewer are an error.
 */
int canfs_price_decode_datagram(
	const uint8_t *datagram, size_t len, struct canfs_price_datagram *decoded);

/* "ok", "cookie" ... Never NULL. */
const char *canfs_price_status_name(enum canfs_price_status status);

#endif
