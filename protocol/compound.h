/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The three COMPOUND calls (RFC 7530 §15.2, RFC 8881 §16.2) that ask an NFSv4 server for its prices,
 * and their replies. Private to protocol/ and its tests.
 *
 *	4.0       PUTROOTFH, LOOKUP of each component (or PUTFH); GETATTR       no state on the server
 *	4.1, 4.2  EXCHANGE_ID; CREATE_SESSION; then SEQUENCE and the same
 *
 * A reply's operations must be those of the call, in its order. Each is decoded by itself: with the
 * RFC's union of all results, a server that answers another operation than it was asked would have its
 * octets put into the places of this one.
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
	32 /* of a path: servers bound the operations of a COMPOUND, Linux to 50 */

/* One client of one server that asks one question at a time: a session with one slot. */
struct canfs_session {
	uint8_t owner[16]; /* names this client, for as long as it lives */
	uint64_t client_id;
	uint32_t create_sequence; /* for CREATE_SESSION */
	uint8_t id[16];
	uint32_t sequence; /* of the slot; of the request in flight */
};

/* What GETATTR is about. */
struct canfs_getattr {
	unsigned int minor;                  /* 0 ... CANFS_NFS4_MINOR_MAX */
	const struct canfs_session *session; /* not for minor 0 */
	const char *path;                    /* from the server's root; if handle_len is 0 */
	const uint8_t *handle;
	size_t handle_len; /* 0 ... CANFS_NFS4_HANDLE_MAX */
};

/* How many LOOKUPs a path takes; empty components and "." take none. */
size_t canfs_path_components(const char *path);

/* 0, or -EMSGSIZE: the path has more than CANFS_COMPONENTS_MAX components, or is too long. */
int canfs_call_getattr(struct canfs_call *call, uint32_t xid, const struct canfs_getattr *what);

/* verifier: another one makes the server forget what this owner had before. */
int canfs_call_exchange_id(struct canfs_call *call, uint32_t xid, unsigned int minor,
	const struct canfs_session *session, const uint8_t verifier[8]);
int canfs_call_create_session(struct canfs_call *call, uint32_t xid, unsigned int minor,
	const struct canfs_session *session);

/*
 * As the decoders of protocol/fsstat.h, with three errors more: -ESTALE (the file handle),
 * -EPROTONOSUPPORT (the server does not speak this minor version), -ENOLINK (it does not know the
 * session any more).
 */
int canfs_decode_getattr(const uint8_t *record, size_t len, uint32_t xid,
	const struct canfs_getattr *what, struct canfs_space *space, const char **error);
int canfs_decode_exchange_id(const uint8_t *record, size_t len, uint32_t xid,
	struct canfs_session *session, const char **error);
int canfs_decode_create_session(const uint8_t *record, size_t len, uint32_t xid,
	struct canfs_session *session, const char **error);

/* The operations of a GETATTR call in their order, for both directions. Their number; 0: too many. */
#define CANFS_OPS_MAX (CANFS_COMPONENTS_MAX + 3)
size_t canfs_getattr_plan(const struct canfs_getattr *what, uint32_t ops[CANFS_OPS_MAX]);

#endif
