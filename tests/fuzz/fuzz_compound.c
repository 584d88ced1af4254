// SPDX-License-Identifier: LGPL-3.0-or-later
/* The decoders of NFSv4 replies: the first octet chooses one, the rest is the record. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "protocol/compound.h"

#define XID 0x12345678u /* what the seeds answer */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct canfs_session session = { .id = { 1, 2, 3 }, .sequence = 7 };
	const struct canfs_getattr by_path = { .path = "/a/b" };
	const struct canfs_getattr in_session = {
		.minor = 1, .session = &session, .handle = session.owner, .handle_len = 2
	};
	struct canfs_session got = { 0 };
	struct canfs_space space;
	const char *error = NULL;
	int ret;

	if (size == 0)
		return -1;
	switch (data[0] % 4) {
	case 0:
		ret = canfs_decode_getattr(data + 1, size - 1, XID, &by_path, &space, &error);
		break;
	case 1:
		ret = canfs_decode_getattr(data + 1, size - 1, XID, &in_session, &space, &error);
		break;
	case 2:
		ret = canfs_decode_exchange_id(data + 1, size - 1, XID, &got, &error);
		break;
	default:
		ret = canfs_decode_create_session(data + 1, size - 1, XID, &got, &error);
		if (ret == 0 && got.sequence != 1)
			abort();
		break;
	}
	if (ret != 0 && ret != -EPROTO && ret != -EREMOTEIO && ret != -ESTALE && ret != -ENOLINK &&
		ret != -EPROTONOSUPPORT)
		abort();
	if (!error || (*error == '\0') != (ret == 0))
		abort();
	return 0;
}
