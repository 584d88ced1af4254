// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Finds the disks of an NFS server. The search goes from the device of each mounted local file
 * system down to the request queues where its reads and writes wait (common/block_devices.h).
 *
 * The exports are not read, because each kind of server stores them elsewhere. Instead the disks of
 * all local file systems that could be exported are checked. Only files of /proc and /sys are read,
 * none of which waits for a server or a disk.
 */
#include "canfsctl/doctor/facts.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/block_devices.h"
#include "common/file.h"
#include "common/text.h"

#define DEVICES_MAX 256 /* of mounted file systems; bind mounts count once */

struct search {
	const char *root;
	struct canfs_host_facts *host;
	size_t devices;
	struct canfs_bdi device[DEVICES_MAX]; /* already searched */
	struct canfs_block_walk walk;
	bool rotational; /* the current file system is on a rotational disk */
};

/*
 * Reads a line that is a single number. Reading wbt_lat_usec of a queue without throttling fails
 * with EINVAL.
 */
static bool read_number(const char *dir, const char *file, uint64_t *value)
{
	char text[32];
	const char *p = text;

	return canfs_read_file(dir, file, text, sizeof(text)) > 0 &&
	       canfs_parse_u64(&p, value) == 0 && strcmp(p, "\n") == 0;
}

/*
 * The file contains "[none] mq-deadline", or "none" if the queue can have no scheduler, as with
 * most dm and md.
 */
static bool scheduler_says(const char *dir, const char *what)
{
	char text[256];

	return canfs_read_file(dir, "/queue/scheduler", text, sizeof(text)) > 0 &&
	       strstr(text, what);
}

/*
 * Is the disk provided by a hypervisor, another host or a file? The provider sorts the requests,
 * and `rotational` may be wrong.
 */
static bool is_virtual(const char *dir, const char *name)
{
	static const struct {
		const char *name_prefix;
		const char *file; /* NULL: the name is enough */
		const char *text; /* that the file starts with */
	} rows[] = {
		{ "vd", NULL, NULL },  /* virtio */
		{ "xvd", NULL, NULL }, /* Xen */
		{ "rbd", NULL, NULL }, /* Ceph */
		{ "nbd", NULL, NULL }, { "loop", NULL, NULL },
		{ "sd", "/device/vendor", "Msft " }, /* Hyper-V, Azure */
		{ "sd", "/device/vendor", "QEMU " }, { "sd", "/device/vendor", "VMware" },
		{ "sd", "/device/vendor", "Google" }, /* Persistent Disk */
		{ "sd", "/device/model", "QEMU " },   /* emulated SATA: the vendor is ATA */
	};
	char text[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strncmp(name, rows[i].name_prefix, strlen(rows[i].name_prefix)) != 0)
			continue;
		if (!rows[i].file ||
			(canfs_read_file(dir, rows[i].file, text, sizeof(text)) > 0 &&
				strncmp(text, rows[i].text, strlen(rows[i].text)) == 0))
			return true;
	}
	return false;
}

/* dir: below /sys/devices. A device without a `rotational` flag is ignored. */
static void add_disk(void *data, const char *dir)
{
	struct search *search = data;
	struct canfs_host_facts *host = search->host;
	const char *name = strrchr(dir, '/') + 1;
	struct canfs_disk_facts disk = { 0 };
	uint64_t rotational;

	if (strlen(name) >= sizeof(disk.name) ||
		!read_number(dir, "/queue/rotational", &rotational))
		return;
	disk.rotational = rotational != 0;
	disk.is_virtual = is_virtual(dir, name);
	search->rotational |= disk.rotational && !disk.is_virtual;
	for (size_t i = 0; i < host->disks; i++) {
		if (strcmp(host->disk[i].name, name) == 0)
			return;
	}
	if (host->disks == CANFS_DISKS_MAX) {
		host->disks_left_out++;
		return;
	}
	strcpy(disk.name, name);
	disk.no_scheduler = scheduler_says(dir, "[none]");
	if (!read_number(dir, "/queue/wbt_lat_usec", &disk.wbt_lat_usec))
		disk.wbt_lat_usec = 0;
	host->disk[host->disks++] = disk;
}

/*
 * Requests wait in the topmost device that has a scheduler, such as a dm device above several paths
 * to one disk.
 */
static bool has_scheduler(const char *dir)
{
	return scheduler_says(dir, "[");
}

static void take_mount(void *data, const char *line, const char *end)
{
	struct search *search = data;
	struct canfs_fs_facts fs;
	char link[PATH_MAX], dir[PATH_MAX];

	if (!canfs_local_fs_parse(line, end, &fs))
		return;
	for (size_t i = 0; i < search->devices; i++) {
		if (canfs_bdi_equal(search->device[i], fs.device))
			return;
	}
	if (search->devices == DEVICES_MAX) {
		search->host->disks_left_out++;
		return;
	}
	search->device[search->devices++] = fs.device;
	snprintf(link, sizeof(link), "%s/sys/dev/block/%u:%u", search->root, fs.device.major,
		fs.device.minor);
	search->rotational = false;
	canfs_block_walk(&search->walk, link);
	if (!realpath(link, dir))
		return;
	if (search->host->file_systems == CANFS_FILE_SYSTEMS_MAX) {
		search->host->disks_left_out++;
		return;
	}
	fs.rotational = search->rotational;
	canfs_fs_gather(search->root, strrchr(dir, '/') + 1, &fs);
	search->host->file_system[search->host->file_systems++] = fs;
}

/*
 * A btrfs mount names no block device, but the kernel lists the devices of all mounted btrfs file
 * systems.
 */
static void search_btrfs(struct search *search)
{
	char base[PATH_MAX], devices[PATH_MAX + NAME_MAX + 16];
	struct dirent *entry;
	DIR *all;

	snprintf(base, sizeof(base), "%s/sys/fs/btrfs", search->root);
	all = opendir(base);
	while (all && (entry = readdir(all))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(devices, sizeof(devices), "%s/%s/devices", base, entry->d_name);
		(void)canfs_block_walk_all(&search->walk, devices);
	}
	if (all)
		closedir(all);
}

void canfs_disks_gather(const char *root, struct canfs_host_facts *host)
{
	struct search search = { .root = root, .host = host };

	search.walk = (struct canfs_block_walk) {
		.take = add_disk, .stops = has_scheduler, .data = &search
	};

	host->disks = host->file_systems = 0;
	host->disks_left_out = 0;
	if (!canfs_serves_nfs(host))
		return;
	canfs_read_lines(root, "/proc/self/mountinfo", take_mount, &search);
	search_btrfs(&search);
}

const struct canfs_disk_facts *canfs_flash(const struct canfs_host_facts *host)
{
	for (size_t i = 0; i < host->disks; i++) {
		if (!host->disk[i].rotational && !host->disk[i].is_virtual)
			return &host->disk[i];
	}
	return NULL;
}
