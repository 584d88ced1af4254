// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Finds the local file systems of an NFS server, from their lines in mountinfo and from what the
 * kernel shows of ext4's log. Superblocks are not read, since that could wait for a disk.
 */
#include "canfsctl/doctor/facts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/file.h"
#include "common/text.h"
#include "common/mountinfo.h"

static bool is_local(const char *type)
{
	static const char *const types[] = { "ext2", "ext3", "ext4", "xfs", "f2fs", "jfs" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(type, types[i]) == 0)
			return true;
	}
	return false;
}

static bool is_ext(const struct canfs_fs_facts *fs)
{
	return strncmp(fs->type, "ext", 3) == 0;
}

/* Copies, cutting to size. */
static void copy(char *to, size_t size, struct canfs_span from)
{
	snprintf(to, size, "%.*s", from.len < INT_MAX ? (int)from.len : INT_MAX, from.at);
}

static bool has(struct canfs_span options, const char *name)
{
	return canfs_mountinfo_option(options, name, NULL);
}

bool canfs_local_fs_parse(const char *line, const char *end, struct canfs_fs_facts *fs)
{
	struct canfs_mountinfo from;
	struct canfs_span own;
	uint64_t id;

	*fs = (struct canfs_fs_facts) { 0 };
	if (canfs_mountinfo_split(line, end, &from) || from.source.len == 0 ||
		canfs_span_number(from.id, UINT64_MAX, &id) ||
		canfs_span_copy(from.type, fs->type, sizeof(fs->type)) || !is_local(fs->type) ||
		canfs_mountinfo_device(from.device, &fs->device.major, &fs->device.minor))
		return false;
	copy(fs->mountpoint, sizeof(fs->mountpoint), from.point);
	own = from.own_options;
	fs->no_barrier = has(own, "nobarrier") || has(own, "barrier=0");
	/* relatime updates access times once a day and after a change. */
	fs->stamps_reads = !has(from.options, "relatime") && !has(from.options, "noatime") &&
			   !has(from.options, "ro") && !has(own, "ro");
	fs->journal_inside = strcmp(fs->type, "xfs") == 0 && !has(own, "logdev=");
	return true;
}

/* The file starts with "fc stats:\n12 commits\n". */
static bool has_fast_commits(const char *text)
{
	const char *line = strchr(text, '\n');
	uint64_t commits;

	if (!line++)
		return false;
	return canfs_parse_u64(&line, &commits) == 0 && commits > 0;
}

void canfs_fs_gather(const char *root, const char *device, struct canfs_fs_facts *fs)
{
	char path[PATH_MAX], text[256];

	if (!is_ext(fs))
		return;
	/* jbd2 names an internal log by its device and inode 8. An external log has no inode. */
	snprintf(path, sizeof(path), "%s/proc/fs/jbd2/%s-8", root, device);
	fs->journal_inside = access(path, F_OK) == 0;
	snprintf(path, sizeof(path), "/proc/fs/ext4/%s/fc_info", device);
	fs->fast_commit =
		canfs_read_file(root, path, text, sizeof(text)) > 0 && has_fast_commits(text);
}
