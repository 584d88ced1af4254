/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Running another program for a bounded time. */
#ifndef CANFS_CANFSCTL_CALIBRATE_CHILD_H
#define CANFS_CANFSCTL_CALIBRATE_CHILD_H

#define CANFS_CHILD_OUTPUT_MAX (4 << 20) /* bytes; what comes beyond is left out */

/*
 * Runs argv[0] (searched for in PATH, standard input empty) and waits for its end; after limit_sec
 * it is killed. Descriptors without FD_CLOEXEC are the program's too. Returns its exit status, 128
 * + signal if it was ended by one, and *output (to be freed) and *errors (standard error, to be
 * freed); or -ETIMEDOUT, or -errno if it could not be run (-ENOENT: not installed), and neither.
 */
int canfs_child_run(const char *const argv[], unsigned int limit_sec, char **output, char **errors);

#endif
