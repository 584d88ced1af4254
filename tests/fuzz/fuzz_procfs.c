// SPDX-License-Identifier: LGPL-3.0-or-later
/* /proc/meminfo, /proc/vmstat, /proc/PID/fdinfo/N: whole or an error. */
#include "tests/fuzz/text.h"

#include <limits.h>

#include "client-agent/kernel/procfs.h"
#include "client-agent/kernel/writers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct canfs_meminfo meminfo;
	struct canfs_fdinfo fdinfo;
	struct canfs_vmstat vmstat;
	uint64_t dirty_bytes;

	if (canfs_meminfo_parse(text, &meminfo) == 0)
		FUZZ_CHECK(canfs_meminfo_spare_bytes(&meminfo) <= meminfo.available_bytes &&
			   meminfo.total_bytes <= INT64_MAX);
	if (canfs_fdinfo_parse(text, &fdinfo) == 0)
		FUZZ_CHECK(fdinfo.mount_id >= 0);
	(void)canfs_cgroup_dirty_parse(text, &dirty_bytes);
	if (canfs_vmstat_parse(text, &vmstat) == 0)
		FUZZ_CHECK(vmstat.missed_bytes % 4096 == 0 && vmstat.background_bytes % 4096 == 0);
	free(text);
	return 0;
}
