/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_COMMON_UNESCAPE_H
#define CANFS_COMMON_UNESCAPE_H

#include <stddef.h>

/*
 * Decodes the octal escapes of mountinfo and mountstats (\040) from text[0 ... len) into buf. They
 * stand for blank, tab, newline, backslash, and a comma in an option's value. \000 is not decoded.
 * Returns 0, or -ENAMETOOLONG if buf is too small.
 */
int canfs_unescape(const char *text, size_t len, char *buf, size_t size);

#endif
