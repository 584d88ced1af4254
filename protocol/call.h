/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Encoders for the calls of NFSv3, MOUNT and rpcbind; compound.h has those of NFSv4. Each call is
 * one RPC record without its record mark. Private to protocol/.
 */
#ifndef CANFS_PROTOCOL_CALL_H
#define CANFS_PROTOCOL_CALL_H

#include <stddef.h>
#include <stdint.h>

#define CANFS_CALL_MAX 1600 /* octets: the headers, and the longest path as single components */

/* The services whose ports rpcbind is asked for: NFS and MOUNT, both version 3, over TCP. */
#define CANFS_PROGRAM_NFS   100003u
#define CANFS_PROGRAM_MOUNT 100005u

struct canfs_call {
	size_t len;
	uint8_t record[CANFS_CALL_MAX];
};

/* Return 0, or -EMSGSIZE if path or handle is longer than the protocol allows. */
int canfs_call_getport(struct canfs_call *call, uint32_t xid, uint32_t program);
int canfs_call_mnt(struct canfs_call *call, uint32_t xid, const char *path);
int canfs_call_fsstat(
	struct canfs_call *call, uint32_t xid, const uint8_t *handle, size_t handle_len);

#endif
