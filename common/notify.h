/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the service manager is told (sd_notify(3)): ready, reloading, stopping, one line of status, and
 * that the loop goes round. All of it is nothing where there is no service manager.
 */
#ifndef CANFS_COMMON_NOTIFY_H
#define CANFS_COMMON_NOTIFY_H

#include <stdint.h>

void canfs_notify_ready(void);                  /* also after a reload */
void canfs_notify_reloading(void);              /* until the next canfs_notify_ready() */
void canfs_notify_stopping(const char *status); /* a line, as below */

/* One line for systemctl status. */
void canfs_notify_status(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Call it on each round of the loop: a watchdog that is set (WatchdogSec=) is fed, at most four times
 * in its interval. *fed_usec is the caller's memory, 0 at first.
 */
void canfs_notify_alive(uint64_t now_usec, uint64_t *fed_usec);

#endif
