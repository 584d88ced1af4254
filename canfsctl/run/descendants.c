// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/run/descendants.h"

#include <dirent.h>
#include <stdio.h>

struct family {
	pid_t pid[CANFS_DESCENDANTS_MAX];
	size_t n;
};

static void add_children(struct family *family, const char *path)
{
	FILE *children = fopen(path, "re");
	int pid;

	while (children && family->n < CANFS_DESCENDANTS_MAX && fscanf(children, "%d", &pid) == 1)
		family->pid[family->n++] = pid;
	if (children)
		fclose(children);
}

/* Each thread has its own list of children. */
static void add_family(struct family *family, pid_t pid)
{
	char path[64 + NAME_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, entry->d_name);
		add_children(family, path);
	}
	if (dir)
		closedir(dir);
}

pid_t canfs_descendant_find(pid_t pid, bool (*is_it)(const void *data, pid_t pid), const void *data)
{
	struct family family = { .pid = { pid }, .n = 1 };

	for (size_t i = 0; i < family.n; i++) {
		if (is_it(data, family.pid[i]))
			return family.pid[i];
		add_family(&family, family.pid[i]);
	}
	return 0;
}
