/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Shared by the pages: reading replies, and the screen size from which less important parts are
 * shown.
 */
#ifndef CANFS_CANFSCTL_TOP_REPLY_H
#define CANFS_CANFSCTL_TOP_REPLY_H

#include <stdbool.h>
#include <jansson.h>

#define CANFS_WIDE 110 /* columns */
#define CANFS_TALL 36  /* rows */

static inline const json_t *in(const json_t *object, const char *name)
{
	return json_object_get(object, name);
}

static inline bool is_true(const json_t *object, const char *name)
{
	return json_is_true(in(object, name));
}

static inline int length_of(const json_t *array)
{
	return (int)json_array_size(array);
}

static inline int at_most(int value, int most)
{
	return value < most ? value : most;
}

#endif
