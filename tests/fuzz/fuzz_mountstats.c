// SPDX-License-Identifier: LGPL-3.0-or-later
/* /proc/self/mountstats: what is not found is all zero. */
#include "tests/fuzz/text.h"

#include "client-agent/kernel/mountstats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct canfs_mountstats nothing;
	static struct canfs_mounts mounts;
	struct canfs_mountstats stats[2];
	char *text = fuzz_text(data, size);

	if (mounts.n == 0)
		canfs_mounts_parse("1 1 0:41 / /mnt/a rw - nfs srv:/export rw,vers=3\n"
				   "2 1 0:42 / /mnt/with\\040space rw - nfs4 srv:/b rw,vers=4.1\n",
			&mounts);
	canfs_mountstats_parse(text, &mounts, stats);
	for (int i = 0; i < 2; i++) {
		FUZZ_CHECK(stats[i].found || !memcmp(&stats[i], &nothing, sizeof(nothing)));
		FUZZ_CHECK(stats[i].server_write_bytes <= INT64_MAX);
		FUZZ_CHECK(stats[i].read.queue_msec <= INT64_MAX);
		FUZZ_CHECK(stats[i].xprt.backlog <= INT64_MAX);
	}
	free(text);
	return 0;
}
