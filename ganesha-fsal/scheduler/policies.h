/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The policies, each in the file of its name; policies.c has their table. */
#ifndef CANFS_GANESHA_FSAL_SCHEDULER_POLICIES_H
#define CANFS_GANESHA_FSAL_SCHEDULER_POLICIES_H

#include "ganesha-fsal/scheduler/policy.h"

extern const struct canfs_policy canfs_fifo, canfs_elevator, canfs_n_cscan, canfs_lag, canfs_none;

#endif
