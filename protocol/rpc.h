/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One non-blocking TCP connection that carries RPC records (RFC 5531 §11). Private to protocol/.
 *
 *	record = fragment*    fragment = mark (bit 31: last one; bits 30-0: octets), octets
 */
#ifndef CANFS_PROTOCOL_RPC_H
#define CANFS_PROTOCOL_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include "protocol/call.h"
#include "protocol/fsstat.h"

#define CANFS_MARK_LEN 4

struct canfs_rpc {
	int fd; /* -1: closed */

	size_t out_len;
	size_t out_sent;
	uint8_t out[CANFS_MARK_LEN + CANFS_CALL_MAX];

	size_t mark_len; /* octets of the fragment's mark received so far */
	uint8_t mark[CANFS_MARK_LEN];
	size_t fragment_left; /* octets of the fragment still to come */
	size_t in_len;
	uint8_t in[CANFS_REPLY_MAX]; /* the record, after canfs_rpc_receive() returned 0 */
};

void canfs_rpc_init(struct canfs_rpc *rpc);

/*
 * Closes any open connection and starts to connect. reserved: from a port below 1024 if permitted,
 * because many servers require this for NFS and MOUNT. Returns 0 or -errno.
 */
int canfs_rpc_open(struct canfs_rpc *rpc, const struct sockaddr_storage *address, bool reserved);
void canfs_rpc_close(struct canfs_rpc *rpc);

/*
 * Returns true if the connection is open, and the peer of the idle connection has neither closed it
 * nor sent anything.
 */
bool canfs_rpc_is_quiet(const struct canfs_rpc *rpc);

/* Returns the shortest recent round trip, measured by the kernel; 0: none was measured. */
uint32_t canfs_rpc_round_trip_usec(const struct canfs_rpc *rpc);

/* Sets the call to be sent. No other call may be in flight. */
void canfs_rpc_queue(struct canfs_rpc *rpc, const struct canfs_call *call);

/*
 * Returns 0 if all is sent, -EINPROGRESS if the caller must poll for canfs_rpc_events(), or another
 * -errno.
 */
int canfs_rpc_send(struct canfs_rpc *rpc);

/*
 * Returns 0 if there is a record, valid until the next call. Otherwise returns -EINPROGRESS,
 * -EPROTO if the record is longer than CANFS_REPLY_MAX or has an empty fragment, -ECONNRESET if the
 * peer closed the connection, or another -errno.
 */
int canfs_rpc_receive(struct canfs_rpc *rpc);

short canfs_rpc_events(const struct canfs_rpc *rpc); /* for poll(2) */

#endif
