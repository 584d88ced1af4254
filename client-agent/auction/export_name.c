// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/auction/export_name.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

int canfs_export_name_parse(const char *text, struct canfs_export_name *name)
{
	const char *host = text;
	const char *end;

	if (*text == '[') {
		host++;
		end = strchr(host, ']');
		if (!end || end[1] != ':')
			return -EINVAL;
		name->path = end + 2;
	} else {
		end = strchr(host, ':');
		if (!end)
			return -EINVAL;
		name->path = end + 1;
	}
	const size_t len = (size_t)(end - host);

	if (len == 0 || len > CANFS_HOST_MAX || memchr(host, '/', len))
		return -EINVAL;
	/* A tag. A name with a colon would be an IPv6 address without brackets. */
	if (*name->path != '/' && (*name->path == '\0' || strchr(name->path, ':')))
		return -EINVAL;
	memcpy(name->host, host, len);
	name->host[len] = '\0';
	return 0;
}
