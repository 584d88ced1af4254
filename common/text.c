// SPDX-License-Identifier: LGPL-3.0-or-later
#include "common/text.h"

#include <errno.h>
#include <string.h>

bool canfs_span_is(struct canfs_span span, const char *word)
{
	return span.len == strlen(word) && memcmp(span.at, word, span.len) == 0;
}

bool canfs_span_next(struct canfs_span *rest, char separator, struct canfs_span *piece)
{
	if (rest->len == 0)
		return false;
	const char *end = memchr(rest->at, separator, rest->len);
	size_t len = end ? (size_t)(end - rest->at) : rest->len;

	*piece = (struct canfs_span) { rest->at, len };
	rest->at += end ? len + 1 : len;
	rest->len -= end ? len + 1 : len;
	return true;
}

int canfs_span_copy(struct canfs_span span, char *buf, size_t size)
{
	if (span.len >= size)
		return -ENAMETOOLONG;
	memcpy(buf, span.at, span.len);
	buf[span.len] = '\0';
	return 0;
}

int canfs_span_number(struct canfs_span span, uint64_t max, uint64_t *value)
{
	char digits[21];
	const char *p = digits;

	if (canfs_span_copy(span, digits, sizeof(digits)) || canfs_parse_u64(&p, value) || *p ||
		*value > max)
		return -EPROTO;
	return 0;
}

int canfs_parse_u64(const char **text, uint64_t *value)
{
	const char *p = *text;
	uint64_t v = 0;

	if (*p < '0' || *p > '9')
		return -EPROTO;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -EPROTO;
	}
	*text = p;
	*value = v;
	return 0;
}
