/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the kernel, or what stands in for it (lxcfs), shows and the agent cannot read: each said once, with its line. */
#ifndef CANFS_CLIENT_AGENT_UNREAD_H
#define CANFS_CLIENT_AGENT_UNREAD_H

#include "client-agent/auction/bidder.h"

/* ret: of reading the file. -EPROTO is told if *told is false; 0 makes it false, so that it would be told again. */
void canfs_unread_note(bool *told, int ret, const char *file, const char *line);

/* mounts->mount[at] is the bidder's mount (at < 0: it is gone), whose counters were read, and found or not. */
void canfs_unread_note_counters(struct canfs_bidder *bidder, bool found, const char *root,
	const struct canfs_mounts *mounts, int at);

#endif
