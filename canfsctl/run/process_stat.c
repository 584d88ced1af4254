// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/run/process_stat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"

#define STAT_MAX 2048
#define NAME     2 /* this member may contain anything, even ")" */

int canfs_process_stat(
	const char *root, pid_t pid, enum canfs_process_member member, int64_t *value)
{
	char path[32], text[STAT_MAX], *end;
	const char *at;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	length = canfs_read_file(root, path, text, sizeof(text));
	if (length < 0)
		return (int)length;
	at = strrchr(text, ')');
	for (int i = NAME; at && i < (int)member; i++)
		at = strchr(at + 1, ' ');
	if (!at)
		return -EPROTO;
	at++;
	if (member == CANFS_PROCESS_STATE) {
		*value = (unsigned char)*at;
		return 0;
	}
	*value = strtoll(at, &end, 10);
	return end == at ? -EPROTO : 0;
}
