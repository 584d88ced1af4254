// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/monitors/disk_types.h"
#include "server/monitors/source.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum type { NVME, SSD, ROTATIONAL, RAID, VIRTUAL };

/*
 * An application waits for each read. Queued writes are write-back: no application waits for a
 * single one, and the kernel queues writes deeply on purpose. A disk therefore takes more queued
 * writes than reads before another request hurts.
 *
 * k is smaller if a further request hurts the others earlier (CA-NFS §3.2). Each comment ends with
 * the share of a full queue at which the price is 1/2.
 *
 * The last two columns serve only to compare requests, in order to divide the disk's time between
 * clients: the time of a request with few bytes, and the transfer rate. For a device that serves
 * many requests at a time, the time is its latency divided by that number.
 */
/*
 * To add a type, add a row here and one below that recognizes it. If it is read otherwise than
 * flash, add it to `classes` in ganesha-fsal/read/prefetch/device.c. doc/prices.md lists the types.
 */
static const struct canfs_disk_type types[] = {
	/*
	 * A queue pair takes 1023 requests. Flash and controller saturate at about 128. Up to that
	 * depth, requests run in parallel: as for the network, "few negative effects" until full.
	 * 0.84.
	 */
	[NVME] = { "nvme", 128, 128, 64, 20, 3000 },

	/*
	 * A SATA link has 32 tags: the 33rd read waits. Writes end in the drive's cache. Up to that
	 * depth the flash channels work in parallel, but share one link. An SSD is therefore
	 * expensive a little earlier than NVMe. 0.81.
	 */
	[SSD] = { "ssd", 32, 64, 32, 20, 500 },

	/*
	 * One head: the second read waits for a seek of the first. Writes are sorted by elevator
	 * and drive cache, up to 32 tags deep. "Each additional I/O interferes with all subsequent
	 * I/Os".
	 *
	 * k was measured with a reader and a writer (bench/run k-sensitivity, n = 3). The writer
	 * closes one file while the disk is idle and one while it is busy. From 1.1 to 64, all
	 * results are within 3 % of the best, as the agent's pace tapers. The reader's 99th
	 * percentile is 62 to 82 ms between these, 79 to 114 ms with 64, and 118 ms with stock. A
	 * smaller k is better only if holding writes costs nothing. A larger k is better only if
	 * all files are closed while others read. 0.66.
	 */
	[ROTATIONAL] = { "rotational", 1, 32, 4, 8000, 150 },

	/*
	 * A volume of a RAID controller has several heads but does not tell how many. A depth of 8
	 * is wrong by a factor of 4 at most, for 2 to 32 disks. Each disk has one head, so the
	 * volume is expensive as early as a single disk. 0.66.
	 */
	[RAID] = { "raid", 8, 32, 4, 2000, 600 },

	/*
	 * The backing device is unknown, and the rotational flag means nothing here. A depth
	 * between one head and 32 tags is wrong by a factor of 8 or 4 at most. There may be a
	 * single head, so the device is expensive as early as one: then only the depth is wrong,
	 * not k as well. 0.66.
	 */
	[VIRTUAL] = { "virtual", 8, 32, 4, 2000, 300 },
};

/* Rules to recognize a disk. The first row that matches applies. */
static const struct {
	const char *name_prefix;
	const char *file; /* below the disk's directory; NULL: not read */
	const char *text; /* the file starts with this */
	enum type type;
} rows[] = {
	{ "vd", NULL, NULL, VIRTUAL },  /* virtio */
	{ "xvd", NULL, NULL, VIRTUAL }, /* Xen */
	{ "rbd", NULL, NULL, VIRTUAL }, /* Ceph */
	{ "nbd", NULL, NULL, VIRTUAL },
	{ "sd", "device/vendor", "Msft ", VIRTUAL }, /* Hyper-V, Azure */
	{ "sd", "device/vendor", "QEMU ", VIRTUAL }, /* virtio-scsi and emulated */
	{ "sd", "device/vendor", "VMware", VIRTUAL },
	{ "sd", "device/vendor", "Google", VIRTUAL }, /* Persistent Disk */
	{ "sd", "device/model", "QEMU ", VIRTUAL },   /* emulated SATA: the vendor is ATA */
	{ "nvme", "device/model", "Amazon Elastic", VIRTUAL },
	{ "nvme", "device/model", "QEMU ", VIRTUAL },
	{ "nvme", "device/model", "nvme_card-pd", VIRTUAL }, /* Persistent Disk */
	{ "nvme", "queue/rotational", "0", NVME },
	{ "", "queue/rotational", "0", SSD },
	/*
	 * Volumes of RAID controllers with spinning disks, by their INQUIRY data. Single disks
	 * behind such a controller report their own data. Smart Array and SmartRAID have the same
	 * model. Other Adaptec and all Areca volumes have the name that the administrator gave as
	 * their model, so the vendor is checked.
	 */
	{ "sd", "device/model", "PERC", RAID }, /* Dell */
	{ "sd", "device/vendor", "LSI", RAID }, /* also LSILOGIC */
	{ "sd", "device/vendor", "AVAGO", RAID },
	{ "sd", "device/vendor", "BROADCOM", RAID },
	{ "sd", "device/model", "LOGICAL VOLUME", RAID }, /* HP, HPE, Adaptec */
	{ "sd", "device/model", "ServeRAID", RAID },      /* IBM */
	{ "sd", "device/model", "SERVERAID", RAID },
	{ "sd", "device/vendor", "Adaptec", RAID },
	{ "sd", "device/vendor", "ADAPTEC", RAID },
	{ "sd", "device/vendor", "ASR", RAID }, /* Adaptec's controller */
	{ "sd", "device/vendor", "Areca", RAID },
	{ "", NULL, NULL, ROTATIONAL },
};

static bool begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

const struct canfs_disk_type *canfs_disk_type(const char *root, const char *path)
{
	const char *name = strrchr(path, '/');
	char source[PATH_MAX + 32], text[64];
	size_t i = 0;

	name = name ? name + 1 : path;
	/* The last row matches every disk. */
	for (;; i++) {
		if (!begins(name, rows[i].name_prefix))
			continue;
		if (!rows[i].file)
			break;
		snprintf(source, sizeof(source), "%s/%s", path, rows[i].file);
		if (canfs_read_source(root, source, text, sizeof(text)) > 0 &&
			begins(text, rows[i].text))
			break;
	}
	return &types[rows[i].type];
}
