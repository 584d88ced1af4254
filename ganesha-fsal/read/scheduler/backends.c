// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/scheduler/backend.h"

const struct canfs_backend *const canfs_backends[] = { &canfs_ring, &canfs_workers, NULL };
