/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One line per event on stderr, where journald or a terminal takes it. */
#ifndef CANFS_COMMON_LOG_H
#define CANFS_COMMON_LOG_H

/*
 * With the time of day in front, unless journald listens (it has its own). Cut at 1023 bytes; lost, not
 * waited for, while nobody reads the other end: a full pipe must not stop the agent with knobs turned.
 */
void canfs_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
