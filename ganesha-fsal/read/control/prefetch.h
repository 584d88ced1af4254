/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The control socket's commands that only the plugin has: they show and steer the prefetcher. */
#ifndef CANFS_GANESHA_FSAL_READ_CONTROL_PREFETCH_H
#define CANFS_GANESHA_FSAL_READ_CONTROL_PREFETCH_H

#include "common/control/request.h"

/* For canfs_feature.commands. Their host is the prefetcher, or NULL if nothing is prefetched. */
extern const struct canfs_control_command canfs_prefetch_commands[];

#endif
