/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The three COMPOUND calls (RFC 7530 §15.2, RFC 8881 §16.2) that ask an NFSv4 server for its
 * prices, and their replies. Private to protocol/ and its tests.
 *
 *	4.0       PUTROOTFH, LOOKUP of each component (or PUTFH); GETATTR       no state on the server
 *	4.1, 4.2  EXCHANGE_ID; CREATE_SESSION; then SEQUENCE and the same
 *
 * A reply must have the operations of the call, in the same order. Each operation is decoded by its
 * own decoder, not by the RFC's union of all results. With the union, the result of a wrong
 * operation would be stored in the members of the expected one.
 */
#ifndef CANFS_PROTOCOL_COMPOUND_H
#define CANFS_PROTOCOL_COMPOUND_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/call.h"
#include "protocol/tag.h"

#define CANFS_NFS4_HANDLE_MAX 128
#define CANFS_NFS4_MINOR_MAX  2
/* space_avail, space_free, space_total: attributes 42 to 44, in the second word of the mask. */
#define CANFS_SPACE_ATTRIBUTES (7u << (42 - 32))

#define CANFS_COMPONENTS_MAX                                                                       \
	32 /* of a path: servers limit the operations of a COMPOUND, Linux to 50 */

/* One client of one server. It has one request at a time, so the session has one slot. */
struct canfs_session {
	uint8_t owner[16]; /* identifies this client during its lifetime */
	uint64_t client_id;
	uint32_t create_sequence; /* for CREATE_SESSION */
	uint8_t id[16];
	uint32_t sequence; /* of the slot, for the request in flight */
};

/* The object of a GETATTR. */
struct canfs_getattr {
	unsigned int minor;                  /* 0 ... CANFS_NFS4_MINOR_MAX */
	const struct canfs_session *session; /* unused if minor is 0 */
	const char *path;                    /* from the server's root; used if handle_len is 0 */
	const uint8_t *handle;
	size_t handle_len; /* 0 ... CANFS_NFS4_HANDLE_MAX */
};

/* Returns the number of LOOKUPs that a path takes. Empty components and "." take none. */
size_t canfs_path_components(const char *path);

/* Returns 0, or -EMSGSIZE if the path is too long or exceeds CANFS_COMPONENTS_MAX. */
int canfs_call_getattr(struct canfs_call *call, uint32_t xid, const struct canfs_getattr *what);

/*
 * verifier: a new value makes the server drop earlier state of this owner. Both return 0 or
 * -EMSGSIZE.
 */
int canfs_call_exchange_id(struct canfs_call *call, uint32_t xid, unsigned int minor,
	const struct canfs_session *session, const uint8_t verifier[8]);
int canfs_call_create_session(struct canfs_call *call, uint32_t xid, unsigned int minor,
	const struct canfs_session *session);

/*
 * Like the decoders of protocol/fsstat.h, with three more errors: -ESTALE for a bad file handle,
 * -EPROTONOSUPPORT if the server does not support this minor version, -ENOLINK if the server has
 * lost the session.
 */
int canfs_decode_getattr(const uint8_t *record, size_t len, uint32_t xid,
	const struct canfs_getattr *what, struct canfs_space *space, const char **error);
int canfs_decode_exchange_id(const uint8_t *record, size_t len, uint32_t xid,
	struct canfs_session *session, const char **error);
int canfs_decode_create_session(const uint8_t *record, size_t len, uint32_t xid,
	struct canfs_session *session, const char **error);

/*
 * Sets ops to the operations of a GETATTR call in their order, for encoder and decoder. Returns
 * their number, or 0 if there are too many.
 */
#define CANFS_OPS_MAX (CANFS_COMPONENTS_MAX + 3)
size_t canfs_getattr_plan(const struct canfs_getattr *what, uint32_t ops[CANFS_OPS_MAX]);

#endif
