/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A cache of where a file's bytes are on their device, as the file system says (FIEMAP). A window
 * is the result of one ioctl: up to 64 MiB of a file, or as much of it as CANFS_EXTENTS_MAX extents
 * hold.
 *
 * Only the order of requests depends on the addresses: a stale one costs a seek, no more. On a file
 * system without FIEMAP, the order is by file, and by offset within a file.
 */
#ifndef CANFS_GANESHA_FSAL_READ_SCHEDULER_EXTENTS_H
#define CANFS_GANESHA_FSAL_READ_SCHEDULER_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CANFS_EXTENTS_MAX  16
#define CANFS_WINDOW_BYTES ((uint64_t)64 << 20)

struct canfs_window {
	uint64_t file;
	uint64_t start, end; /* bytes of the file that the window covers, end > start */
	unsigned int n;      /* 0: nothing but a hole, or the file system does not say */
	struct {
		uint64_t offset, address; /* ascending; between two extents is a hole */
	} extent[CANFS_EXTENTS_MAX];
};

/*
 * Asks the file system about the window around the offset. May wait for the disk. The window always
 * covers the offset. fs_start: where the file system begins on the disk, in bytes. Partitions of
 * one disk share its queue, so they must share its addresses.
 */
void canfs_window_ask(
	struct canfs_window *window, int fd, uint64_t file, uint64_t fs_start, uint64_t offset);

/* Returns the address of the offset, which the window must cover. */
uint64_t canfs_window_address(const struct canfs_window *window, uint64_t offset);

/* Returns a substitute for an unknown address. */
uint64_t canfs_address_by_file(uint64_t file, uint64_t offset);

struct canfs_extents;

/*
 * Holds at most windows_max (> 0) windows, 350 bytes each. Then the least recently used one is
 * replaced. NULL: no memory.
 */
struct canfs_extents *canfs_extents_new(size_t windows_max);
void canfs_extents_free(struct canfs_extents *extents);

/*
 * Looks the address up in the cache only. False: it is not known, and canfs_window_ask() must ask
 * for it.
 */
bool canfs_extents_find(
	struct canfs_extents *extents, uint64_t file, uint64_t offset, uint64_t *address);

/* Adds the window. Does nothing if there is no memory. */
void canfs_extents_keep(struct canfs_extents *extents, const struct canfs_window *window);

/* Forgets what is known of the file from from_offset on. */
void canfs_extents_forget(struct canfs_extents *extents, uint64_t file, uint64_t from_offset);

#endif
