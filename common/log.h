/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Logs one line per event to stderr, for journald or a terminal. */
#ifndef CANFS_COMMON_LOG_H
#define CANFS_COMMON_LOG_H

/*
 * The line starts with the time of day, unless journald reads stderr and adds its own. It is cut at
 * 1023 bytes. If stderr is full, the line is lost, because a full pipe must not block the agent
 * while knobs are changed.
 */
void canfs_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
