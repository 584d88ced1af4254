/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_GANESHA_FSAL_READ_SCHEDULER_READ_LIMIT_H
#define CANFS_GANESHA_FSAL_READ_SCHEDULER_READ_LIMIT_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Returns how many bytes of one POSIX_FADV_WILLNEED the device's kernel reads. The kernel silently
 * drops the rest. The limit is the larger of the current read_ahead_kb and max_sectors_kb. If
 * neither can be read, it is 128 KiB, the kernel's own default.
 */
uint64_t canfs_read_limit_bytes(const char *sysfs, dev_t device);

#endif
