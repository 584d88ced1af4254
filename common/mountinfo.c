// SPDX-License-Identifier: LGPL-3.0-or-later
#include "common/mountinfo.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

int canfs_mountinfo_split(const char *line, const char *end, struct canfs_mountinfo *mount)
{
	struct canfs_span rest = { line, (size_t)(end - line) }, parent, root, tag;

	*mount = (struct canfs_mountinfo) { 0 };
	if (!canfs_span_next(&rest, ' ', &mount->id) || !canfs_span_next(&rest, ' ', &parent) ||
		!canfs_span_next(&rest, ' ', &mount->device) ||
		!canfs_span_next(&rest, ' ', &root) ||
		!canfs_span_next(&rest, ' ', &mount->point) ||
		!canfs_span_next(&rest, ' ', &mount->options))
		return -EPROTO;
	do {
		if (!canfs_span_next(&rest, ' ', &tag))
			return -EPROTO;
	} while (!canfs_span_is(tag, "-"));
	if (!canfs_span_next(&rest, ' ', &mount->type))
		return -EPROTO;
	(void)canfs_span_next(&rest, ' ', &mount->source);
	mount->own_options = rest;
	return 0;
}

int canfs_mountinfo_device(struct canfs_span device, unsigned int *major, unsigned int *minor)
{
	struct canfs_span first;
	uint64_t a, b;

	if (!canfs_span_next(&device, ':', &first) || canfs_span_number(first, UINT_MAX, &a) ||
		canfs_span_number(device, UINT_MAX, &b))
		return -EPROTO;
	*major = (unsigned int)a;
	*minor = (unsigned int)b;
	return 0;
}

bool canfs_mountinfo_option(struct canfs_span options, const char *name, struct canfs_span *value)
{
	const size_t len = strlen(name);
	const bool has_value = name[len - 1] == '=';
	struct canfs_span option;

	while (canfs_span_next(&options, ',', &option)) {
		if (option.len < len || memcmp(option.at, name, len) != 0 ||
			has_value != (option.len > len))
			continue;
		if (value)
			*value = (struct canfs_span) { option.at + len, option.len - len };
		return true;
	}
	return false;
}
