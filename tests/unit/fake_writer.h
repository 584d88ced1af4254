/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A process that has a file of a made-up mount open for writing. */
#ifndef CANFS_TESTS_FAKE_WRITER_H
#define CANFS_TESTS_FAKE_WRITER_H

#include "tests/unit/fake_root.h"

#include <fcntl.h>
#include <sys/stat.h>

#define FAKE_WRITER "/proc/100/"

/* The mounts that the process sees, as /proc/PID/mountinfo has them. */
static inline void fake_writer_mounts(const struct fake_root *root, const char *mountinfo)
{
	fake_root_write(root, FAKE_WRITER "mountinfo", mountinfo);
	fake_root_namespace(root, 100, "mnt:[1]");
}

/* It opens a file of 8 MiB on the mount with this ID. */
static inline void fake_writer(const struct fake_root *root, int mount_id)
{
	static char data[8 << 20];
	char path[PATH_MAX], full[PATH_MAX], text[128];
	struct stat st;

	memset(data, 'd', sizeof(data) - 1);
	fake_root_write(root, "/file", data);
	fake_root_full(root, "/file", full);
	assert_int_equal(stat(full, &st), 0);
	snprintf(text, sizeof(text), "pos:\t0\nflags:\t0%o\nmnt_id:\t%d\nino:\t%llu\n", O_RDWR,
		mount_id, (unsigned long long)st.st_ino);
	fake_root_write(root, FAKE_WRITER "fdinfo/3", text);
	fake_root_write(root, FAKE_WRITER "fd/x", "");
	fake_root_full(root, FAKE_WRITER "fd/3", path);
	assert_int_equal(symlink(full, path), 0);
}

#endif
