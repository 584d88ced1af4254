// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/monitors/mountinfo.h"
#include "common/path.h"
#include "common/unescape.h"
#include "server/monitors/source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/sysmacros.h>

/* The next word of a line. Its length is 0 at the end of the line. */
static const char *next_word(const char **cursor, size_t *len)
{
	const char *word = *cursor + strspn(*cursor, " ");

	*len = strcspn(word, " \n");
	*cursor = word + *len;
	return word;
}

/* Finds the value of an option in a comma-separated list. Returns its length, or 0. */
static size_t find_option(const char **options, size_t len, const char *name)
{
	const char *end = *options + len;
	const size_t name_len = strlen(name);

	for (const char *option = *options; option < end;) {
		const char *comma = memchr(option, ',', (size_t)(end - option));
		size_t here = (size_t)((comma ? comma : end) - option);

		if (here > name_len && memcmp(option, name, name_len) == 0) {
			*options = option + name_len;
			return here - name_len;
		}
		option += here + 1;
	}
	return 0;
}

/* 36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/root rw,errors=continue */
static bool parse_line(const char *line, char point[PATH_MAX], struct canfs_mountinfo_entry *mount)
{
	uint64_t id, parent, first, second;
	const char *word, *options;
	size_t len;

	*mount = (struct canfs_mountinfo_entry) { .device = 0 };
	if (!canfs_parse_number(&line, &id) || !canfs_parse_number(&line, &parent) ||
		!canfs_parse_number(&line, &first) || *line++ != ':' ||
		!canfs_parse_number(&line, &second) || first > UINT32_MAX || second > UINT32_MAX)
		return false;
	mount->device = makedev((unsigned int)first, (unsigned int)second);
	(void)next_word(&line, &len);
	word = next_word(&line, &len);
	if (len == 0 || canfs_unescape(word, len, point, PATH_MAX) != 0)
		return false;
	do
		word = next_word(&line, &len);
	while (len != 0 && !(len == 1 && *word == '-'));
	word = next_word(&line, &len);
	if (len == 0 || canfs_unescape(word, len, mount->type, sizeof(mount->type)) != 0)
		return false;
	word = next_word(&line, &len);
	if (canfs_unescape(word, len, mount->source, sizeof(mount->source)) != 0)
		return false;
	options = next_word(&line, &len);
	len = find_option(&options, len, "upperdir=");
	return canfs_unescape(options, len, mount->upper, sizeof(mount->upper)) == 0;
}

int canfs_find_mount(const char *text, const char *path, struct canfs_mountinfo_entry *mount)
{
	struct canfs_mountinfo_entry here;
	char point[PATH_MAX];
	size_t longest = 0;

	for (; *text != '\0'; text = canfs_next_line(text)) {
		size_t len;

		if (!parse_line(text, point, &here))
			continue;
		len = strlen(point);
		if (len == 0 || len < longest || !canfs_path_is_below(path, point))
			continue;
		longest = len;
		*mount = here;
	}
	return longest > 0 ? 0 : -ENODATA;
}
