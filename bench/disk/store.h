/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The bytes of the modelled disk: anonymous memory that is only used where something other than
 * zeros was written, so that a large file of zeros costs nothing. (A mapped tmpfs file would
 * allocate a page for every block that is merely read.)
 */
#ifndef CANFS_BENCH_DISK_STORE_H
#define CANFS_BENCH_DISK_STORE_H

#include <stddef.h>
#include <stdint.h>

struct canfs_store {
	uint64_t capacity_bytes;
	uint64_t used_bytes;
	char *data;
	unsigned char *written; /* one bit per chunk */
};

/* capacity_bytes: a multiple of 1 MiB. 0 or -errno. */
int canfs_store_init(struct canfs_store *store, uint64_t capacity_bytes);
void canfs_store_fini(struct canfs_store *store);

/* [offset, offset + bytes) lies within the store. The pointer is good until the next write there. */
const char *canfs_store_read(const struct canfs_store *store, uint64_t offset);
void canfs_store_write(struct canfs_store *store, uint64_t offset, const char *data, size_t bytes);

#endif
