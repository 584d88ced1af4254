// SPDX-License-Identifier: LGPL-3.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/disk/store.h"

#define CHUNK_BYTES ((uint64_t)64 * 1024)

int canfs_store_init(struct canfs_store *s, uint64_t capacity_bytes)
{
	*s = (struct canfs_store) { .capacity_bytes = capacity_bytes };
	s->data = mmap(NULL, capacity_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->data == MAP_FAILED)
		return -errno;
	/* a huge page would make one small write cost 2 MB */
	madvise(s->data, capacity_bytes, MADV_NOHUGEPAGE);
	s->written = calloc(1, capacity_bytes / CHUNK_BYTES / 8 + 1);
	if (!s->written) {
		munmap(s->data, capacity_bytes);
		return -ENOMEM;
	}
	return 0;
}

void canfs_store_fini(struct canfs_store *s)
{
	munmap(s->data, s->capacity_bytes);
	free(s->written);
}

const char *canfs_store_read(const struct canfs_store *s, uint64_t offset)
{
	/* unwritten memory reads from the kernel's zero page */
	return s->data + offset;
}

static bool is_zero(const char *data, size_t bytes)
{
	return bytes == 0 || (data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0);
}

static void write_chunk(struct canfs_store *s, uint64_t offset, const char *data, size_t bytes)
{
	uint64_t chunk = offset / CHUNK_BYTES;
	unsigned char bit = (unsigned char)(1u << (chunk % 8));

	if (!(s->written[chunk / 8] & bit)) {
		if (is_zero(data, bytes))
			return;
		s->written[chunk / 8] |= bit;
		s->used_bytes += CHUNK_BYTES;
	}
	memcpy(s->data + offset, data, bytes);
}

void canfs_store_write(struct canfs_store *s, uint64_t offset, const char *data, size_t bytes)
{
	while (bytes > 0) {
		size_t n = (size_t)(CHUNK_BYTES - offset % CHUNK_BYTES);

		if (n > bytes)
			n = bytes;
		write_chunk(s, offset, data, n);
		offset += n;
		data += n;
		bytes -= n;
	}
}
