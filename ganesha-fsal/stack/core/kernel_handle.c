// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/stack/core/kernel_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define KIND_MASK 0x1f
#define DUMMY     0x20

/*
 * Octets of the file system ID, by type (Ganesha's enum fsid_type): none, one 64-bit number, only
 * the major 64-bit number, two 64-bit numbers, two 32-bit numbers, a device number.
 */
static const uint8_t number_bytes[] = { 0, 8, 8, 16, 8, 8 };
static const uint8_t type_bytes[] = { 0, 1, 2, 4 };

static int32_t read_type(const uint8_t *at, size_t bytes)
{
	int16_t middle;
	int32_t wide;

	switch (bytes) {
	case 1:
		return at[0]; /* unsigned: XFS uses type 129 */
	case 2:
		memcpy(&middle, at, 2);
		return middle;
	default:
		memcpy(&wide, at, 4);
		return wide;
	}
}

int canfs_parse_kernel_handle(
	const uint8_t *wire, size_t wire_bytes, struct canfs_kernel_handle *handle)
{
	size_t kind, type_at, type, at;

	if (wire_bytes == 0 || (wire[0] & DUMMY) != 0)
		return -EPROTO;
	kind = wire[0] & KIND_MASK;
	type = type_bytes[wire[0] >> 6];
	if (kind >= sizeof(number_bytes) || type == 0)
		return -EPROTO;
	type_at = 1 + (size_t)number_bytes[kind];
	at = type_at + type;
	if (wire_bytes < at + CANFS_KERNEL_HANDLE_BYTES_MIN ||
		wire_bytes > at + CANFS_KERNEL_HANDLE_BYTES_MAX)
		return -EPROTO;
	*handle = (struct canfs_kernel_handle) { .bytes = (uint32_t)(wire_bytes - at),
		.type = read_type(wire + type_at, type) };
	memcpy(handle->handle, wire + at, wire_bytes - at);
	return 0;
}

int canfs_open_kernel_handle(int dir, const uint8_t *wire, size_t wire_bytes, int flags)
{
	_Alignas(struct file_handle) char
		buffer[sizeof(struct file_handle) + CANFS_KERNEL_HANDLE_BYTES_MAX];
	struct file_handle *kernel = (struct file_handle *)buffer;
	struct canfs_kernel_handle handle;
	int ret = canfs_parse_kernel_handle(wire, wire_bytes, &handle);

	if (ret != 0)
		return ret;
	kernel->handle_bytes = handle.bytes;
	kernel->handle_type = handle.type;
	memcpy(kernel->f_handle, handle.handle, handle.bytes);
	ret = open_by_handle_at(dir, kernel, flags);
	return ret < 0 ? -errno : ret;
}
