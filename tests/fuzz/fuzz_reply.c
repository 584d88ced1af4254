// SPDX-License-Identifier: LGPL-3.0-or-later
/* The decoders of RPC replies: the first octet chooses one, the rest is the record. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "protocol/fsstat.h"

#define XID 0x12345678u /* what the seeds answer */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t handle[CANFS_NFS3_HANDLE_MAX];
	size_t handle_len = 0;
	struct canfs_space space;
	const char *error = NULL;
	uint16_t port = 0;
	int ret;

	if (size == 0)
		return -1;
	switch (data[0] % 3) {
	case 0:
		ret = canfs_decode_getport(data + 1, size - 1, XID, &port, &error);
		if (ret == 0 && port == 0)
			abort();
		break;
	case 1:
		ret = canfs_decode_mnt(data + 1, size - 1, XID, handle, &handle_len, &error);
		if (ret == 0 && (handle_len == 0 || handle_len > sizeof(handle)))
			abort();
		break;
	default:
		ret = canfs_decode_fsstat(data + 1, size - 1, XID, &space, &error);
		break;
	}
	if (ret != 0 && ret != -EPROTO && ret != -EREMOTEIO && ret != -ESTALE)
		abort();
	if (!error || (*error == '\0') != (ret == 0))
		abort();
	return 0;
}
