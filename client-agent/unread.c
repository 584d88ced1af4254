// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/unread.h"

#include <errno.h>

#include "common/log.h"

/*
 * Consecutive samples. A mount that was just added or removed may be in only one of the two files.
 */
#define UNCOUNTED_SAMPLES 3

void canfs_unread_note(bool *told, int ret, const char *file, const char *line)
{
	if (ret == -EPROTO && !*told)
		canfs_log("%s: the line %s is missing or unusable", file, line);
	if (ret == -EPROTO || ret == 0)
		*told = ret != 0;
}

void canfs_unread_note_counters(struct canfs_bidder *bidder, bool found, const char *root,
	const struct canfs_mounts *mounts, int at)
{
	const char *lacks;

	if (found || at < 0)
		bidder->told.uncounted = 0;
	else if (bidder->told.uncounted < UNCOUNTED_SAMPLES &&
		 ++bidder->told.uncounted == UNCOUNTED_SAMPLES &&
		 (lacks = canfs_mountstats_lack(root, mounts, (size_t)at)))
		canfs_log("%s: left at the kernel's defaults: /proc/self/mountstats: the line %s "
			  "of this mount is missing or unusable",
			bidder->mount.mountpoint, lacks);
}
