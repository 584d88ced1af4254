// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/scheduler/extents.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <linux/fiemap.h>
#include <linux/fs.h>

#include "ganesha-fsal/read/scheduler/sorted.h"

struct entry {
	struct canfs_window window;
	RB_ENTRY(entry) by_start;
	TAILQ_ENTRY(entry) by_use;
};

static int compare_start(struct entry *a, struct entry *b)
{
	if (a->window.file != b->window.file)
		return a->window.file > b->window.file ? 1 : -1;
	return (a->window.start > b->window.start) - (a->window.start < b->window.start);
}

RB_HEAD(windows, entry);
TAILQ_HEAD(uses, entry);
CANFS_RB(windows, entry, by_start, compare_start)

struct canfs_extents {
	struct windows windows;
	struct uses uses; /* least recently used first */
	size_t count, max;
};

/* Asks for the window from start to max_end at most. False: the file system does not say. */
static bool ask_from(
	struct canfs_window *window, int fd, uint64_t fs_start, uint64_t start, uint64_t max_end)
{
	union {
		struct fiemap map;
		unsigned char buffer[sizeof(struct fiemap) +
				     CANFS_EXTENTS_MAX * sizeof(struct fiemap_extent)];
	} asked = { .map = { .fm_start = start,
			    .fm_length = max_end - start,
			    .fm_extent_count = CANFS_EXTENTS_MAX } };
	const struct fiemap_extent *extent = asked.map.fm_extents;

	if (ioctl(fd, FS_IOC_FIEMAP, &asked.map) != 0)
		return false;
	window->start = start;
	window->end = max_end;
	window->n = 0;
	for (unsigned int i = 0; i < asked.map.fm_mapped_extents && i < CANFS_EXTENTS_MAX; i++) {
		if (extent[i].fe_flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DATA_INLINE))
			continue; /* not written yet, or inside the inode */
		window->extent[window->n].offset = extent[i].fe_logical;
		window->extent[window->n++].address = fs_start + extent[i].fe_physical;
	}
	if (asked.map.fm_mapped_extents >= CANFS_EXTENTS_MAX) {
		extent += CANFS_EXTENTS_MAX - 1;
		window->end = extent->fe_logical + extent->fe_length;
		if (window->end > max_end)
			window->end = max_end;
	}
	return true;
}

static bool covers(const struct canfs_window *window, uint64_t offset)
{
	return window->start <= offset && offset < window->end;
}

void canfs_window_ask(
	struct canfs_window *window, int fd, uint64_t file, uint64_t fs_start, uint64_t offset)
{
	uint64_t start = offset - offset % CANFS_WINDOW_BYTES, end = start + CANFS_WINDOW_BYTES;

	window->file = file;
	/* Any offset in the window yields the same window, unless it has too many extents. */
	if (end > start && ask_from(window, fd, fs_start, start, end) &&
		(covers(window, offset) || ask_from(window, fd, fs_start, offset, end)) &&
		covers(window, offset))
		return;
	window->n = 0;
	window->start = 0;
	window->end = UINT64_MAX;
}

uint64_t canfs_address_by_file(uint64_t file, uint64_t offset)
{
	const unsigned int offset_bits = 44;

	return (file * UINT64_C(0x9e3779b97f4a7c15)) >> offset_bits << offset_bits |
	       (offset & ((UINT64_C(1) << offset_bits) - 1));
}

/* In a hole there is nothing to read, so any address nearby will do. */
uint64_t canfs_window_address(const struct canfs_window *window, uint64_t offset)
{
	unsigned int i = 0;

	if (window->n == 0)
		return canfs_address_by_file(window->file, offset);
	while (i + 1 < window->n && window->extent[i + 1].offset <= offset)
		i++;
	if (offset < window->extent[i].offset)
		return window->extent[i].address;
	return window->extent[i].address + (offset - window->extent[i].offset);
}

struct canfs_extents *canfs_extents_new(size_t windows_max)
{
	struct canfs_extents *extents = calloc(1, sizeof(*extents));

	if (!extents)
		return NULL;
	extents->max = windows_max;
	TAILQ_INIT(&extents->uses);
	return extents;
}

static void drop(struct canfs_extents *extents, struct entry *entry)
{
	RB_REMOVE(windows, &extents->windows, entry);
	TAILQ_REMOVE(&extents->uses, entry, by_use);
	extents->count--;
	free(entry);
}

void canfs_extents_free(struct canfs_extents *extents)
{
	if (!extents)
		return;
	while (!TAILQ_EMPTY(&extents->uses))
		drop(extents, TAILQ_FIRST(&extents->uses));
	free(extents);
}

/* Returns the last window of the file that begins at the offset or before it. */
static struct entry *last_before(struct canfs_extents *extents, uint64_t file, uint64_t offset)
{
	struct entry *entry = RB_ROOT(&extents->windows), *last = NULL;
	const struct entry key = { .window = { .file = file, .start = offset } };

	while (entry) {
		if (compare_start(entry, (struct entry *)&key) <= 0) {
			last = entry;
			entry = RB_RIGHT(entry, by_start);
		} else {
			entry = RB_LEFT(entry, by_start);
		}
	}
	return last && last->window.file == file ? last : NULL;
}

bool canfs_extents_find(
	struct canfs_extents *extents, uint64_t file, uint64_t offset, uint64_t *address)
{
	struct entry *entry = last_before(extents, file, offset);

	if (!entry || !covers(&entry->window, offset))
		return false;
	TAILQ_REMOVE(&extents->uses, entry, by_use);
	TAILQ_INSERT_TAIL(&extents->uses, entry, by_use);
	*address = canfs_window_address(&entry->window, offset);
	return true;
}

void canfs_extents_keep(struct canfs_extents *extents, const struct canfs_window *window)
{
	struct entry *entry = malloc(sizeof(*entry)), *old;

	if (!entry)
		return;
	entry->window = *window;
	old = RB_FIND(windows, &extents->windows, entry);
	if (old)
		drop(extents, old);
	else if (extents->count == extents->max)
		drop(extents, TAILQ_FIRST(&extents->uses));
	RB_INSERT(windows, &extents->windows, entry);
	TAILQ_INSERT_TAIL(&extents->uses, entry, by_use);
	extents->count++;
}

void canfs_extents_forget(struct canfs_extents *extents, uint64_t file, uint64_t from_offset)
{
	struct entry *entry = last_before(extents, file, UINT64_MAX), *before;

	for (; entry && entry->window.file == file; entry = before) {
		before = RB_PREV(windows, &extents->windows, entry);
		if (entry->window.start + CANFS_WINDOW_BYTES <= from_offset)
			return;
		if (entry->window.end > from_offset)
			drop(extents, entry);
	}
}
