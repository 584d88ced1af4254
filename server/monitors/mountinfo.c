// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/monitors/mountinfo.h"
#include "common/mountinfo.h"
#include "common/path.h"
#include "common/unescape.h"
#include "server/monitors/source.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/sysmacros.h>

static bool unescape(struct canfs_span span, char *buf, size_t size)
{
	return canfs_unescape(span.at, span.len, buf, size) == 0;
}

static bool parse_line(const char *line, char point[PATH_MAX], struct canfs_mountinfo_entry *mount)
{
	struct canfs_span upper = { 0 };
	struct canfs_mountinfo fields;
	unsigned int major, minor;
	uint64_t id;

	if (canfs_mountinfo_split(line, strchrnul(line, '\n'), &fields) ||
		canfs_span_number(fields.id, UINT64_MAX, &id) ||
		canfs_mountinfo_device(fields.device, &major, &minor))
		return false;
	(void)canfs_mountinfo_option(fields.own_options, "upperdir=", &upper);
	mount->device = makedev(major, minor);
	return unescape(fields.point, point, PATH_MAX) &&
	       unescape(fields.type, mount->type, sizeof(mount->type)) &&
	       unescape(fields.source, mount->source, sizeof(mount->source)) &&
	       unescape(upper, mount->upper, sizeof(mount->upper));
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
