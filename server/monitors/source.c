// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/monitors/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/file.h"
#include "common/hash.h"
#include "common/text.h"

int canfs_read_source(const char *root, const char *path, char *text, size_t size)
{
	int fd = canfs_open_below(root, path);

	if (fd < 0)
		return fd;
	ssize_t len = canfs_read_up_to(fd, text, size - 1);
	text[len > 0 ? len : 0] = '\0';
	close(fd);
	return (int)len;
}

bool canfs_parse_number(const char **cursor, uint64_t *number)
{
	*cursor += strspn(*cursor, " \t");
	return canfs_parse_u64(cursor, number) == 0;
}

bool canfs_parse_count(const char **cursor, uint64_t *number)
{
	return canfs_parse_number(cursor, number) && *number <= INT64_MAX;
}

void canfs_skip_number(const char **cursor)
{
	*cursor += strspn(*cursor, " \t");
	*cursor += strcspn(*cursor, " \t\n");
}

const char *canfs_find_named(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; *line != '\0'; line = canfs_next_line(line)) {
		if (strncmp(line, name, len) == 0)
			return line + len;
	}
	return NULL;
}

bool canfs_parse_named(const char *text, const char *name, uint64_t *number)
{
	const char *cursor = canfs_find_named(text, name);

	return cursor && canfs_parse_count(&cursor, number);
}

static uint64_t hash_text(uint64_t hash, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = canfs_hash(hash ^ (unsigned char)text[i]);
	return hash;
}

/* False: reported before, or the table is full. */
static bool is_new(struct canfs_said *said, const char *path, const char *line)
{
	uint64_t hash = hash_text(hash_text(0, path, strlen(path)), line, strcspn(line, " :\n"));

	for (size_t i = 0; i < said->count; i++) {
		if (said->lines[i] == hash)
			return false;
	}
	if (said->count == CANFS_SAID_MAX)
		return false;
	said->lines[said->count++] = hash;
	return true;
}

void canfs_say_once(struct canfs_said *said, const char *of, const char *message)
{
	if (said->say && is_new(said, of, ""))
		said->say(message);
}

void canfs_say_unusable(struct canfs_said *said, const char *path, const char *line)
{
	char message[256];
	int len;

	if (line)
		line += strspn(line, " \t\n");
	if (!line)
		line = "";
	if (!said->say || !is_new(said, path, line))
		return;
	len = (int)strcspn(line, "\n");
	if (len == 0)
		snprintf(message, sizeof(message), "%.128s is empty or truncated: ignored", path);
	else
		snprintf(message, sizeof(message), "%.128s: cannot use the line \"%.*s\"", path,
			len > 96 ? 96 : len, line);
	said->say(message);
}

void canfs_say_unusable_names(
	struct canfs_said *said, const char *path, const char *text, const char *const *names)
{
	uint64_t number;

	if (text[strspn(text, " \t\n")] == '\0') {
		canfs_say_unusable(said, path, NULL);
		return;
	}
	for (; *names; names++) {
		const char *found = canfs_find_named(text, *names);

		if (!canfs_parse_named(text, *names, &number))
			canfs_say_unusable(said, path, found ? found - strlen(*names) : *names);
	}
}

static int grow(char **text, size_t *size, size_t to)
{
	char *larger = realloc(*text, to);

	if (!larger)
		return -ENOMEM;
	*text = larger;
	*size = to;
	return 0;
}

int canfs_read_whole_source(
	const char *root, const char *path, char **text, size_t *size, size_t max)
{
	int ret = *size == 0 ? grow(text, size, 16384) : 0;

	if (ret == 0)
		ret = canfs_read_source(root, path, *text, *size);
	while (ret >= 0 && (size_t)ret + 1 == *size && *size < max) {
		ret = grow(text, size, *size * 2);
		if (ret == 0)
			ret = canfs_read_source(root, path, *text, *size);
	}
	if (ret >= 0 && (size_t)ret + 1 == *size) {
		char *end = strrchr(*text, '\n');

		*(end ? end + 1 : *text) = '\0';
	}
	return ret;
}

const char *canfs_next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}
