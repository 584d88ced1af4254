// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/monitors/devices.h"
#include "common/block_devices.h"
#include "server/monitors/mountinfo.h"
#include "server/monitors/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DEPTH_MAX       8         /* overlays on overlays */
#define MOUNTINFO_BYTES (4 << 20) /* more than 10000 mounts; further ones are ignored */

struct search {
	const char *root;
	struct canfs_disk_path *disks;
	size_t max;
	size_t count;
	struct canfs_block_walk walk;
	char *mountinfo;
};

static bool exists(const char *dir, const char *name)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static void add(void *data, const char *dir)
{
	struct search *search = data;
	const char *path = dir + strlen(search->root);

	for (size_t i = 0; i < search->count; i++) {
		if (strcmp(search->disks[i].path, path) == 0)
			return;
	}
	if (search->count < search->max)
		snprintf(search->disks[search->count++].path, PATH_MAX, "%s", path);
}

static void descend_device(struct search *search, dev_t device)
{
	char link[PATH_MAX + 64];

	snprintf(link, sizeof(link), "%s/sys/dev/block/%u:%u", search->root, major(device),
		minor(device));
	canfs_block_walk(&search->walk, link);
}

bool canfs_is_anonymous(dev_t device)
{
	return device != 0 && major(device) == 0;
}

void canfs_resolve_path(const char *root, const char *path, char resolved[PATH_MAX])
{
	char full[2 * PATH_MAX], real_root[PATH_MAX] = "", real[PATH_MAX];
	size_t root_len;

	snprintf(resolved, PATH_MAX, "%s", path);
	if (root[0] != '\0' && !realpath(root, real_root))
		return;
	root_len = strlen(real_root);
	snprintf(full, sizeof(full), "%s%s", real_root, path);
	if (realpath(full, real) && strncmp(real, real_root, root_len) == 0)
		snprintf(resolved, PATH_MAX, "%s", real[root_len] != '\0' ? real + root_len : "/");
}

/*
 * The mount names only one device of a btrfs. The file system that lists this device in
 * /sys/fs/btrfs lists the other devices, too. Devices are compared by name, because a container has
 * no device nodes.
 */
static void search_btrfs(struct search *search, const struct canfs_mountinfo_entry *mount)
{
	char source[PATH_MAX], base[PATH_MAX + 32];
	const char *slash;
	struct dirent *entry;
	DIR *all;

	canfs_resolve_path(search->root, mount->source, source);
	slash = strrchr(source, '/');
	snprintf(base, sizeof(base), "%s/sys/fs/btrfs", search->root);
	all = opendir(base);
	while (slash && all && (entry = readdir(all))) {
		char devices[PATH_MAX + NAME_MAX + 64];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(devices, sizeof(devices), "%s/%s/devices", base, entry->d_name);
		if (exists(devices, slash + 1))
			(void)canfs_block_walk_all(&search->walk, devices);
	}
	if (all)
		closedir(all);
}

/* Searches below the file system that path is on. Needed if st_dev is anonymous. */
static void search_path(struct search *search, const char *path, int depth)
{
	struct canfs_mountinfo_entry mount;
	char upper[PATH_MAX];

	if (depth > DEPTH_MAX || canfs_find_mount(search->mountinfo, path, &mount) != 0)
		return;
	if (strcmp(mount.type, "btrfs") == 0) {
		search_btrfs(search, &mount);
	} else if (strcmp(mount.type, "overlay") == 0 && mount.upper[0] == '/') {
		canfs_resolve_path(search->root, mount.upper, upper);
		search_path(search, upper, depth + 1);
	} else if (depth > 0) {
		descend_device(search, mount.device);
	}
}

int canfs_find_disks(
	const char *root, dev_t device, const char *path, struct canfs_disk_path *disks, size_t max)
{
	char real_root[PATH_MAX] = "";
	struct search search = { .root = real_root, .disks = disks, .max = max };

	search.walk = (struct canfs_block_walk) { .take = add, .data = &search };
	if (root[0] != '\0' && !realpath(root, real_root))
		return -errno;
	descend_device(&search, device);
	if (search.count == 0 && canfs_is_anonymous(device) && path) {
		search.mountinfo = malloc(MOUNTINFO_BYTES);
		if (!search.mountinfo)
			return -ENOMEM;
		if (canfs_read_source(
			    root, "/proc/self/mountinfo", search.mountinfo, MOUNTINFO_BYTES) > 0)
			search_path(&search, path, 0);
		free(search.mountinfo);
	}
	return search.count > 0 ? (int)search.count : -ENODATA;
}
