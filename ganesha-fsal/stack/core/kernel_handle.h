/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The kernel's handle inside the handle that Ganesha's FSAL VFS gives to clients. Clients keep
 * their handles over a restart of the server, so the layout does not change:
 *
 *	octet 0   low 5 bits: type of the file system ID; 0x20: names no kernel object (dummy);
 *	          high 2 bits: width of the kernel's handle type, 1, 2 or 4 octets
 *	          the file system ID, 0, 8 or 16 octets
 *	          the handle type, in the byte order of the machine
 *	          the kernel's handle
 */
#ifndef CANFS_GANESHA_FSAL_STACK_CORE_KERNEL_HANDLE_H
#define CANFS_GANESHA_FSAL_STACK_CORE_KERNEL_HANDLE_H

#include <stddef.h>
#include <stdint.h>

#define CANFS_KERNEL_HANDLE_BYTES_MAX 128 /* the kernel's MAX_HANDLE_SZ */
#define CANFS_KERNEL_HANDLE_BYTES_MIN 4

/* Like struct file_handle of open_by_handle_at(2), with space for any handle. */
struct canfs_kernel_handle {
	uint32_t bytes;
	int32_t type;
	uint8_t handle[CANFS_KERNEL_HANDLE_BYTES_MAX];
};

/*
 * Returns 0, or -EPROTO if the layout differs or the handle names no kernel object. *handle is set
 * only on 0.
 */
int canfs_parse_kernel_handle(
	const uint8_t *wire, size_t wire_bytes, struct canfs_kernel_handle *handle);

/*
 * Opens the object that the handle names, on the file system of dir. flags: as for
 * open_by_handle_at(2). Returns a descriptor, or -errno; -EPROTO as above.
 */
int canfs_open_kernel_handle(int dir, const uint8_t *wire, size_t wire_bytes, int flags);

#endif
