/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How much read-ahead is enough (CA-NFS §2.2)? It hides the round trip: as much as the link carries in one, and as much again that
 * is being read meanwhile. What goes beyond only waits at the server. That makes its requests fewer and larger, so that an idle
 * server is read faster; a busy one seeks between more of them: a copy of a tree on its disk took 41 s with 1024 KiB, 37 with 128
 * (bench/run copy).
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_READ_WINDOW_H
#define CANFS_CLIENT_AGENT_AUCTION_READ_WINDOW_H

#include <stdint.h>

/* Of a link whose speed nobody knows: 1 Gbit/s. */
#define CANFS_READ_WINDOW_BYTES_PER_SEC 125e6

/* The kernel's own; less is never enough. */
#define CANFS_READ_WINDOW_LEAST_KIB 128u

/*
 * On a fast link, more did harm: READs of 1 MiB of one stream, which several of the server's threads answer, reach its disk out
 * of order. One reader of a disk of 176 MB/s got 174 with 512 KiB, 154 with 1024, 125 with 4096 (bench/run iozone).
 */
#define CANFS_READ_WINDOW_MOST_KIB 512u

/* What a read-ahead beyond what the link needs is worth, of one within. */
#define CANFS_READ_BEYOND_WORTH 0.25

/* round_trip_usec 0: it is not known, and as much as is wanted. */
static inline unsigned int canfs_read_window_kib(uint32_t round_trip_usec)
{
	double kib = 2 * CANFS_READ_WINDOW_BYTES_PER_SEC * round_trip_usec / 1e6 / 1024;

	if (round_trip_usec == 0 || kib > UINT32_MAX / 2)
		return UINT32_MAX / 2;
	return kib > CANFS_READ_WINDOW_LEAST_KIB ? (unsigned int)kib : CANFS_READ_WINDOW_LEAST_KIB;
}

#endif
