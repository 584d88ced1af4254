// SPDX-License-Identifier: LGPL-3.0-or-later
/* /proc/self/mountinfo: only mounts that are fit to be used come out. */
#include "tests/fuzz/text.h"

#include "client-agent/kernel/mounts.h"

static void check_mount(const struct canfs_mount *mount)
{
	FUZZ_CHECK(mount->mountpoint[0] == '/' && mount->export_path[0]);
	FUZZ_CHECK(mount->export_path[0] != '/' || !strstr(mount->export_path, "//"));
	FUZZ_CHECK(strlen(mount->mountpoint) < CANFS_MOUNT_PATH_MAX);
	FUZZ_CHECK(strlen(mount->source) < CANFS_MOUNT_PATH_MAX);
	FUZZ_CHECK(mount->version >= 2 && mount->version <= 4);
	FUZZ_CHECK(mount->id >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct canfs_mounts mounts;
	size_t index[CANFS_MOUNTS_MAX];
	char *text = fuzz_text(data, size);

	canfs_mounts_parse(text, &mounts);
	FUZZ_CHECK(mounts.n <= CANFS_MOUNTS_MAX);
	for (size_t i = 0; i < mounts.n; i++)
		check_mount(&mounts.mount[i]);
	FUZZ_CHECK(canfs_mounts_bdis(&mounts, index) <= mounts.n);
	FUZZ_CHECK(mounts.unfits <= CANFS_MOUNTS_UNFIT && mounts.unfits <= mounts.malformed);
	for (size_t i = 0; i < mounts.unfits; i++)
		FUZZ_CHECK(mounts.unfit[i].why && mounts.unfit[i].id >= -1);
	free(text);
	return 0;
}
