/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Checks of a server's disk: what the kernel does with requests before the disk has them. */
#include "client-agent/doctor/checks.h"

#define UDEV_FILE "/etc/udev/rules.d/99-disks.rules"

/* What is behind a virtual disk has a scheduler, and the kernel chooses none for many of them. */
bool canfs_check_disk_scheduler(const struct canfs_disk_facts *disk, struct canfs_finding *finding)
{
	if (!disk->rotational || disk->is_virtual || !disk->no_scheduler)
		return false;
	canfs_finding_say(finding,
		"%s is rotational, but its I/O scheduler is none, not mq-deadline: reads wait "
		"behind write-back, and nothing sorts what the drive has not taken",
		disk->name);
	return canfs_finding_advise(finding,
		"echo mq-deadline >/sys/block/%s/queue/scheduler; for each boot, in " UDEV_FILE
		": ACTION==\"add|change\", KERNEL==\"%s\", ATTR{queue/rotational}==\"1\", "
		"ATTR{queue/scheduler}=\"mq-deadline\"",
		disk->name, disk->name);
}
