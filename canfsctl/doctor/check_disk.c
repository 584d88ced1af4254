// SPDX-License-Identifier: LGPL-3.0-or-later
/* Checks of a server's disk: how the kernel queues requests for it. */
#include "canfsctl/doctor/checks.h"

#define UDEV_FILE "/etc/udev/rules.d/99-disks.rules"

/* The kernel's defaults, chosen when the queue is created. `rotational` may be changed later. */
#define WBT_ROTATIONAL_USEC     75000
#define WBT_NON_ROTATIONAL_USEC 2000

/* Virtual disks have a scheduler on their host, and the kernel chooses none for many of them. */
bool canfs_check_disk_scheduler(const struct canfs_disk_facts *disk, struct canfs_finding *finding)
{
	if (!disk->rotational || disk->is_virtual || !disk->no_scheduler)
		return false;
	canfs_finding_say(finding,
		"%s is rotational, but has no I/O scheduler: reads wait behind write-back, and "
		"requests are not sorted",
		disk->name);
	return canfs_finding_advise(finding,
		"echo mq-deadline >/sys/block/%s/queue/scheduler; for each boot, in " UDEV_FILE
		": ACTION==\"add|change\", KERNEL==\"%s\", ATTR{queue/rotational}==\"1\", "
		"ATTR{queue/scheduler}=\"mq-deadline\"",
		disk->name, disk->name);
}

/* Any other value, including 0 (off), is somebody's choice. */
bool canfs_check_wbt(const struct canfs_disk_facts *disk, struct canfs_finding *finding)
{
	const unsigned int other = disk->rotational ? WBT_NON_ROTATIONAL_USEC : WBT_ROTATIONAL_USEC;
	const unsigned int right = disk->rotational ? WBT_ROTATIONAL_USEC : WBT_NON_ROTATIONAL_USEC;

	if (disk->wbt_lat_usec != other)
		return false;
	canfs_finding_say(finding,
		"%s is %srotational, but wbt_lat_usec is %u, the default for the other kind of "
		"disk, not %u: %s",
		disk->name, disk->rotational ? "" : "non-", other, right,
		disk->rotational ? "write-back and fsync(2) delay each other"
				 : "reads wait longer behind write-back");
	return canfs_finding_advise(finding,
		"echo %u >/sys/block/%s/queue/wbt_lat_usec; for each boot, in " UDEV_FILE
		": ACTION==\"add|change\", KERNEL==\"%s\", ATTR{queue/rotational}==\"%d\", "
		"ATTR{queue/wbt_lat_usec}=\"%u\"",
		right, disk->name, disk->name, disk->rotational, right);
}
