/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Runs another program for a limited time. */
#ifndef CANFS_CANFSCTL_CALIBRATE_CHILD_H
#define CANFS_CANFSCTL_CALIBRATE_CHILD_H

#define CANFS_CHILD_OUTPUT_MAX (4 << 20) /* bytes; further output is dropped */

/*
 * Runs argv[0], which is looked up in PATH, with empty standard input, and waits until it exits.
 * Kills it after limit_sec. The program inherits descriptors without FD_CLOEXEC. Returns the exit
 * status, or 128 + signal if a signal killed the program. Then *output and *errors hold standard
 * output and standard error; the caller frees them. Otherwise returns -ETIMEDOUT, or -errno if the
 * program cannot run (-ENOENT: not installed), and sets both to NULL.
 */
int canfs_child_run(const char *const argv[], unsigned int limit_sec, char **output, char **errors);

#endif
