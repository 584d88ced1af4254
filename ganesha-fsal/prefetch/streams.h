/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Decides whether the kernel or the prefetcher reads plain sequential streams ahead on a disk.
 *
 * The kernel, by default: it costs less, and a drive that orders its commands stays with a stream for as long as it has a command of
 * it. But a drive that spins has room for so many commands only. With more streams than that it loses half of its time to seeks, and
 * large reads in our order are up to three times as fast (Ellard & Seltzer 2003, §5.3).
 *
 *	takes   commands at once: as the kernel says; else, if MORE were seen in flight, as many as a SATA disk; else one
 *	ours    if the streams of a turn need more than that: COMMANDS each, and more than one stream
 *
 * A stream counts once it has read in two turns in a row: files that are read one after the other are no streams beside each other.
 *
 * What the kernel does not read ahead (strides, backward and shuffled reads, several streams of a file) is not concerned.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_STREAMS_H
#define CANFS_GANESHA_FSAL_PREFETCH_STREAMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CANFS_STREAMS_MORE 5u /* than we give a disk */
#define CANFS_STREAMS_SATA 32u
#define CANFS_STREAMS_COMMANDS                                                                     \
	2u /* of the kernel for each: what is being read, and what comes next */
#define CANFS_STREAMS_TURN_SEC 0.5

struct canfs_streams {
	bool spins;
	_Atomic uint8_t turn;
	atomic_bool ours;
	atomic_uint count; /* that have read in this turn and in the one before */

	/* Of the housekeeping thread. */
	uint64_t takes; /* 0: not known */
	double turn_sec;
};

/* spins: it has one head, whose moves we order. takes: 0: the kernel does not say. */
void canfs_streams_init(struct canfs_streams *streams, bool spins, uint64_t takes);

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

/* Is it to be told how many commands are in flight, in its next steps? */
bool canfs_streams_wants_in_flight(const struct canfs_streams *streams);

/* A turn is several steps. One thread at a time. Returns whether streams are ours from now on. */
bool canfs_streams_step(struct canfs_streams *streams, uint64_t in_flight, double elapsed_sec);

/* Parses the file `inflight` of a block device in /sys. The result is the sum of reads and writes. 0 or -EPROTO. */
int canfs_parse_in_flight(const char *text, uint64_t *in_flight);

#endif
