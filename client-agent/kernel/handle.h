/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The server's own file handle of a mount, from the kernel: name_to_handle_at(2) on an NFS mount
 * point gives a handle in which the client's export operations embed the server's. No RPC, no MOUNT
 * protocol, and the path is looked up without asking any server: no hang on a dead one.
 *
 *	 0        8           12        14
 *	| file id | file type | length L | server's handle: L bytes | padding to 4 |
 *	   u64       u32         u16         all in host order; handle type = words of 4 in all
 */
#ifndef CANFS_CLIENT_AGENT_KERNEL_HANDLE_H
#define CANFS_CLIENT_AGENT_KERNEL_HANDLE_H

#include <stddef.h>
#include <stdint.h>

#define CANFS_MOUNT_HANDLE_MAX 64 /* NFS3_FHSIZE; a longer one (NFSv4 allows 128) is refused */

/*
 * version: 3 or 4, of the mount; the handle is good for that version only. 0; -EOPNOTSUPP (the
 * kernel or file system gives none); -EAGAIN (a server would have to be asked for the path); -EPROTO
 * (not laid out as above, or not a directory); -EMSGSIZE (longer than CANFS_MOUNT_HANDLE_MAX);
 * -EINVAL (version); else -errno.
 */
int canfs_mount_handle(const char *mountpoint, int version, uint8_t handle[CANFS_MOUNT_HANDLE_MAX],
	size_t *handle_len);

/* The decoder of the kernel's handle, apart for the tests: -EPROTO, -EMSGSIZE as above. */
int canfs_mount_handle_decode(int type, const uint8_t *bytes, size_t len,
	uint8_t handle[CANFS_MOUNT_HANDLE_MAX], size_t *handle_len);

#endif
