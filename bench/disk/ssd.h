/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A solid-state disk as the host sees it: one controller, and flash that works in parallel.
 *
 *	commands --> controller: 10 us + bytes / 530 MB/s, one command at a time
 *	                 +-- read --> flash: 80 us, in parallel (+ 100 us while the flash programs)
 *	                 +-- write -> volatile cache: 20 us --> flash programs:
 *	                              20 us + bytes / 450 MB/s, one write at a time
 *
 * - The cache is measured in time: its limit is 75 ms of programming (32 MB of large writes). A
 *   write to a full cache completes when there is room, and delays nothing else.
 * - FLUSH completes 0.5 ms after all earlier writes have been programmed; the tables are written in
 *   this time. If nothing was written since the last FLUSH, it completes immediately. FLUSH delays
 *   no other command.
 *
 * Pure: time is model time and a parameter. Calls must be in order of arrival; completions need not
 * be.
 */
#ifndef CANFS_BENCH_DISK_SSD_H
#define CANFS_BENCH_DISK_SSD_H

#include <stdbool.h>
#include <stdint.h>

struct canfs_ssd {
	double controller_free_usec;
	double flash_free_usec; /* when the whole cache is programmed */
	bool dirty;             /* written to since the last FLUSH */
};

void canfs_ssd_init(struct canfs_ssd *ssd);

/* Return the completion time of a command; bytes > 0. */
double canfs_ssd_read(struct canfs_ssd *ssd, uint64_t bytes, double arrival_usec);
double canfs_ssd_write(struct canfs_ssd *ssd, uint64_t bytes, double arrival_usec);
double canfs_ssd_flush(struct canfs_ssd *ssd, double arrival_usec);

#endif
