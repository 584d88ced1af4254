// SPDX-License-Identifier: LGPL-3.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/disk/volatile.h"

struct canfs_volatile_write {
	struct canfs_volatile_write *older, *newer;
	uint64_t offset;
	size_t bytes;
	double done_usec;
	char data[]; /* what the store does not hold: the old, and during a cut the new */
};

void canfs_volatile_init(struct canfs_volatile *v)
{
	*v = (struct canfs_volatile) { 0 };
}

static void forget_oldest(struct canfs_volatile *v)
{
	struct canfs_volatile_write *w = v->oldest;

	v->oldest = w->newer;
	if (v->oldest)
		v->oldest->older = NULL;
	else
		v->newest = NULL;
	v->bytes -= w->bytes;
	free(w);
}

void canfs_volatile_fini(struct canfs_volatile *v)
{
	while (v->oldest)
		forget_oldest(v);
}

int canfs_volatile_write(struct canfs_volatile *v, struct canfs_store *s, uint64_t offset,
	const char *data, size_t bytes, double done_usec)
{
	struct canfs_volatile_write *w = malloc(sizeof(*w) + bytes);

	if (!w)
		return -ENOMEM;
	*w = (struct canfs_volatile_write) {
		.older = v->newest, .offset = offset, .bytes = bytes, .done_usec = done_usec
	};
	memcpy(w->data, canfs_store_read(s, offset), bytes);
	canfs_store_write(s, offset, data, bytes);
	*(v->newest ? &v->newest->newer : &v->oldest) = w;
	v->newest = w;
	v->bytes += bytes;
	while (v->bytes > CANFS_VOLATILE_BYTES_MAX && v->oldest != w)
		forget_oldest(v);
	return 0;
}

void canfs_volatile_flush(struct canfs_volatile *v, double arrival_usec)
{
	while (v->oldest && v->oldest->done_usec <= arrival_usec)
		forget_oldest(v);
}

/* How much of what begins at i is in one sector of the disk. */
static size_t in_sector(const struct canfs_volatile_write *w, size_t i)
{
	size_t n = (size_t)(CANFS_SECTOR_BYTES - (w->offset + i) % CANFS_SECTOR_BYTES);

	return n < w->bytes - i ? n : w->bytes - i;
}

static void swap(struct canfs_store *s, struct canfs_volatile_write *w)
{
	char sector[CANFS_SECTOR_BYTES];

	for (size_t i = 0, n; i < w->bytes; i += n) {
		n = in_sector(w, i);
		memcpy(sector, canfs_store_read(s, w->offset + i), n);
		canfs_store_write(s, w->offset + i, w->data + i, n);
		memcpy(w->data + i, sector, n);
	}
}

struct canfs_cut canfs_volatile_cut(struct canfs_volatile *v, struct canfs_store *s, uint32_t seed)
{
	unsigned short state[3] = { 0x330e, (unsigned short)seed, (unsigned short)(seed >> 16) };
	double lost_share = erand48(state);
	struct canfs_cut cut = { 0 };

	for (struct canfs_volatile_write *w = v->newest; w; w = w->older)
		swap(s, w);
	for (; v->oldest; forget_oldest(v)) {
		const struct canfs_volatile_write *w = v->oldest;

		for (size_t i = 0, n; i < w->bytes; i += n) {
			n = in_sector(w, i);
			cut.sectors++;
			if (erand48(state) < lost_share)
				cut.lost_sectors++;
			else
				canfs_store_write(s, w->offset + i, w->data + i, n);
		}
	}
	return cut;
}
