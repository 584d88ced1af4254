// SPDX-License-Identifier: LGPL-3.0-or-later
#include "common/unescape.h"

#include <errno.h>

/* Returns the byte of \ooo at p, or -1. */
static int octal_escape(const char *p, size_t len)
{
	if (len < 4 || p[0] != '\\' || p[1] < '0' || p[1] > '3')
		return -1;
	if (p[2] < '0' || p[2] > '7' || p[3] < '0' || p[3] > '7')
		return -1;
	return (p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0');
}

int canfs_unescape(const char *text, size_t len, char *buf, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len; n++) {
		int byte = octal_escape(text + i, len - i);
		if (n + 1 >= size)
			return -ENAMETOOLONG;
		buf[n] = byte > 0 ? (char)byte : text[i];
		i += byte > 0 ? 4 : 1;
	}
	if (size == 0)
		return -ENAMETOOLONG;
	buf[n] = '\0';
	return 0;
}
