// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/scheduler/policies.h"

#include <string.h>

#define ADDRESS(policy, name) &canfs_##policy,
const struct canfs_policy *const canfs_policies[] = { CANFS_POLICY_ROWS(ADDRESS) NULL };

const struct canfs_policy *canfs_policy_named(const char *name)
{
	for (size_t i = 0; canfs_policies[i]; i++) {
		if (strcmp(canfs_policies[i]->name, name) == 0)
			return canfs_policies[i];
	}
	return NULL;
}
