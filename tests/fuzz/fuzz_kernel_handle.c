// SPDX-License-Identifier: LGPL-3.0-or-later
/* The parser of FSAL VFS's handles: what it takes is the end of what it was given, and of a size the kernel takes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ganesha-fsal/stack/core/kernel_handle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct canfs_kernel_handle handle;

	if (canfs_parse_kernel_handle(data, size, &handle) != 0)
		return 0;
	if (handle.bytes < CANFS_KERNEL_HANDLE_BYTES_MIN ||
		handle.bytes > CANFS_KERNEL_HANDLE_BYTES_MAX || handle.bytes + 2 > size ||
		memcmp(handle.handle, data + size - handle.bytes, handle.bytes) != 0)
		abort();
	return 0;
}
