/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reads the server's file handle of a mount from the kernel. name_to_handle_at(2) on an NFS mount
 * point returns a handle in which the client's export operations embed the server's handle. This
 * needs no RPC and no MOUNT protocol. The path lookup asks no server either, so a dead server
 * cannot block the caller.
 *
 *	 0        8           12        14
 *	| file id | file type | length L | server's handle: L bytes | padding to 4 |
 *	   u64       u32         u16         all in host order; handle type = words of 4 in all
 */
#ifndef CANFS_CLIENT_AGENT_KERNEL_HANDLE_H
#define CANFS_CLIENT_AGENT_KERNEL_HANDLE_H

#include <stddef.h>
#include <stdint.h>

#define CANFS_MOUNT_HANDLE_MAX 64 /* NFS3_FHSIZE; longer handles (NFSv4 allows 128) are refused */

/*
 * version: the NFS version of the mount, 3 or 4. The handle is valid for that version only.
 *
 * Returns 0, or
 * - -EINVAL if version is neither 3 nor 4,
 * - -EOPNOTSUPP if the kernel or the file system provides no handle,
 * - -EAGAIN if looking up the path would need a server,
 * - -EPROTO if the handle does not have the layout above, or is not a directory's,
 * - -EMSGSIZE if the handle is longer than CANFS_MOUNT_HANDLE_MAX,
 * - another -errno of openat2(2) or name_to_handle_at(2).
 */
int canfs_mount_handle(const char *mountpoint, int version, uint8_t handle[CANFS_MOUNT_HANDLE_MAX],
	size_t *handle_len);

/*
 * Decodes the kernel's handle. Public for the tests. Returns 0, or -EPROTO or -EMSGSIZE as above.
 */
int canfs_mount_handle_decode(int type, const uint8_t *bytes, size_t len,
	uint8_t handle[CANFS_MOUNT_HANDLE_MAX], size_t *handle_len);

#endif
