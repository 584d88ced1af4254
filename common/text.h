/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Pieces of a text, and the numbers in them. */
#ifndef CANFS_COMMON_TEXT_H
#define CANFS_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of a text, without a terminating NUL. */
struct canfs_span {
	const char *at;
	size_t len;
};

bool canfs_span_is(struct canfs_span span, const char *word);

/* Cuts the next piece, which ends at separator, from *rest. Returns false if *rest is empty. */
bool canfs_span_next(struct canfs_span *rest, char separator, struct canfs_span *piece);

/* Returns 0, or -ENAMETOOLONG without copying. */
int canfs_span_copy(struct canfs_span span, char *buf, size_t size);

/* Parses a span that is one decimal number. Returns 0, or -EPROTO: no number, or above max. */
int canfs_span_number(struct canfs_span span, uint64_t max, uint64_t *value);

/*
 * Parses a decimal number at *text and moves *text past the number. Returns 0, or -EPROTO if there
 * is no digit or the number overflows; then *text and *value are unchanged. Accepts no blanks and
 * no sign.
 */
int canfs_parse_u64(const char **text, uint64_t *value);

#endif
