// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/monitors/disk_types.h"
#include "server/monitors/source.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum type { NVME, SSD, ROTATIONAL, RAID, VIRTUAL };

/*
 * Reads wait for the device with an application behind each; queued writes are write-back, for
 * which nobody waits one by one and which the kernel queues deeply on purpose. So a disk takes
 * more writes than reads before another request hurts. k: the sooner a further request hurts the
 * others, the smaller (CA-NFS §3.2); next to it the share of a full queue at which the price is 1/2.
 *
 * The last two columns are only to compare requests with each other, to say whose share of the disk is how large: what a
 * request takes that is too small for its bytes to matter, and how many bytes take as long again. Of what takes many at
 * a time, its latency over as many as it takes.
 */
static const struct canfs_disk_type types[] = {
	/* A queue pair takes 1023 requests; flash and controller saturate at about 128, and until then
	 * requests run side by side: as the network, "few negative effects" until full. 0.84. */
	[NVME] = { "nvme", 128, 128, 64, 20, 3000 },

	/* 32 tags on a SATA link: the 33rd read waits. Writes end in the drive's cache. Up to there
	 * channels work side by side, but share one link: expensive a little earlier than NVMe. 0.81. */
	[SSD] = { "ssd", 32, 64, 32, 20, 500 },

	/* One head: the second read waits for a seek of the first. Writes go by elevator and drive
	 * cache, 32 tags deep. "Each additional I/O interferes with all subsequent I/Os". Measured beside
	 * a reader, with a writer that closes one file in a quiet moment and one in a busy one (bench/run
	 * k-sensitivity, n = 3): from 1.1 to 64 all within 3 % of the best, as the agent's pace tapers; the
	 * reader's 99th percentile is 62 to 82 ms in between, 79 to 114 at 64, 118 with stock. Smaller ones
	 * are better only if holding costs nothing, larger ones if all files are closed while others read.
	 * 0.66. */
	[ROTATIONAL] = { "rotational", 1, 32, 4, 8000, 150 },

	/* A volume of a RAID controller: some heads, but how many it does not tell. 8, so that it is wrong by a factor of
	 * 4 at most for 2 to 32 disks; as there is a head below each, it is expensive as early as one. 0.66. */
	[RAID] = { "raid", 8, 32, 4, 2000, 600 },

	/* What is behind it, nobody tells, and the rotational flag means nothing here. Between one head
	 * and 32 tags, so that it is wrong by a factor of 8 or 4 at most. As there may be a head behind it,
	 * it is expensive as early as one: an error of the queue, but not of the slope as well. 0.66. */
	[VIRTUAL] = { "virtual", 8, 32, 4, 2000, 300 },
};

/* How a disk is recognized; the first row that fits counts. */
static const struct {
	const char *name_prefix;
	const char *file; /* NULL: none is read */
	const char *text; /* its beginning */
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
	/* Volumes of RAID controllers that spin, by what they answer to INQUIRY. Single disks behind such a
	 * controller answer for themselves. Smart Array and SmartRAID have the same model; Adaptec's is otherwise
	 * what the administrator calls the volume, as Areca's. */
	{ "sd", "device/model", "PERC", RAID }, /* Dell */
	{ "sd", "device/vendor", "LSI", RAID }, /* and LSILOGIC */
	{ "sd", "device/vendor", "AVAGO", RAID },
	{ "sd", "device/vendor", "BROADCOM", RAID },
	{ "sd", "device/model", "LOGICAL VOLUME", RAID }, /* HP, HPE, Adaptec */
	{ "sd", "device/model", "ServeRAID", RAID },      /* IBM */
	{ "sd", "device/model", "SERVERAID", RAID },
	{ "sd", "device/vendor", "Adaptec", RAID },
	{ "sd", "device/vendor", "ADAPTEC", RAID },
	{ "sd", "device/vendor", "ASR", RAID }, /* Adaptec's card */
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
	/* The last row fits all. */
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
