/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Decides whether the kernel or the prefetcher reads plain sequential streams ahead on a disk.
 *
 * The kernel, by default: it costs less. But it has one small window for each stream, and a drive that has nothing more of one stream
 * moves on to the next: between them it may lose most of its time to seeks. It does so with more streams than it takes commands, and with
 * any two whose clients are not back in time with their next READ. Large reads in our order are then two to four times as fast
 * (Ellard & Seltzer 2003, §5.3).
 *
 *	loses   in a turn, DEPTH reads waited for the disk on average, and yet it read less than SLOW bytes per second
 *	others  random reads and writes: at OTHERS per second they take a fifth of the disk's time, and the streams lose it to them
 *	ours    two streams or more of which the disk loses, without others; from then on while there are two, without others
 *
 * A stream counts once it has read in two turns in a row: files that are read one after the other are no streams beside each other.
 *
 * What the kernel does not read ahead (strides, backward and shuffled reads, a client's streams of one file) is not concerned.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_STREAMS_H
#define CANFS_GANESHA_FSAL_PREFETCH_STREAMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CANFS_STREAMS_DEPTH 1.5
#define CANFS_STREAMS_SLOW                                                                         \
	90e6 /* a disk of today reads 150 MB/s in sequence, more in its outer zones */
#define CANFS_STREAMS_OTHERS   20.0
#define CANFS_STREAMS_TURN_SEC 0.5

/* What a disk has done since it is there. */
struct canfs_disk_reads {
	uint64_t reads, bytes;
	uint64_t wait_msec; /* sum over the reads */
	uint64_t writes;
};

struct canfs_streams {
	atomic_bool spins;
	_Atomic uint8_t turn;
	atomic_bool ours;
	atomic_uint count;  /* that have read in this turn and in the one before */
	atomic_uint others; /* random reads in this turn */

	/* Of the housekeeping thread. */
	bool loses; /* in the last turn */
	double turn_sec;
	struct canfs_disk_reads before; /* at the begin of this turn; all zero: not known */
};

/* spins: it has one head, whose moves we order. */
void canfs_streams_init(struct canfs_streams *streams, bool spins);

/* A plain stream has read. last: the turn of its last one, 0 at first. */
static inline void canfs_streams_note(struct canfs_streams *streams, _Atomic uint8_t *last)
{
	uint8_t turn = atomic_load_explicit(&streams->turn, memory_order_relaxed);
	uint8_t before = atomic_load_explicit(last, memory_order_relaxed);

	if (before == turn)
		return;
	atomic_store_explicit(last, turn, memory_order_relaxed);
	if ((uint8_t)(before + 1) == turn)
		atomic_fetch_add_explicit(&streams->count, 1, memory_order_relaxed);
}

static inline bool canfs_streams_are_ours(const struct canfs_streams *streams)
{
	return atomic_load_explicit(&streams->ours, memory_order_relaxed);
}

/* A random read waits for the disk. */
static inline void canfs_streams_note_other(struct canfs_streams *streams)
{
	atomic_fetch_add_explicit(&streams->others, 1, memory_order_relaxed);
}

/* Is the next step to be told what the disk has done? */
bool canfs_streams_wants_reads(const struct canfs_streams *streams, double elapsed_sec);

/*
 * A turn is several steps. One thread at a time. now: NULL: not known, or not wanted. Returns whether streams are ours from now on.
 */
bool canfs_streams_step(
	struct canfs_streams *streams, const struct canfs_disk_reads *now, double elapsed_sec);

/* Parses the file `stat` of a block device in /sys. 0 or -EPROTO. */
int canfs_parse_disk_reads(const char *text, struct canfs_disk_reads *reads);

#endif
