// SPDX-License-Identifier: LGPL-3.0-or-later
/* The tag decoder: any three counts. What it accepts, the encoder must say the same way. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/tag.h"

#define FIELD 0xFFFu

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t counts[3];
	struct canfs_space space, again = { 1 << 20, 1 << 20, 1 << 20 };
	struct canfs_tag tag;

	if (size != sizeof(counts))
		return -1;
	memcpy(counts, data, sizeof(counts));
	space = (struct canfs_space) { counts[0], counts[1], counts[2] };
	if (canfs_tag_decode(&space, &tag) < 0)
		return 0;
	if (!(tag.write >= 0 && tag.write <= 1 && tag.readahead >= 0 && tag.readahead <= 1))
		abort();
	if (canfs_tag_encode(&again, &tag) != 0)
		abort();
	if (((space.total_bytes ^ again.total_bytes) | (space.free_bytes ^ again.free_bytes) |
		    (space.avail_bytes ^ again.avail_bytes)) &
		FIELD)
		abort();
	return 0;
}
