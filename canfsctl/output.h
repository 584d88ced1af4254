/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* canfsctl's standard output. A write error is reported, so that no output is lost silently. */
#ifndef CANFS_CANFSCTL_OUTPUT_H
#define CANFS_CANFSCTL_OUTPUT_H

#include <stddef.h>
#include <jansson.h>

/*
 * Prints a value and a newline. Returns 0, or -ENOMEM if value is NULL or memory runs out; nothing
 * is printed then.
 */
int ctl_put_json(const json_t *value, size_t flags);

/*
 * Flushes standard output. ret: 0, or the -errno that made the output incomplete. Warns on an
 * error. Returns CTL_OK or CTL_ERROR.
 */
int ctl_end_output(int ret);

#endif
