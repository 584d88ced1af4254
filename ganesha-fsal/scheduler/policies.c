// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/scheduler/policies.h"

#include <string.h>

const struct canfs_policy *const canfs_policies[] = { &canfs_fifo, &canfs_elevator, &canfs_n_cscan,
	&canfs_lag, &canfs_none, NULL };

const struct canfs_policy *canfs_policy_named(const char *name)
{
	for (size_t i = 0; canfs_policies[i] != NULL; i++) {
		if (strcmp(canfs_policies[i]->name, name) == 0)
			return canfs_policies[i];
	}
	return NULL;
}
