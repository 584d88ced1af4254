// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Finds the local file systems of an NFS server, from their lines in mountinfo and from what the
 * kernel shows of ext4's log. Superblocks are not read, since that could wait for a disk.
 *
 *	25 1 8:1 / /srv rw,noatime shared:1 - ext4 /dev/sda1 rw,nobarrier
 *	     |     |    |                      |              |
 *	     device     options of the mount   type           options of the file system
 */
#include "canfsctl/doctor/facts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "client-agent/kernel/procfs.h"

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

/* Is name one of the comma-separated options? If name ends in '=', any value matches. */
static bool has_option(const char *options, const char *end, const char *name)
{
	const size_t len = strlen(name);

	while (options < end) {
		const char *comma = memchr(options, ',', (size_t)(end - options));
		const size_t option_len = (size_t)((comma ? comma : end) - options);

		if ((option_len == len || (option_len > len && name[len - 1] == '=')) &&
			memcmp(options, name, len) == 0)
			return true;
		options += option_len + 1;
	}
	return false;
}

/* Skips a word and the blank after it. NULL: the line has ended. */
static const char *skip_word(const char *p, const char *end)
{
	const char *blank = p < end ? memchr(p, ' ', (size_t)(end - p)) : NULL;

	return blank ? blank + 1 : NULL;
}

/* Copies, cutting to size. */
static void copy(char *to, size_t size, const char *from, const char *end)
{
	snprintf(to, size, "%.*s", end - from < INT_MAX ? (int)(end - from) : INT_MAX, from);
}

static bool parse_number(const char *line, struct canfs_bdi *device)
{
	uint64_t id, parent, major, minor;

	if (canfs_parse_u64(&line, &id) || *line++ != ' ' || canfs_parse_u64(&line, &parent) ||
		*line++ != ' ' || canfs_parse_u64(&line, &major) || *line++ != ':' ||
		canfs_parse_u64(&line, &minor) || *line != ' ')
		return false;
	*device = (struct canfs_bdi) { (unsigned int)major, (unsigned int)minor };
	return major <= UINT_MAX && minor <= UINT_MAX;
}

bool canfs_local_fs_parse(const char *line, const char *end, struct canfs_fs_facts *fs)
{
	const char *dash = memmem(line, (size_t)(end - line), " - ", 3);
	const char *type = dash ? dash + 3 : NULL;
	const char *source = skip_word(type ? type : end, end), *options = line;
	const char *own = source ? skip_word(source, end) : NULL, *mountpoint = NULL;

	*fs = (struct canfs_fs_facts) { 0 };
	if (!source || source - 1 - type >= (ptrdiff_t)sizeof(fs->type) ||
		!parse_number(line, &fs->device))
		return false;
	copy(fs->type, sizeof(fs->type), type, source - 1);
	for (int word = 0; word < 5 && options; word++) {
		mountpoint = options;
		options = skip_word(options, dash + 1);
	}
	line = options ? skip_word(options, dash + 1) : NULL;
	if (!is_local(fs->type) || !line)
		return false;
	copy(fs->mountpoint, sizeof(fs->mountpoint), mountpoint, options - 1);
	own = own ? own : end;
	fs->no_barrier = has_option(own, end, "nobarrier") || has_option(own, end, "barrier=0");
	/* relatime updates access times once a day and after a change. */
	fs->stamps_reads = !has_option(options, line - 1, "relatime") &&
			   !has_option(options, line - 1, "noatime") &&
			   !has_option(options, line - 1, "ro") && !has_option(own, end, "ro");
	fs->journal_inside = strcmp(fs->type, "xfs") == 0 && !has_option(own, end, "logdev=");
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
