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
		"%s is mounted without barriers: a power cut can lose acknowledged data or damage "
		"the file system",
		fs->mountpoint);
	return canfs_finding_advise(finding,
		"mount -o remount,barrier=1 %s, and remove nobarrier from /etc/fstab; a log on "
		"flash makes close(2) fast without this risk (doc/stable.md)",
		fs->mountpoint);
}

bool canfs_check_fast_commit(const struct canfs_host_facts *host, const struct canfs_fs_facts *fs,
	struct canfs_finding *finding)
{
	(void)host;
	if (!fs->fast_commit)
		return false;
	canfs_finding_say(finding,
		"%s is ext4 with fast_commit: in our tests, most power cuts damaged such file "
		"systems and lost acknowledged files",
		fs->mountpoint);
	return canfs_finding_advise(finding,
		"unmount it, run tune2fs -O ^fast_commit on its device, and mount it; one client "
		"then closes a third fewer files per second, eight clients a seventh fewer");
}

bool canfs_check_access_times(const struct canfs_host_facts *host, const struct canfs_fs_facts *fs,
	struct canfs_finding *finding)
{
	(void)host;
	if (!fs->stamps_reads)
		return false;
	canfs_finding_say(finding, "%s is mounted with strictatime: each read causes a write",
		fs->mountpoint);
	return canfs_finding_advise(finding,
		"mount -o remount,noatime %s, and add noatime in /etc/fstab, unless programs need "
		"access times, as some mail readers do",
		fs->mountpoint);
}

static const char *how_to_move_log(const struct canfs_fs_facts *fs)
{
	return strcmp(fs->type, "xfs") == 0
		       ? "create the file system again with mkfs.xfs -l logdev=PARTITION"
		       : "unmount it, run mke2fs -O journal_dev PARTITION, then tune2fs -O "
			 "^has_journal and tune2fs -J device=PARTITION on its device";
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
		"%s has its log on a rotational disk, but this host has flash (%s): in our tests, "
		"with the log on flash, one client closed %s times as many files per second, eight "
		"clients %s times",
		fs->mountpoint, flash->name, is_xfs ? "3.4" : "2.7", is_xfs ? "1.7" : "1.3");
	return canfs_finding_advise(finding,
		"%s; use 256 MB of mirrored flash with power-loss protection: without its log, the "
		"file system cannot be mounted (doc/stable.md)",
		how_to_move_log(fs));
}
