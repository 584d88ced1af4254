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

#define CANFS_PRICE_PROGRAM   0x20ca0f50u /* from the range for users, RFC 5531 §8.4 */
#define CANFS_PRICE_VERSION   1u
#define CANFS_PRICE_PORT      20590 /* UDP, the default */
#define CANFS_PRICE_LEASE_SEC 60    /* the longest lease */

#define CANFS_COOKIE_BYTES     16
#define CANFS_TOKEN_BYTES      16
#define CANFS_EXPORT_NAME_MAX  1024
#define CANFS_PRICE_CALL_BYTES 192  /* calls are padded to this size, which no reply exceeds */
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

/* All prices of an export, at full precision. */
struct canfs_prices {
	struct canfs_quote quote[CANFS_OPERATIONS];
	uint32_t age_usec;      /* since they were computed */
	uint32_t interval_usec; /* from one computation to the next */
	double others; /* reads, writes and commits of other clients in flight; negative: unknown */
};

/*
 * Returns true if other clients, or more of them, became active. The server pushes this at once
 * (README.md). The margin is needed because the mean also varies with the duration of operations.
 * For clients that became idle, swap before and now.
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
	bool others; /* ask for canfs_prices.others */
};

struct canfs_price_result {
	enum canfs_price_status status;
	uint32_t lease_sec;                 /* CANFS_STATUS_OK */
	struct canfs_prices prices;         /* likewise */
	uint8_t cookie[CANFS_COOKIE_BYTES]; /* CANFS_STATUS_COOKIE */
};

struct canfs_price_push {
	uint8_t token[CANFS_TOKEN_BYTES];
	uint32_t number; /* counts the pushes of this token, from 1 */
	struct canfs_prices prices;
};

/* A call, as the server decoded it. */
struct canfs_price_call {
	uint32_t xid;
	uint32_t procedure; /* an enum canfs_price_procedure that a server implements */
	int refused;        /* 0, or why RPC refuses it: opaque, for canfs_price_encode_reply() */
	struct canfs_price_request request; /* of GET and SUBSCRIBE, if not refused */
};

/* A datagram, as the client decoded it. */
struct canfs_price_datagram {
	uint32_t xid;
	enum { CANFS_PRICE_IS_RESULT, CANFS_PRICE_IS_PUSH } kind;
	struct canfs_price_result result;
	struct canfs_price_push push;
};

/*
 * Each function encodes a datagram of at most CANFS_DATAGRAM_MAX octets and returns its length. The
 * export name in request has at most CANFS_EXPORT_NAME_MAX octets.
 */
size_t canfs_price_encode_call(uint8_t datagram[CANFS_DATAGRAM_MAX], uint32_t xid,
	enum canfs_price_procedure procedure, const struct canfs_price_request *request);
size_t canfs_price_encode_push(
	uint8_t datagram[CANFS_DATAGRAM_MAX], uint32_t xid, const struct canfs_price_push *push);

/* result: not used if the call is refused or is CANFS_PRICE_NULL. */
size_t canfs_price_encode_reply(uint8_t datagram[CANFS_DATAGRAM_MAX],
	const struct canfs_price_call *call, const struct canfs_price_result *result);

/*
 * Returns 0 if the call must be answered, if only with a refusal. Returns -EPROTO if the datagram
 * is no RPC call and must be ignored. Refuses as garbage a name with a NUL in it, an NFS version
 * other than 3 and 4, and a threshold outside [0, 1].
 */
int canfs_price_decode_call(const uint8_t *datagram, size_t len, struct canfs_price_call *call);

/*
 * Returns 0, or -EPROTO if the datagram is neither a result nor a push, RPC refused the call, a
 * price is outside [0, 1], or others is not finite. Unknown additional operations are left out.
 * Fewer operations than CANFS_OPERATIONS are an error.
 */
int canfs_price_decode_datagram(
	const uint8_t *datagram, size_t len, struct canfs_price_datagram *decoded);

/* Returns "ok", "cookie" ..., never NULL. */
const char *canfs_price_status_name(enum canfs_price_status status);

#endif
