/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The words for what makes clients wait, and for what waits, of a reply to "who" (server/control.md). */
#ifndef CANFS_CANFSCTL_TOP_WAITS_H
#define CANFS_CANFSCTL_TOP_WAITS_H

#include <stddef.h>
#include <jansson.h>

struct canfs_wait_word {
	const char *name, *words; /* a NULL name ends a table */
};

/* In the order in which they are said. */
extern const struct canfs_wait_word canfs_wait_causes[], canfs_wait_operations[];

/* Of an object with these members the one of the most seconds; NULL: of none there are any. */
const char *canfs_wait_most(const struct canfs_wait_word *words, const json_t *object);

#endif
