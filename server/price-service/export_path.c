// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/price-service/export_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "server/monitors/devices.h"
#include "server/monitors/mountinfo.h"

#define LINKS_MAX 40 /* as in the kernel */

/* Returns the next component and moves *path past it. Its length is 0 at the end. */
static const char *next_part(const char **path, size_t *len)
{
	const char *part = *path + strspn(*path, "/");

	*len = strcspn(part, "/");
	*path = part + *len;
	return part;
}

static bool is_dots(const char *part, size_t len)
{
	return (len == 1 && part[0] == '.') || (len == 2 && part[0] == '.' && part[1] == '.');
}

bool canfs_export_path_is_plain(const char *path)
{
	if (strcmp(path, "/") == 0)
		return true;
	while (*path == '/') {
		size_t len = strcspn(++path, "/");

		if (len == 0 || is_dots(path, len))
			return false;
		path += len;
	}
	return *path == '\0';
}

/* FUSE file systems may hang even if they have a block device. */
static bool may_hang(const char *mountinfo, const char *path)
{
	static const char *const local[] = { "btrfs", "overlay", "bcachefs", "zfs", "tmpfs" };
	struct canfs_mountinfo_entry mount;

	if (canfs_find_mount(mountinfo, path[0] != '\0' ? path : "/", &mount) != 0)
		return false;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		if (strcmp(mount.type, local[i]) == 0)
			return false;
	}
	return canfs_is_anonymous(mount.device) || strncmp(mount.type, "fuse", 4) == 0;
}

struct walk {
	const char *fs_root, *mountinfo;
	size_t root_len; /* length of nfs_root in resolved, which .. cannot leave */
	char *resolved;
	char rest[2 * PATH_MAX];
	unsigned int links;
};

static void pop(struct walk *walk)
{
	char *slash = strrchr(walk->resolved + walk->root_len, '/');

	if (slash)
		*slash = '\0';
}

/* Reads the part pushed last as a link. False: it is no link, or cannot be read. */
static bool read_link(const struct walk *walk, char target[PATH_MAX])
{
	char full[2 * PATH_MAX];
	ssize_t len;

	if (!walk->fs_root || may_hang(walk->mountinfo, walk->resolved))
		return false;
	snprintf(full, sizeof(full), "%s%s", walk->fs_root, walk->resolved);
	len = readlink(full, target, PATH_MAX);
	if (len <= 0 || len >= PATH_MAX)
		return false;
	target[len] = '\0';
	return true;
}

/* Prepends the target to the rest of the path. */
static int follow(struct walk *walk, const char *target, const char *rest)
{
	char joined[sizeof(walk->rest)];

	if (++walk->links > LINKS_MAX)
		return -ELOOP;
	if ((size_t)snprintf(joined, sizeof(joined), "%s/%s", target, rest) >= sizeof(joined))
		return -ENAMETOOLONG;
	pop(walk);
	if (target[0] == '/')
		walk->resolved[walk->root_len] = '\0';
	strcpy(walk->rest, joined);
	return 0;
}

static int push(struct walk *walk, const char *part, size_t len)
{
	size_t used = strlen(walk->resolved);

	if (used + 1 + len >= PATH_MAX)
		return -ENAMETOOLONG;
	snprintf(walk->resolved + used, PATH_MAX - used, "/%.*s", (int)len, part);
	return 0;
}

/* Resolves walk->rest completely. */
static int walk_rest(struct walk *walk)
{
	const char *rest = walk->rest, *part;
	char target[PATH_MAX];
	size_t len;
	int ret = 0;

	while (ret == 0 && (part = next_part(&rest, &len)) && len > 0) {
		if (is_dots(part, len)) {
			if (len == 2)
				pop(walk);
			continue;
		}
		ret = push(walk, part, len);
		if (ret == 0 && read_link(walk, target)) {
			ret = follow(walk, target, rest);
			rest = walk->rest;
		}
	}
	return ret;
}

int canfs_export_path_resolve(const char *fs_root, const char *mountinfo, const char *nfs_root,
	const char *name, char resolved[PATH_MAX])
{
	struct walk walk = { .fs_root = fs_root,
		.mountinfo = mountinfo,
		.resolved = resolved,
		.root_len = strlen(nfs_root) };
	int ret;

	if (name[0] != '/')
		return -EINVAL;
	if (walk.root_len >= PATH_MAX ||
		(size_t)snprintf(walk.rest, sizeof(walk.rest), "%s", name) >= sizeof(walk.rest))
		return -ENAMETOOLONG;
	strcpy(resolved, nfs_root);
	ret = walk_rest(&walk);
	if (ret == 0 && resolved[0] == '\0')
		strcpy(resolved, "/");
	return ret;
}
