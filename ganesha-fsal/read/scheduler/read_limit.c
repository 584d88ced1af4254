// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/scheduler/read_limit.h"

#include <limits.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include "server/monitors/source.h"

#define DEFAULT_KIB 128
#define MAX_KIB     (1u << 20)

/*
 * The limits of a partition are those of its disk, one directory above. A file system without a
 * device has only a BDI.
 */
static const char *const formats[] = { "%s/dev/block/%u:%u/queue/max_sectors_kb",
	"%s/dev/block/%u:%u/queue/read_ahead_kb", "%s/dev/block/%u:%u/../queue/max_sectors_kb",
	"%s/dev/block/%u:%u/../queue/read_ahead_kb", "%s/class/bdi/%u:%u/read_ahead_kb" };

static uint64_t read_kib(const char *path)
{
	char text[32];
	const char *cursor = text;
	uint64_t kib;

	if (canfs_read_source("", path, text, sizeof(text)) < 0 ||
		!canfs_parse_number(&cursor, &kib) || kib > MAX_KIB)
		return 0;
	return kib;
}

uint64_t canfs_read_limit_bytes(const char *sysfs, dev_t device)
{
	uint64_t limit_kib = 0, kib;
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		(void)snprintf(path, sizeof(path), formats[i], sysfs, major(device), minor(device));
		kib = read_kib(path);
		if (kib > limit_kib)
			limit_kib = kib;
	}
	return (limit_kib != 0 ? limit_kib : DEFAULT_KIB) * 1024;
}
