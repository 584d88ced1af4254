/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_COMMON_PATH_H
#define CANFS_COMMON_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * Returns true if path is directory or is below it, by name only. Neither may end with a slash,
 * except "/" itself.
 */
static inline bool canfs_path_is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	if (len == 1 && directory[0] == '/')
		return path[0] == '/';
	return strncmp(path, directory, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/*
 * Normalizes an absolute path in place, without symbolic links: "//a/./b/../c/" becomes "/a/c".
 * Leaves other text unchanged, such as the Tag of an export.
 */
static inline void canfs_path_clean(char *path)
{
	char *to = path;

	for (const char *from = path; *from == '/';) {
		const char *name = from + strspn(from, "/");
		size_t len = strcspn(name, "/");

		from = name + len;
		if (len == 2 && name[0] == '.' && name[1] == '.') {
			while (to > path && *--to != '/')
				continue;
		} else if (len > 0 && !(len == 1 && name[0] == '.')) {
			*to++ = '/';
			memmove(to, name, len);
			to += len;
		}
	}
	if (path[0] != '/')
		return;
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

#endif
