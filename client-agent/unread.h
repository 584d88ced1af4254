/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Logs each unusable line in the files of the kernel or of lxcfs, once. */
#ifndef CANFS_CLIENT_AGENT_UNREAD_H
#define CANFS_CLIENT_AGENT_UNREAD_H

#include "client-agent/auction/bidder.h"

/*
 * ret is the result of reading the file. On -EPROTO, logs unless *told is set, and sets *told. On
 * 0, clears *told, so that a new problem is logged.
 */
void canfs_unread_note(bool *told, int ret, const char *file, const char *line);

/* mounts->mount[at] is the bidder's mount (at < 0: gone). found: its counters were found. */
void canfs_unread_note_counters(struct canfs_bidder *bidder, bool found, const char *root,
	const struct canfs_mounts *mounts, int at);

#endif
