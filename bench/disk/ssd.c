// SPDX-License-Identifier: LGPL-3.0-or-later
#include <math.h>

#include "bench/disk/ssd.h"

#define COMMAND_USEC           10.0
#define BUS_BYTES_PER_USEC     530.0 /* = MB/s */
#define READ_USEC              80.0
#define READ_PROGRAMMING_USEC  100.0
#define WRITE_USEC             20.0
#define PROGRAM_USEC           20.0
#define PROGRAM_BYTES_PER_USEC 450.0
#define CACHE_USEC             75e3
#define TABLES_USEC            500.0

void canfs_ssd_init(struct canfs_ssd *s)
{
	*s = (struct canfs_ssd) { 0 };
}

/* When the controller has completed its part of a command. */
static double control(struct canfs_ssd *s, uint64_t bytes, double arrival_usec)
{
	s->controller_free_usec = fmax(s->controller_free_usec, arrival_usec) + COMMAND_USEC +
				  (double)bytes / BUS_BYTES_PER_USEC;
	return s->controller_free_usec;
}

double canfs_ssd_read(struct canfs_ssd *s, uint64_t bytes, double arrival_usec)
{
	double now = control(s, bytes, arrival_usec);

	return now + READ_USEC + (s->flash_free_usec > now ? READ_PROGRAMMING_USEC : 0);
}

double canfs_ssd_write(struct canfs_ssd *s, uint64_t bytes, double arrival_usec)
{
	double now = control(s, bytes, arrival_usec);

	s->flash_free_usec = fmax(s->flash_free_usec, now) + PROGRAM_USEC +
			     (double)bytes / PROGRAM_BYTES_PER_USEC;
	s->dirty = true;
	return fmax(now + WRITE_USEC, s->flash_free_usec - CACHE_USEC);
}

double canfs_ssd_flush(struct canfs_ssd *s, double arrival_usec)
{
	double now = control(s, 0, arrival_usec);

	if (!s->dirty)
		return now;
	s->dirty = false;
	s->flash_free_usec = fmax(s->flash_free_usec, now) + TABLES_USEC;
	return s->flash_free_usec;
}
