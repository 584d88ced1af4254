/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_COMMON_UNESCAPE_H
#define CANFS_COMMON_UNESCAPE_H

#include <stddef.h>

/*
 * Undoes the octal escapes of mountinfo and mountstats (\040: blank, tab, newline, backslash, and the comma in an
 * option's value) from text[0 ... len) into buf. \000 stays as it is. 0, or -ENAMETOOLONG.
 */
int canfs_unescape(const char *text, size_t len, char *buf, size_t size);

#endif
