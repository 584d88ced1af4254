// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/knob.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/file.h"
#include "common/text.h"

#define MIB (UINT64_C(1) << 20)
#define PIB (UINT64_C(1) << 50)

/*
 * A new knob is one row here. The bounds are the last protection against a mistake elsewhere: no
 * limit so low that every writer waits, no read-ahead so low that streams collapse. No machine has
 * more memory than the upper bound of a limit.
 */
/*
 * To add a knob, add a row here and its number in knob.h, which is the order of the restore. Journal,
 * restore and status follow from the row. canfs-agent(8) lists the knobs.
 */
static const struct canfs_knob_info knobs[CANFS_KNOBS] = {
	[CANFS_KNOB_BACKGROUND_BYTES] = { "dirty_background_bytes",
		"/proc/sys/vm/dirty_background_bytes", "bytes", false, true,
		CANFS_KNOB_BACKGROUND_RATIO, 4 * MIB, 2 * PIB },
	[CANFS_KNOB_BACKGROUND_RATIO] = { "dirty_background_ratio",
		"/proc/sys/vm/dirty_background_ratio", "%", false, true,
		CANFS_KNOB_BACKGROUND_BYTES, 1, 100 },
	[CANFS_KNOB_DIRTY_BYTES] = { "dirty_bytes", "/proc/sys/vm/dirty_bytes", "bytes", false,
		true, CANFS_KNOB_DIRTY_RATIO, 8 * MIB, 4 * PIB },
	[CANFS_KNOB_DIRTY_RATIO] = { "dirty_ratio", "/proc/sys/vm/dirty_ratio", "%", false, true,
		CANFS_KNOB_DIRTY_BYTES, 1, 100 },
	[CANFS_KNOB_MIN_RATIO] = { "min_ratio", "min_ratio", "%", true, true, CANFS_KNOB_MIN_RATIO,
		0, 99 },
	[CANFS_KNOB_READ_AHEAD] = { "read_ahead_kb", "read_ahead_kb", "KiB", true, false,
		CANFS_KNOB_READ_AHEAD, 64, 15360 },
};

const struct canfs_knob_info *canfs_knob_info(enum canfs_knob knob)
{
	return &knobs[knob];
}

int canfs_knob_by_name(const char *name, enum canfs_knob *knob)
{
	for (int i = 0; i < CANFS_KNOBS; i++) {
		if (strcmp(name, knobs[i].name) == 0) {
			*knob = (enum canfs_knob)i;
			return 0;
		}
	}
	return -ENOENT;
}

static int knob_path(
	const char *root, enum canfs_knob knob, struct canfs_bdi bdi, char *buf, size_t size)
{
	const struct canfs_knob_info *info = &knobs[knob];
	int n = info->per_bdi ? snprintf(buf, size, "%s/sys/class/bdi/%u:%u/%s", root, bdi.major,
					bdi.minor, info->path)
			      : snprintf(buf, size, "%s%s", root, info->path);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int canfs_knob_read(const char *root, enum canfs_knob knob, struct canfs_bdi bdi, uint64_t *value)
{
	char path[PATH_MAX], text[64];
	int ret = knob_path(root, knob, bdi, path, sizeof(path));

	if (ret)
		return ret;
	ssize_t len = canfs_read_file("", path, text, sizeof(text));
	if (len < 0)
		return (int)len;
	const char *p = text;
	uint64_t number;
	ret = canfs_parse_u64(&p, &number);
	if (ret || (*p && *p != '\n'))
		return -EPROTO;
	*value = number;
	return 0;
}

int canfs_knob_write(const char *root, enum canfs_knob knob, struct canfs_bdi bdi, uint64_t value)
{
	char path[PATH_MAX], text[32];
	int ret = knob_path(root, knob, bdi, path, sizeof(path));

	if (ret)
		return ret;
	/* The kernel's files ignore O_TRUNC. The tests' ordinary files need it. */
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	ssize_t n = write(fd, text, (size_t)len);
	if (n != len)
		ret = n < 0 ? -errno : -EIO;
	close(fd);
	return ret;
}
