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
	char data[]; /* what the store lacks: the old contents, or during a cut the new */
};

void canfs_volatile_init(struct canfs_volatile *v)
{
	*v = (struct canfs_volatile) { 0 };
}

static void forget_oldest(struct canfs_writes *writes)
{
	struct canfs_volatile_write *w = writes->oldest;

	writes->oldest = w->newer;
	if (writes->oldest)
		writes->oldest->older = NULL;
	else
		writes->newest = NULL;
	writes->bytes -= w->bytes;
	free(w);
}

static void forget(struct canfs_writes *writes)
{
	while (writes->oldest)
		forget_oldest(writes);
}

/* Saves the present contents of the store before a write there. */
static int remember(struct canfs_writes *writes, const struct canfs_store *s, uint64_t offset,
	size_t bytes, double done_usec)
{
	struct canfs_volatile_write *w = malloc(sizeof(*w) + bytes);

	if (!w)
		return -ENOMEM;
	*w = (struct canfs_volatile_write) {
		.older = writes->newest, .offset = offset, .bytes = bytes, .done_usec = done_usec
	};
	memcpy(w->data, canfs_store_read(s, offset), bytes);
	*(writes->newest ? &writes->newest->newer : &writes->oldest) = w;
	writes->newest = w;
	writes->bytes += bytes;
	return 0;
}

static void forget_cut(struct canfs_volatile *v)
{
	v->can_recut = false;
	forget(&v->of_cut);
	forget(&v->since_cut);
}

static void remember_since_cut(
	struct canfs_volatile *v, const struct canfs_store *s, uint64_t offset, size_t bytes)
{
	if (v->can_recut && (v->since_cut.bytes + bytes > CANFS_SINCE_CUT_BYTES_MAX ||
				    remember(&v->since_cut, s, offset, bytes, 0) != 0))
		forget_cut(v);
}

void canfs_volatile_fini(struct canfs_volatile *v)
{
	forget(&v->unflushed);
	forget_cut(v);
}

int canfs_volatile_write(struct canfs_volatile *v, struct canfs_store *s, uint64_t offset,
	const char *data, size_t bytes, double done_usec)
{
	struct canfs_writes *unflushed = &v->unflushed;

	if (remember(unflushed, s, offset, bytes, done_usec) != 0)
		return -ENOMEM;
	remember_since_cut(v, s, offset, bytes);
	canfs_store_write(s, offset, data, bytes);
	while (unflushed->bytes > CANFS_VOLATILE_BYTES_MAX &&
		unflushed->oldest != unflushed->newest)
		forget_oldest(unflushed);
	return 0;
}

void canfs_volatile_flush(struct canfs_volatile *v, double arrival_usec)
{
	while (v->unflushed.oldest && v->unflushed.oldest->done_usec <= arrival_usec)
		forget_oldest(&v->unflushed);
}

/* How many bytes from i on are in one sector of the disk. */
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

/*
 * Repeats the cut's writes and loses some sectors. If memory to undo this is short, the cut cannot
 * be repeated.
 */
static struct canfs_cut lose(struct canfs_volatile *v, struct canfs_store *s, uint32_t seed)
{
	unsigned short state[3] = { 0x330e, (unsigned short)seed, (unsigned short)(seed >> 16) };
	double lost_share = erand48(state);
	struct canfs_writes writes = v->of_cut;
	struct canfs_cut cut = { 0 };

	v->of_cut = (struct canfs_writes) { 0 };
	for (const struct canfs_volatile_write *w = writes.oldest; w; w = w->newer) {
		for (size_t i = 0, n; i < w->bytes; i += n) {
			n = in_sector(w, i);
			cut.sectors++;
			if (erand48(state) < lost_share) {
				cut.lost_sectors++;
				continue;
			}
			remember_since_cut(v, s, w->offset + i, n);
			canfs_store_write(s, w->offset + i, w->data + i, n);
		}
	}
	if (v->can_recut)
		v->of_cut = writes;
	else
		forget(&writes);
	return cut;
}

struct canfs_cut canfs_volatile_cut(struct canfs_volatile *v, struct canfs_store *s, uint32_t seed)
{
	forget_cut(v);
	for (struct canfs_volatile_write *w = v->unflushed.newest; w; w = w->older)
		swap(s, w);
	v->of_cut = v->unflushed;
	v->unflushed = (struct canfs_writes) { 0 };
	v->can_recut = true;
	return lose(v, s, seed);
}

int canfs_volatile_recut(
	struct canfs_volatile *v, struct canfs_store *s, uint32_t seed, struct canfs_cut *cut)
{
	if (!v->can_recut)
		return -EINVAL;
	for (const struct canfs_volatile_write *w = v->since_cut.newest; w; w = w->older)
		canfs_store_write(s, w->offset, w->data, w->bytes);
	forget(&v->since_cut);
	forget(&v->unflushed);
	*cut = lose(v, s, seed);
	return 0;
}
