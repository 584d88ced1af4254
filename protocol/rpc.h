/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One TCP connection that carries RPC records (RFC 5531 §11), non-blocking. Private to protocol/.
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

	size_t mark_len; /* octets of the fragment's mark that are there */
	uint8_t mark[CANFS_MARK_LEN];
	size_t fragment_left; /* octets of the fragment that are still to come */
	size_t in_len;
	uint8_t in[CANFS_REPLY_MAX]; /* the record, once canfs_rpc_receive() returned 0 */
};

void canfs_rpc_init(struct canfs_rpc *rpc);

/*
 * Begins to connect; closes what was open. reserved: from a port below 1024 if we may, as
 * many servers ask of NFS and MOUNT. 0, or -errno.
 */
int canfs_rpc_open(struct canfs_rpc *rpc, const struct sockaddr_storage *address, bool reserved);
void canfs_rpc_close(struct canfs_rpc *rpc);

/* Is this open, and did an idle connection's peer neither close it nor send anything? */
bool canfs_rpc_is_quiet(const struct canfs_rpc *rpc);

/* The shortest one of late, by the kernel's account; 0: none was measured. */
uint32_t canfs_rpc_round_trip_usec(const struct canfs_rpc *rpc);

/* Sets what is to be sent. Nothing may be on its way. */
void canfs_rpc_queue(struct canfs_rpc *rpc, const struct canfs_call *call);

/* 0: all sent; -EINPROGRESS: poll for canfs_rpc_events(); else -errno. */
int canfs_rpc_send(struct canfs_rpc *rpc);

/*
 * 0: a record is there, until the next call; -EINPROGRESS; -EPROTO: the record is longer than
 * CANFS_REPLY_MAX, or has an empty fragment; -ECONNRESET: the peer closed; else -errno.
 */
int canfs_rpc_receive(struct canfs_rpc *rpc);

short canfs_rpc_events(const struct canfs_rpc *rpc); /* for poll(2) */

#endif
