/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * An asynchronous NFS client for one thing: the three byte counts of one export, which carry its
 * prices. Over NFSv3 that is FSSTAT (RFC 1813 §3.3.18), with rpcbind (RFC 1833) and MOUNT (RFC 1813
 * §5.2.1) before it where ports or file handle are not known. Over NFSv4 it is GETATTR (RFC 7530
 * §16.7); minor version 0 needs nothing else, and is asked for first. A server that refuses it is asked
 * over 4.1, then 4.2, in a session (RFC 8881 §2.10) without back channel.
 *
 *	3    start --> GETPORT of MOUNT --> GETPORT of NFS --> MNT --> FSSTAT --> done
 *	4.0  start --> GETATTR --> done
 *	4.1  start --> EXCHANGE_ID --> CREATE_SESSION --> GETATTR --> done
 *	               each is skipped if what it asks for is known  ^
 *	                                                             `-- next request, same connection
 *
 * One TCP connection at a time; XDR by libtirpc, from the .x files. Nothing blocks, nothing
 * allocates after canfs_fsstat_new(), and a request ends by its deadline. One that fails closes the
 * connection and forgets ports, minor version and session; the next one connects anew. After a stale
 * handle the next one goes by the path, if that was given. Nothing is retried within a request, but for
 * a session that the server has dropped meanwhile, once.
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
#define CANFS_FSSTAT_HANDLE_MAX CANFS_NFS3_HANDLE_MAX /* of either version */
#define CANFS_REPLY_MAX         8192 /* octets of one RPC reply record; a longer one is an error */

struct canfs_fsstat_target {
	struct sockaddr_storage address; /* IPv4 or IPv6; its port is ignored */
	int version;                     /* of NFS: 3 or 4; 0: 3 */
	uint16_t nfs_port;               /* 0: ask rpcbind; NFSv4: 2049 */
	uint16_t mount_port;             /* 0: ask rpcbind */
	uint16_t rpcbind_port;           /* 0: 111 */
	const char *path; /* export path, for NFSv4 from its root; copied; needed without handle */
	const uint8_t *handle; /* of that version, copied; NULL: by path */
	size_t handle_len;     /* 1 ... CANFS_FSSTAT_HANDLE_MAX if handle */
};

struct canfs_fsstat; /* one export of one server */

/*
 * 0, -EINVAL (bad target), -ENAMETOOLONG (path: 1024 octets, over NFSv4 32 components), -ENOMEM.
 * Connects nothing yet.
 */
int canfs_fsstat_new(struct canfs_fsstat **fsstat, const struct canfs_fsstat_target *target);
void canfs_fsstat_free(struct canfs_fsstat *fsstat); /* NULL allowed */

/*
 * Begins a request that must be answered by deadline_usec (CLOCK_MONOTONIC). 0; -EBUSY
 * while one is in flight; another -errno if it failed at once.
 */
int canfs_fsstat_start(struct canfs_fsstat *fsstat, uint64_t deadline_usec);

/* -1 and 0 while no request is in flight. The descriptor may change with every step. */
int canfs_fsstat_fd(const struct canfs_fsstat *fsstat);
short canfs_fsstat_events(const struct canfs_fsstat *fsstat);           /* for poll(2) */
uint64_t canfs_fsstat_deadline_usec(const struct canfs_fsstat *fsstat); /* UINT64_MAX if idle */

/* Of the connection, the shortest of late; 0: none was measured. It is the network's: the server's part is a TCP acknowledgement. */
uint32_t canfs_fsstat_round_trip_usec(const struct canfs_fsstat *fsstat);

/*
 * Goes on as far as it can without blocking. 0: answered, *space is set; -EINPROGRESS:
 * poll again; -ETIMEDOUT; -EPROTO: the reply was malformed, oversized or answered
 * something else; -ESTALE: the file handle is not good any more; -EREMOTEIO, -EPROTONOSUPPORT, -ENOLINK:
 * another RPC, MOUNT or NFS error status; -EINVAL: no request is in flight; or the socket's -errno.
 * Whatever it is, canfs_fsstat_error() says it in words. An answer that is there already counts,
 * even if the deadline has passed.
 */
int canfs_fsstat_step(struct canfs_fsstat *fsstat, uint64_t now_usec, struct canfs_space *space);

/* One line about the last failure, "" if there was none or an answer has come since; valid until the next call. */
const char *canfs_fsstat_error(const struct canfs_fsstat *fsstat);

/*
 * Decoders of the replies' XDR bodies, apart so that they can be tested and fuzzed
 * without a socket. record: one RPC reply record without its record mark. 0, -EPROTO, -ESTALE
 * (FSSTAT only), -EREMOTEIO; *error (never NULL on return) says why. xid is the one that was
 * sent. Nothing else is set but on 0.
 */
int canfs_decode_getport(
	const uint8_t *record, size_t len, uint32_t xid, uint16_t *port, const char **error);
int canfs_decode_mnt(const uint8_t *record, size_t len, uint32_t xid,
	uint8_t handle[CANFS_NFS3_HANDLE_MAX], size_t *handle_len, const char **error);
int canfs_decode_fsstat(const uint8_t *record, size_t len, uint32_t xid, struct canfs_space *space,
	const char **error);

#endif
