/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An asynchronous NFS client that does one thing: it gets the three byte counts of one export,
 * which carry its prices. Over NFSv3 it sends FSSTAT (RFC 1813 §3.3.18). If ports or file handle
 * are not known, it first asks rpcbind (RFC 1833) and MOUNT (RFC 1813 §5.2.1). Over NFSv4 it sends
 * GETATTR (RFC 7530 §16.7). Minor version 0 needs nothing else and is tried first. If the server
 * refuses it, the client uses 4.1, then 4.2, in a session (RFC 8881 §2.10) without a back channel.
 *
 *	3    start --> GETPORT of MOUNT --> GETPORT of NFS --> MNT --> FSSTAT --> done
 *	4.0  start --> GETATTR --> done
 *	4.1  start --> EXCHANGE_ID --> CREATE_SESSION --> GETATTR --> done
 *	               each is skipped if its answer is known        ^
 *	                                                             `-- next request, same connection
 *
 * There is one TCP connection at a time. libtirpc does the XDR, from the .x files. Nothing blocks,
 * and nothing allocates after canfs_fsstat_new(). A request ends by its deadline.
 *
 * A failed request closes the connection and forgets ports, minor version and session. The next
 * request connects anew. After a stale handle, the next request uses the path if one was given. A
 * request is not retried, except once if the server has dropped the session.
 *
 * The caller polls canfs_fsstat_fd() for canfs_fsstat_events() until
 * canfs_fsstat_deadline_usec(), then calls canfs_fsstat_step().
 */
#ifndef CANFS_PROTOCOL_FSSTAT_H
#define CANFS_PROTOCOL_FSSTAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include "protocol/tag.h"

#define CANFS_NFS3_HANDLE_MAX   64
#define CANFS_FSSTAT_HANDLE_MAX CANFS_NFS3_HANDLE_MAX /* of both versions */
#define CANFS_REPLY_MAX         8192 /* octets of one RPC reply record; a longer one is an error */

struct canfs_fsstat_target {
	struct sockaddr_storage address; /* IPv4 or IPv6; its port is ignored */
	int version;                     /* of NFS: 3 or 4; 0: 3 */
	uint16_t nfs_port;               /* 0: ask rpcbind; NFSv4: 2049 */
	uint16_t mount_port;             /* 0: ask rpcbind */
	uint16_t rpcbind_port;           /* 0: 111 */
	const char *path; /* export path, for NFSv4 from its root; copied; needed without handle */
	const uint8_t *handle; /* of that version; copied; NULL: use the path */
	size_t handle_len;     /* 1 ... CANFS_FSSTAT_HANDLE_MAX if handle */
};

struct canfs_fsstat; /* one export of one server */

/*
 * Returns 0, -EINVAL if target is invalid, -ENAMETOOLONG if the path has more than 1024 octets or,
 * over NFSv4, more than 32 components, or -ENOMEM. Does not connect yet.
 */
int canfs_fsstat_new(struct canfs_fsstat **fsstat, const struct canfs_fsstat_target *target);
void canfs_fsstat_free(struct canfs_fsstat *fsstat); /* NULL allowed */

/*
 * Starts a request that must be answered by deadline_usec (CLOCK_MONOTONIC). Returns 0, -EBUSY
 * while a request is in flight, or another -errno if it failed at once.
 */
int canfs_fsstat_start(struct canfs_fsstat *fsstat, uint64_t deadline_usec);

/*
 * The descriptor is -1 and the events are 0 while no request is in flight. The descriptor may
 * change with every step.
 */
int canfs_fsstat_fd(const struct canfs_fsstat *fsstat);
short canfs_fsstat_events(const struct canfs_fsstat *fsstat);           /* for poll(2) */
uint64_t canfs_fsstat_deadline_usec(const struct canfs_fsstat *fsstat); /* UINT64_MAX if idle */

/*
 * Returns the shortest recent round trip of the connection; 0: none was measured. It is the
 * network's round trip, because the server only sends a TCP acknowledgement.
 */
uint32_t canfs_fsstat_round_trip_usec(const struct canfs_fsstat *fsstat);

/*
 * Proceeds as far as it can without blocking. canfs_fsstat_error() describes a failed request. A
 * reply that has arrived counts even if the deadline has passed. Returns
 *
 *	0                 answered, *space is set
 *	-EINPROGRESS      poll again
 *	-ETIMEDOUT        no answer by the deadline
 *	-EPROTO           the reply is malformed, too long, or answers something else
 *	-ESTALE           the file handle is not valid any more
 *	-EREMOTEIO, -EPROTONOSUPPORT, -ENOLINK   another RPC, MOUNT or NFS error status
 *	-EINVAL           no request is in flight
 *	or the socket's -errno.
 */
int canfs_fsstat_step(struct canfs_fsstat *fsstat, uint64_t now_usec, struct canfs_space *space);

/*
 * Returns one line about the last failure, or "" if there was none since the last answer. Valid
 * until the next call.
 */
const char *canfs_fsstat_error(const struct canfs_fsstat *fsstat);

/*
 * Decoders of the replies' XDR bodies. They are separate so that they can be tested and fuzzed
 * without a socket. record: one RPC reply record without its record mark. xid: as sent in the call.
 * Return 0, -EPROTO, -ESTALE (only FSSTAT) or -EREMOTEIO. *error (never NULL on return) gives the
 * reason. Other outputs are set only on 0.
 */
int canfs_decode_getport(
	const uint8_t *record, size_t len, uint32_t xid, uint16_t *port, const char **error);
int canfs_decode_mnt(const uint8_t *record, size_t len, uint32_t xid,
	uint8_t handle[CANFS_NFS3_HANDLE_MAX], size_t *handle_len, const char **error);
int canfs_decode_fsstat(const uint8_t *record, size_t len, uint32_t xid, struct canfs_space *space,
	const char **error);

#endif
