/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How much read-ahead is enough (CA-NFS §2.2)? Read-ahead hides the round trip. Hiding it takes as
 * much data as the link carries in one round trip, and as much again, which the application reads
 * meanwhile.
 *
 * More read-ahead hides nothing more. An idle server is still read faster, because requests are
 * fewer and larger. A busy server is not: a copy of a tree on its disk took 41 s with 1024 KiB and
 * 37 s with 128 KiB (bench/run copy).
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_READ_WINDOW_H
#define CANFS_CLIENT_AGENT_AUCTION_READ_WINDOW_H

#include <stdint.h>

/* Assumed link speed, as the real one is often not known: 1 Gbit/s. */
#define CANFS_READ_WINDOW_BYTES_PER_SEC 125e6

/* The kernel's default. The result is never less. */
#define CANFS_READ_WINDOW_LEAST_KIB 128u

/*
 * More is harmful on a fast link. Several threads of the server answer the 1 MiB READs of one
 * stream, and these READs reach the disk out of order. One reader of a disk of 176 MB/s got 174
 * MB/s with 512 KiB, 154 with 1024, 125 with 4096 (bench/run iozone).
 */
#define CANFS_READ_WINDOW_MOST_KIB 512u

/* The bid for read-ahead beyond what the link needs, relative to the bid for what it needs. */
#define CANFS_READ_BEYOND_WORTH 0.25

/* If round_trip_usec is 0 (not known), the result is effectively unlimited. */
static inline unsigned int canfs_read_window_kib(uint32_t round_trip_usec)
{
	double kib = 2 * CANFS_READ_WINDOW_BYTES_PER_SEC * round_trip_usec / 1e6 / 1024;

	if (round_trip_usec == 0 || kib > UINT32_MAX / 2)
		return UINT32_MAX / 2;
	return kib > CANFS_READ_WINDOW_LEAST_KIB ? (unsigned int)kib : CANFS_READ_WINDOW_LEAST_KIB;
}

#endif
