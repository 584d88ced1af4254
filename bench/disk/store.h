/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The contents of the modelled disk, in anonymous memory. Only data other than zeros allocates
 * memory, so a large file of zeros costs nothing. (A mapped tmpfs file would allocate a page for
 * every block that is merely read.)
 */
#ifndef CANFS_BENCH_DISK_STORE_H
#define CANFS_BENCH_DISK_STORE_H

#include <stddef.h>
#include <stdint.h>

struct canfs_store {
	uint64_t capacity_bytes;
	uint64_t used_bytes;
	char *data;
	unsigned char *written; /* a bit for each chunk */
};

/* capacity_bytes: a multiple of 1 MiB. Returns 0 or -errno. */
int canfs_store_init(struct canfs_store *store, uint64_t capacity_bytes);
void canfs_store_fini(struct canfs_store *store);

/*
 * [offset, offset + bytes) must be within the store. The pointer is valid until the next write
 * there.
 */
const char *canfs_store_read(const struct canfs_store *store, uint64_t offset);
void canfs_store_write(struct canfs_store *store, uint64_t offset, const char *data, size_t bytes);

#endif
