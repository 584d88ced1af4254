// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/core/opener.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGUMENTS 3

static const struct {
	long call;
	int flags_at; /* index of the argument with the flags; -1: none */
	int flags;    /* constant flags of this call */
} calls[] = {
#ifdef SYS_open
	{ SYS_open, 1, 0 },
	{ SYS_creat, -1, O_TRUNC },
#endif
	{ SYS_openat, 2, 0 },
	{ SYS_open_by_handle_at, 2, 0 },
	{ SYS_execve, -1, 0 },
	{ SYS_execveat, -1, 0 },
};

enum canfs_opening canfs_parse_opening(const char *line)
{
	unsigned long argument[ARGUMENTS];
	long call;

	if (strncmp(line, "running", 7) == 0)
		return CANFS_OPENING_RUNNING;
	if (sscanf(line, "%ld %lx %lx %lx", &call, &argument[0], &argument[1], &argument[2]) !=
		1 + ARGUMENTS)
		return CANFS_OPENING_UNKNOWN;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		unsigned long flags = (unsigned long)calls[i].flags;

		if (calls[i].call != call)
			continue;
		if (calls[i].flags_at >= 0)
			flags |= argument[calls[i].flags_at];
		return flags & O_TRUNC ? CANFS_OPENING_TRUNCATES : CANFS_OPENING_KEEPS;
	}
	return CANFS_OPENING_UNKNOWN;
}

static ssize_t read_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = -1;

	if (fd < 0)
		return bytes;
	bytes = read(fd, line, size - 1);
	close(fd);
	line[bytes > 0 ? bytes : 0] = '\0';
	return bytes;
}

enum canfs_opening canfs_look_at_opener(pid_t tid)
{
	char path[32], line[256];

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)tid);
	if (tid <= 0 || read_line(path, line, sizeof(line)) <= 0)
		return CANFS_OPENING_UNKNOWN;
	return canfs_parse_opening(line);
}
