/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A solid-state disk as its host sees it: one controller, behind it flash that does many things at once.
 *
 *	commands --> controller: 10 us + bytes / 530 MB/s, one after the other
 *	                 +-- read --> flash: 80 us, all in parallel (100 us more while the flash programs)
 *	                 +-- write -> volatile cache: 20 us --> flash programs: 20 us + bytes / 450 MB/s,
 *	                                                       one after the other
 *
 * - The cache is counted in time: it holds what takes the flash 75 ms (32 MB of large writes). A write
 *   that finds it full is done when there is room; it holds up nothing else.
 * - FLUSH is done when all that was written before has been programmed, and 0.5 ms later, in which the
 *   tables are written; without a write since the last one, at once. It holds up no other command.
 *
 * Pure: time is model time and a parameter. Calls must come in order of arrival; completions need not.
 */
#ifndef CANFS_BENCH_DISK_SSD_H
#define CANFS_BENCH_DISK_SSD_H

#include <stdbool.h>
#include <stdint.h>

struct canfs_ssd {
	double controller_free_usec;
	double flash_free_usec; /* then all that is in the cache is programmed */
	bool dirty;             /* written to since the last FLUSH */
};

void canfs_ssd_init(struct canfs_ssd *ssd);

/* Completion time of a command; bytes > 0. */
double canfs_ssd_read(struct canfs_ssd *ssd, uint64_t bytes, double arrival_usec);
double canfs_ssd_write(struct canfs_ssd *ssd, uint64_t bytes, double arrival_usec);
double canfs_ssd_flush(struct canfs_ssd *ssd, double arrival_usec);

#endif
