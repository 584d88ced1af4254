/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The commands of the control socket that only this server has: they show and steer the prefetcher. */
#ifndef CANFS_GANESHA_FSAL_CONTROL_PREFETCH_H
#define CANFS_GANESHA_FSAL_CONTROL_PREFETCH_H

#include "common/control/request.h"

/* For canfs_control_config.more, whose host is the prefetcher, or NULL: nothing is prefetched. */
extern const struct canfs_control_command canfs_prefetch_commands[];

#endif
