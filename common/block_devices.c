// SPDX-License-Identifier: LGPL-3.0-or-later
#include "common/block_devices.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX  8 /* stacked devices, such as dm on md on dm; more than any sane stack */
#define VISITS_MAX 4096

static void descend(struct canfs_block_walk *walk, const char *link, int depth);

static bool descend_all(struct canfs_block_walk *walk, const char *dir, int depth)
{
	DIR *links = opendir(dir);
	struct dirent *entry;
	bool any = false;

	while (links && walk->visits < VISITS_MAX && (entry = readdir(links))) {
		char link[2 * PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		any = true;
		snprintf(link, sizeof(link), "%s/%s", dir, entry->d_name);
		descend(walk, link, depth);
	}
	if (links)
		closedir(links);
	return any;
}

static void descend(struct canfs_block_walk *walk, const char *link, int depth)
{
	char dir[PATH_MAX], below[PATH_MAX + 16], *slash;

	if (depth > DEPTH_MAX || walk->visits++ >= VISITS_MAX || !realpath(link, dir))
		return;
	snprintf(below, sizeof(below), "%s/partition", dir);
	slash = strrchr(dir, '/');
	if (access(below, F_OK) == 0 && slash > dir)
		*slash = '\0';
	snprintf(below, sizeof(below), "%s/slaves", dir);
	if ((walk->stops && walk->stops(dir)) || !descend_all(walk, below, depth + 1))
		walk->take(walk->data, dir);
}

void canfs_block_walk(struct canfs_block_walk *walk, const char *link)
{
	descend(walk, link, 0);
}

bool canfs_block_walk_all(struct canfs_block_walk *walk, const char *dir)
{
	return descend_all(walk, dir, 0);
}
