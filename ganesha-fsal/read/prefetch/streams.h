/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Decides whether the kernel or the prefetcher reads plain sequential streams ahead on a disk.
 *
 * By default the kernel does, because that costs less. The kernel has only one small window per
 * stream, however. A drive that has no further command of one stream seeks to the next stream, and
 * may lose most of its time to seeks. This happens if there are more streams than the drive takes
 * commands. It also happens with any two streams whose clients send their next READ too late. Large
 * reads in our order are then two to four times as fast (Ellard & Seltzer 2003, §5.3).
 *
 *	slow    in a turn, DEPTH reads waited for the disk on average, and yet it read less than SLOW bytes per second
 *	loses   slow for two turns in a row. In the kernel's order two streams are that slow for one turn now and then
 *	others  random reads and writes: OTHERS per second take a fifth of the disk's time from the streams
 *	ours    the disk loses with two streams or more and no others; then as long as there are two and no others
 *
 * A stream counts once it has read in two turns in a row. Files that are read one after the other
 * are thus not counted as concurrent streams.
 *
 * Reads that the kernel does not read ahead are not affected: strides, backward and shuffled reads,
 * and several streams of one client in one file.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_STREAMS_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_STREAMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CANFS_STREAMS_DEPTH 1.5
#define CANFS_STREAMS_SLOW                                                                         \
	90e6 /* a current disk reads 150 MB/s in sequence, more in its outer zones */
#define CANFS_STREAMS_OTHERS   20.0
#define CANFS_STREAMS_TURN_SEC 0.5

/* The counters of a disk since it was attached. */
struct canfs_disk_reads {
	uint64_t reads, bytes;
	uint64_t wait_msec; /* sum over the reads */
	uint64_t writes;
};

struct canfs_streams {
	atomic_bool spins;
	_Atomic uint8_t turn;
	atomic_bool ours;
	atomic_uint count;  /* streams that have read in this turn and in the one before */
	atomic_uint active; /* count of the previous turn */
	atomic_uint others; /* random reads in this turn */

	/* Private to the housekeeping thread. */
	bool slow; /* in the last turn */
	double turn_sec;
	struct canfs_disk_reads before; /* at the start of this turn; all zero: unknown */
};

/* spins: the disk has one head, whose moves we order. */
void canfs_streams_init(struct canfs_streams *streams, bool spins);

/* A plain stream has read. last: the turn of its last read, 0 at first. */
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

/* Returns how many streams read at the same time in the previous turn. */
static inline unsigned int canfs_streams_active(const struct canfs_streams *streams)
{
	return atomic_load_explicit(&streams->active, memory_order_relaxed);
}

/* Counts a random read that waits for the disk. */
static inline void canfs_streams_note_other(struct canfs_streams *streams)
{
	atomic_fetch_add_explicit(&streams->others, 1, memory_order_relaxed);
}

/* True if the next step needs the counters of the disk. */
bool canfs_streams_wants_reads(const struct canfs_streams *streams, double elapsed_sec);

/*
 * Ends the turn if it is long enough; a turn is several steps. Call from one thread at a time. now:
 * NULL if the counters are unknown or not wanted. Returns whether streams are ours from now on.
 */
bool canfs_streams_step(
	struct canfs_streams *streams, const struct canfs_disk_reads *now, double elapsed_sec);

/* Parses the file `stat` of a block device in /sys. Returns 0 or -EPROTO. */
int canfs_parse_disk_reads(const char *text, struct canfs_disk_reads *reads);

#endif
