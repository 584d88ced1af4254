/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* cachestat(2), since Linux 6.5. Current C libraries have no wrapper. */
#ifndef CANFS_COMMON_CACHESTAT_H
#define CANFS_COMMON_CACHESTAT_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451 /* on all architectures except alpha, where this number returns ENOSYS */
#endif

/* Pages in a range of a file. */
struct canfs_cachestat {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

/* Returns 0, or -1 with errno set. bytes 0: to the end of the file. */
static inline int canfs_cachestat(
	int fd, uint64_t offset, uint64_t bytes, struct canfs_cachestat *found)
{
	const struct {
		uint64_t offset, bytes;
	} range = { offset, bytes };

	return (int)syscall(SYS_cachestat, fd, &range, found, 0);
}

#endif
