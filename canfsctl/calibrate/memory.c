// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/calibrate/measure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client-agent/kernel/procfs.h"

#define VMSTAT_MAX 65536

/* The kernel makes it of vm.dirty_ratio or vm.dirty_bytes and of the memory that is free now. */
static int read_dirty_limit(const char *root, uint64_t *bytes)
{
	static const char name[] = "\nnr_dirty_threshold ";
	char text[VMSTAT_MAX];
	const ssize_t length = canfs_read_file(root, "/proc/vmstat", text, sizeof(text));
	const char *line;
	uint64_t pages;

	if (length < 0)
		return (int)length;
	line = strstr(text, name);
	if (!line)
		return -EPROTO;
	line += strlen(name);
	if (canfs_parse_u64(&line, &pages) < 0)
		return -EPROTO;
	return __builtin_mul_overflow(pages, (uint64_t)sysconf(_SC_PAGESIZE), bytes) ? -EPROTO : 0;
}

int canfs_measure_memory(
	const char *root, struct canfs_memory_result *result, char error[CANFS_MEASURE_ERROR_MAX])
{
	struct canfs_meminfo meminfo;
	int ret = canfs_meminfo_read(root, &meminfo);

	if (ret < 0) {
		const char *lacks = ret == -EPROTO ? canfs_meminfo_lack(root) : NULL;

		snprintf(error, CANFS_MEASURE_ERROR_MAX, "/proc/meminfo: %s%s",
			lacks ? "no usable line " : strerrordesc_np(-ret), lacks ? lacks : "");
		return ret;
	}
	ret = read_dirty_limit(root, &result->dirty_limit_bytes);
	if (ret < 0) {
		snprintf(error, CANFS_MEASURE_ERROR_MAX, "/proc/vmstat: %s",
			ret == -EPROTO ? "no usable line nr_dirty_threshold"
				       : strerrordesc_np(-ret));
		return ret;
	}
	result->total_bytes = meminfo.total_bytes;
	return 0;
}
