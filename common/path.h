/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_COMMON_PATH_H
#define CANFS_COMMON_PATH_H

#include <stdbool.h>
#include <string.h>

/* Is path that directory, or in it, by their names? Neither ends with a slash, but for "/" itself. */
static inline bool canfs_path_is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	if (len == 1 && directory[0] == '/')
		return path[0] == '/';
	return strncmp(path, directory, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

#endif
