// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/resident.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "common/cachestat.h"

#define PAGE_BYTES ((uint64_t)4096) /* the smallest page size; vectors are sized for it */

static uint64_t page_bytes(void)
{
	static _Atomic uint64_t known;
	uint64_t bytes = atomic_load_explicit(&known, memory_order_relaxed);

	if (bytes == 0) {
		bytes = (uint64_t)sysconf(_SC_PAGESIZE);
		atomic_store_explicit(&known, bytes, memory_order_relaxed);
	}
	return bytes;
}

/* Returns how many pages of the range are within the file. */
static uint64_t pages_of(uint64_t offset, uint64_t bytes, uint64_t file_bytes)
{
	if (offset >= file_bytes)
		return 0;
	if (bytes > file_bytes - offset)
		bytes = file_bytes - offset;
	return (bytes + page_bytes() - 1) / page_bytes();
}

void canfs_resident_unmap(struct canfs_resident_map *map)
{
	if (map->at)
		munmap(map->at, map->bytes);
	map->at = NULL;
}

static bool covers(const struct canfs_resident_map *map, uint64_t offset, uint64_t bytes)
{
	return map->at && offset >= map->offset && offset + bytes <= map->offset + map->bytes;
}

/*
 * Maps a window, and beyond its end the longest range that may be asked for. Queries at the edge of
 * two windows then do not alternate between them.
 */
static bool map_window(int fd, uint64_t offset, struct canfs_resident_map *map)
{
	uint64_t start = offset - offset % CANFS_RESIDENT_WINDOW_BYTES;
	uint64_t bytes = CANFS_RESIDENT_WINDOW_BYTES + CANFS_RESIDENT_BYTES_MAX;
	void *at;

	canfs_resident_unmap(map);
	at = mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)start);
	if (at == MAP_FAILED)
		return false;
	map->at = at;
	map->offset = start;
	map->bytes = bytes;
	return true;
}

/* Call with the map's mutex held. */
static bool ask_mincore(int fd, uint64_t offset, uint64_t bytes, struct canfs_resident_map *map,
	unsigned char vector[])
{
	return (covers(map, offset, bytes) || map_window(fd, offset, map)) &&
	       mincore((char *)map->at + (offset - map->offset), bytes, vector) == 0;
}

bool canfs_is_resident_by_mincore(int fd, uint64_t offset, uint64_t bytes, uint64_t file_bytes,
	struct canfs_resident_map *map)
{
	unsigned char vector[CANFS_RESIDENT_BYTES_MAX / PAGE_BYTES];
	uint64_t pages = pages_of(offset, bytes, file_bytes);
	bool told;

	if (pages == 0)
		return true;
	pthread_mutex_lock(&map->mutex);
	told = ask_mincore(fd, offset, pages * page_bytes(), map, vector);
	pthread_mutex_unlock(&map->mutex);
	if (!told)
		return true;
	while (pages > 0 && (vector[pages - 1] & 1) != 0)
		pages--;
	return pages == 0;
}

bool canfs_is_resident(int fd, uint64_t offset, uint64_t bytes, uint64_t file_bytes,
	struct canfs_resident_map *map)
{
	static _Atomic bool missing;
	struct canfs_cachestat found;
	uint64_t pages = pages_of(offset, bytes, file_bytes);

	if (pages == 0)
		return true;
	if (!atomic_load_explicit(&missing, memory_order_relaxed)) {
		if (canfs_cachestat(fd, offset, pages * page_bytes(), &found) == 0)
			return found.cached >= pages;
		if (errno != ENOSYS && errno != EPERM) /* EPERM: a seccomp filter */
			return true;
		atomic_store_explicit(&missing, true, memory_order_relaxed);
	}
	return canfs_is_resident_by_mincore(fd, offset, bytes, file_bytes, map);
}
