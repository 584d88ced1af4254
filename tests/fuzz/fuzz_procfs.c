/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* /proc/meminfo, /proc/PID/fdinfo/N: whole or an error. */
#include "tests/fuzz/text.h"

#include <limits.h>

#include "client-agent/procfs.h"
#include "client-agent/writers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct canfs_meminfo meminfo;
	struct canfs_fdinfo fdinfo;

	if (canfs_meminfo_parse(text, &meminfo) == 0)
		FUZZ_CHECK(canfs_meminfo_spare_bytes(&meminfo) <= meminfo.available_bytes);
	if (canfs_fdinfo_parse(text, &fdinfo) == 0)
		FUZZ_CHECK(fdinfo.mount_id >= 0);
	free(text);
	return 0;
}
