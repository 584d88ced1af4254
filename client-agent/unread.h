/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Logs once each line of the kernel's files, or of lxcfs's, that the agent cannot use. */
#ifndef CANFS_CLIENT_AGENT_UNREAD_H
#define CANFS_CLIENT_AGENT_UNREAD_H

#include "client-agent/auction/bidder.h"

/* ret: result of reading the file. Logs -EPROTO if *told is false, and sets it. 0 resets *told, so that a new problem is logged. */
void canfs_unread_note(bool *told, int ret, const char *file, const char *line);

/* mounts->mount[at] is the bidder's mount (at < 0: gone). found: its counters were found. */
void canfs_unread_note_counters(struct canfs_bidder *bidder, bool found, const char *root,
	const struct canfs_mounts *mounts, int at);

#endif
