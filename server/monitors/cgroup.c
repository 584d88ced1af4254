// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/monitors/cgroup.h"
#include "server/monitors/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOUNT  "/sys/fs/cgroup"
#define HYBRID MOUNT "/unified" /* version 2, if systemd mounts the controllers as version 1 */

/* True if word is in the comma-separated list. */
static bool in_list(const char *list, size_t len, const char *word)
{
	const size_t word_len = strlen(word);

	for (const char *end = list + len; list < end;) {
		const char *comma = memchr(list, ',', (size_t)(end - list));
		size_t here = (size_t)((comma ? comma : end) - list);

		if (here == word_len && memcmp(list, word, here) == 0)
			return true;
		list += here + 1;
	}
	return false;
}

int canfs_parse_cgroup(
	const char *text, const char *controller, char *path, size_t size, bool *version2)
{
	int result = -EPROTO;

	/*
	 * 4:cpu,memory:/a/b is version 1. 0::/a/b is version 2, without controllers that version 1
	 * has.
	 */
	for (const char *line = text; *line != '\0'; line = canfs_next_line(line)) {
		size_t len = strcspn(line, "\n");
		const char *controllers = memchr(line, ':', len);
		const char *group;
		bool unified;

		if (!controllers)
			continue;
		controllers++;
		group = memchr(controllers, ':', len - (size_t)(controllers - line));
		if (!group)
			continue;
		unified = group == controllers;
		if (!unified && !in_list(controllers, (size_t)(group - controllers), controller))
			continue;
		len -= (size_t)(group + 1 - line);
		if (len >= size)
			return -EPROTO;
		memcpy(path, group + 1, len);
		path[len] = '\0';
		*version2 = unified;
		result = 0;
		if (!unified)
			break;
	}
	return result;
}

static void cut_slash(char *path)
{
	size_t len = strlen(path);

	if (len > 0 && path[len - 1] == '/')
		path[len - 1] = '\0';
}

bool canfs_cgroup_own(const char *root, const char *controller, struct canfs_cgroup *group)
{
	char text[8192];

	group->root = root;
	group->controller = controller;
	if (canfs_read_source(root, "/proc/self/cgroup", text, sizeof(text)) <= 0 ||
		canfs_parse_cgroup(
			text, controller, group->path, sizeof(group->path), &group->version2) != 0)
		return false;
	cut_slash(group->path);
	return true;
}

bool canfs_cgroup_up(struct canfs_cgroup *group)
{
	char *slash = strrchr(group->path, '/');

	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

int canfs_cgroup_read(const struct canfs_cgroup *group, const char *name, char *text, size_t size)
{
	char path[PATH_MAX + 128];
	const char *mount = MOUNT "/";
	const char *controller = group->controller;

	if (group->version2) {
		snprintf(path, sizeof(path), "%s" HYBRID, group->root);
		mount = access(path, F_OK) == 0 ? HYBRID : MOUNT;
		controller = "";
	}
	snprintf(path, sizeof(path), "%s%s%s/%s", mount, controller, group->path, name);
	return canfs_read_source(group->root, path, text, size);
}
