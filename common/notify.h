/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Notifies the service manager (sd_notify(3)): ready, reloading, stopping, a status line, and the
 * watchdog. Without a service manager, these functions do nothing.
 */
#ifndef CANFS_COMMON_NOTIFY_H
#define CANFS_COMMON_NOTIFY_H

#include <stdint.h>

void canfs_notify_ready(void);                  /* also after a reload */
void canfs_notify_reloading(void);              /* until the next canfs_notify_ready() */
void canfs_notify_stopping(const char *status); /* status: one line, as below */

/* One line for systemctl status. */
void canfs_notify_status(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Call this on each iteration of the loop. It feeds the watchdog, if one is set (WatchdogSec=), at
 * most four times per interval. *fed_usec belongs to this function; set it to 0 at first.
 */
void canfs_notify_alive(uint64_t now_usec, uint64_t *fed_usec);

#endif
