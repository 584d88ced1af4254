/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What canfsctl says on standard output: all of it, or an error. */
#ifndef CANFS_CANFSCTL_OUTPUT_H
#define CANFS_CANFSCTL_OUTPUT_H

#include <stddef.h>
#include <jansson.h>

/* A value and a newline. 0, or -ENOMEM (also for NULL, what could not be made), and nothing is said. */
int ctl_put_json(const json_t *value, size_t flags);

/* ret: 0, or why something is missing. Flushes, and warns if not all could be said. CTL_OK or CTL_ERROR. */
int ctl_end_output(int ret);

#endif
