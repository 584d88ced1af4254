/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Words for the causes of waiting and for the waiting operations in a reply to "who"
 * (server/control.md).
 */
#ifndef CANFS_CANFSCTL_TOP_WAITS_H
#define CANFS_CANFSCTL_TOP_WAITS_H

#include <stddef.h>
#include <jansson.h>

struct canfs_wait_word {
	const char *name, *words; /* NULL: end of the table */
};

/* In the order of printing. In a tie, the first one counts. */
extern const struct canfs_wait_word canfs_wait_causes[], canfs_wait_operations[];

/* The words of the member with the most seconds. NULL: all are 0. */
const char *canfs_wait_most(const struct canfs_wait_word *words, const json_t *object);

#endif
