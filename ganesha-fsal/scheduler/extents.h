/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where a file's bytes are on their device, as its file system says (FIEMAP), in a cache. A window is what one
 * ioctl said: up to 64 MiB of a file, or as much of it as CANFS_EXTENTS_MAX extents hold.
 *
 * Only the order of requests depends on it: an address that is out of date costs a seek, no more. On a file
 * system without FIEMAP the order is that of files, and in each of offsets.
 */
#ifndef CANFS_GANESHA_FSAL_SCHEDULER_EXTENTS_H
#define CANFS_GANESHA_FSAL_SCHEDULER_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CANFS_EXTENTS_MAX  16
#define CANFS_WINDOW_BYTES ((uint64_t)64 << 20)

struct canfs_window {
	uint64_t file;
	uint64_t start, end; /* bytes of the file that it knows, end > start */
	unsigned int n;      /* 0: nothing but a hole, or the file system does not say */
	struct {
		uint64_t offset, address; /* ascending; what lies between two extents is nowhere */
	} extent[CANFS_EXTENTS_MAX];
};

/*
 * Asks the file system about the window around the offset; may wait for the disk. It covers the offset. fs_start: of the
 * file system on the disk, in bytes; partitions of one disk share its queue, and are to share its addresses.
 */
void canfs_window_ask(
	struct canfs_window *window, int fd, uint64_t file, uint64_t fs_start, uint64_t offset);

/* The address of the offset, which the window covers. */
uint64_t canfs_window_address(const struct canfs_window *window, uint64_t offset);

/* What stands for an address that is not known. */
uint64_t canfs_address_by_file(uint64_t file, uint64_t offset);

struct canfs_extents;

/* At most windows_max (> 0) windows, 350 bytes each; then the least recently used gives way. NULL: no memory. */
struct canfs_extents *canfs_extents_new(size_t windows_max);
void canfs_extents_free(struct canfs_extents *extents);

/* From memory. False: not known, to be asked for. */
bool canfs_extents_find(
	struct canfs_extents *extents, uint64_t file, uint64_t offset, uint64_t *address);

/* Remembers it. Without memory nothing is remembered. */
void canfs_extents_keep(struct canfs_extents *extents, const struct canfs_window *window);

/* What is known of the file from that offset on may no longer be true. */
void canfs_extents_forget(struct canfs_extents *extents, uint64_t file, uint64_t from_offset);

#endif
