// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/monitors/devices.h"
#include "ganesha-fsal/monitors/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DEPTH_MAX 8 /* dm on md on dm ...; deeper than any sane stack */

struct search {
	const char *root;
	struct canfs_disk_path *disks;
	size_t max;
	size_t count;
};

/*
 * Reads wait for the device with an application behind each; queued writes are write-back, for
 * which nobody waits one by one and which the kernel queues deeply on purpose. So a disk bears
 * more writes than reads before another request hurts.
 */
static const struct {
	const char *name_prefix;
	bool rotational;
	struct canfs_disk_bearing bears;
} types[] = {
	/* A queue pair takes 1023 requests; flash and controller saturate at about 128. */
	{ "nvme", false, { 128, 128 } },
	/* 32 tags on a SATA link: the 33rd read waits. Writes end in the drive's cache. */
	{ "", false, { 32, 64 } },
	/* One head: the second read waits for a seek of the first. Writes go by elevator and
	 * drive cache, 32 tags deep. */
	{ "", true, { 1, 32 } },
};

static bool exists(const char *dir, const char *name)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static void add(struct search *search, const char *dir)
{
	const char *path = dir + strlen(search->root);

	for (size_t i = 0; i < search->count; i++) {
		if (strcmp(search->disks[i].path, path) == 0)
			return;
	}
	if (search->count < search->max)
		snprintf(search->disks[search->count++].path, PATH_MAX, "%s", path);
}

static void descend(struct search *search, const char *link, int depth)
{
	char dir[PATH_MAX], slaves_dir[PATH_MAX + 16];
	struct dirent *entry;
	bool leaf = true;
	DIR *slaves;

	if (depth > DEPTH_MAX || realpath(link, dir) == NULL)
		return;
	if (exists(dir, "partition"))
		*strrchr(dir, '/') = '\0';
	snprintf(slaves_dir, sizeof(slaves_dir), "%s/slaves", dir);
	slaves = opendir(slaves_dir);
	while (slaves != NULL && (entry = readdir(slaves)) != NULL) {
		char slave[PATH_MAX + 16 + NAME_MAX + 1];

		if (entry->d_name[0] == '.')
			continue;
		leaf = false;
		snprintf(slave, sizeof(slave), "%s/%s", slaves_dir, entry->d_name);
		descend(search, slave, depth + 1);
	}
	if (slaves != NULL)
		closedir(slaves);
	if (leaf)
		add(search, dir);
}

int canfs_find_disks(const char *root, dev_t device, struct canfs_disk_path *disks, size_t max)
{
	char real_root[PATH_MAX] = "", link[PATH_MAX + 64];
	struct search search = { .root = real_root, .disks = disks, .max = max };

	if (root[0] != '\0' && realpath(root, real_root) == NULL)
		return -errno;
	snprintf(link, sizeof(link), "%s/sys/dev/block/%u:%u", real_root, major(device),
		minor(device));
	descend(&search, link, 0);
	return search.count > 0 ? (int)search.count : -ENODATA;
}

struct canfs_disk_bearing canfs_disk_bearing(const char *root, const char *path)
{
	const char *name = strrchr(path, '/');
	char source[PATH_MAX + 32], text[16];
	bool rotational = true;
	size_t i = 0;

	snprintf(source, sizeof(source), "%s/queue/rotational", path);
	if (canfs_read_source(root, source, text, sizeof(text)) > 0)
		rotational = text[0] != '0';
	name = name != NULL ? name + 1 : path;
	while (types[i].rotational != rotational ||
		strncmp(name, types[i].name_prefix, strlen(types[i].name_prefix)) != 0)
		i++;
	return types[i].bears;
}
