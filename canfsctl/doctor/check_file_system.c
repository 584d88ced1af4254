// SPDX-License-Identifier: LGPL-3.0-or-later
/* Checks of a server's file system: its durability guarantees and their cost (doc/stable.md). */
#include "canfsctl/doctor/checks.h"

#include <string.h>

bool canfs_check_barriers(const struct canfs_host_facts *host, const struct canfs_fs_facts *fs,
	struct canfs_finding *finding)
{
	(void)host;
	if (!fs->no_barrier)
		return false;
	canfs_finding_say(finding,
		"%s is mounted without barriers: a power cut loses what clients were told is on "
		"the disk, or damages the file system",
		fs->mountpoint);
	return canfs_finding_advise(finding,
		"mount -o remount,barrier=1 %s, and without nobarrier in /etc/fstab; a log on "
		"flash makes closes fast and keeps the promise (doc/stable.md)",
		fs->mountpoint);
}

bool canfs_check_fast_commit(const struct canfs_host_facts *host, const struct canfs_fs_facts *fs,
	struct canfs_finding *finding)
{
	(void)host;
	if (!fs->fast_commit)
		return false;
	canfs_finding_say(finding,
		"ext4 of %s has fast_commit: in the lab most power cuts damaged such a "
		"file system, and files that were acknowledged were lost",
		fs->mountpoint);
	return canfs_finding_advise(finding,
		"unmount it, tune2fs -O ^fast_commit on its device, and mount it; one client then "
		"closes a third fewer files a second, eight a seventh");
}

bool canfs_check_access_times(const struct canfs_host_facts *host, const struct canfs_fs_facts *fs,
	struct canfs_finding *finding)
{
	(void)host;
	if (!fs->stamps_reads)
		return false;
	canfs_finding_say(finding, "%s is mounted with strictatime: each read is a write, too",
		fs->mountpoint);
	return canfs_finding_advise(finding,
		"mount -o remount,noatime %s, and noatime in /etc/fstab, unless something there "
		"goes by access times, as some mail readers do",
		fs->mountpoint);
}

static const char *how_to_move_log(const struct canfs_fs_facts *fs)
{
	return strcmp(fs->type, "xfs") == 0
		       ? "a file system made anew with mkfs.xfs -l logdev=PARTITION"
		       : "unmounted: mke2fs -O journal_dev PARTITION, tune2fs -O ^has_journal and "
			 "then -J device=PARTITION on its device";
}

/* Only flash in use is found; a spare one is not. */
bool canfs_check_log_on_flash(const struct canfs_host_facts *host, const struct canfs_fs_facts *fs,
	struct canfs_finding *finding)
{
	const struct canfs_disk_facts *flash = canfs_flash(host);
	const bool is_xfs = strcmp(fs->type, "xfs") == 0;

	if (!fs->journal_inside || !fs->rotational || !flash)
		return false;
	canfs_finding_say(finding,
		"%s has its log on a rotational disk, and this host has flash (%s): with the log "
		"there, in the lab, one client closed %s times as many files a second, eight %s "
		"times",
		fs->mountpoint, flash->name, is_xfs ? "3.4" : "2.7", is_xfs ? "1.7" : "1.3");
	return canfs_finding_advise(finding,
		"%s; 256 MB, with power-loss protection, and mirrored: without it the file system "
		"cannot be mounted (doc/stable.md)",
		how_to_move_log(fs));
}
