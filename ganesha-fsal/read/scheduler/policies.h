/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The policies: one row and one file of that name for each. The configuration, the control socket
 * and the tests derive their lists from these rows. A name has at most 15 characters. Its examples go
 * into tests/unit/test_policies.c, its description into ganesha-canfs-config(8) and doc/prefetch.md.
 */
#ifndef CANFS_GANESHA_FSAL_READ_SCHEDULER_POLICIES_H
#define CANFS_GANESHA_FSAL_READ_SCHEDULER_POLICIES_H

#include "ganesha-fsal/read/scheduler/policy.h"

/* The name in C, and the name for the administrator. */
#define CANFS_POLICY_ROWS(row)                                                                     \
	row(fifo, "fifo") row(elevator, "elevator") row(n_cscan, "n-cscan") row(none, "none")

#define CANFS_POLICY_DECLARE(policy, name) extern const struct canfs_policy canfs_##policy;
CANFS_POLICY_ROWS(CANFS_POLICY_DECLARE)

/* In the order of canfs_policies[]. */
#define CANFS_POLICY_NUMBER(policy, name) CANFS_POLICY_##policy,
enum canfs_policy_number { CANFS_POLICY_ROWS(CANFS_POLICY_NUMBER) CANFS_POLICY_COUNT };

#endif
