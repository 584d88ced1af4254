/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_GANESHA_FSAL_SCHEDULER_READ_LIMIT_H
#define CANFS_GANESHA_FSAL_SCHEDULER_READ_LIMIT_H

#include <stdint.h>
#include <sys/types.h>

/*
 * So many bytes of a POSIX_FADV_WILLNEED are read by the device's kernel; it drops the rest and says nothing:
 * the larger of read_ahead_kb and max_sectors_kb, as they are now. 128 KiB, which is the kernel's own default,
 * if nothing can be read.
 */
uint64_t canfs_read_limit_bytes(const char *sysfs, dev_t device);

#endif
