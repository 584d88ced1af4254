// SPDX-License-Identifier: LGPL-3.0-or-later
/* The options for reads in the CANFS { } block and in an export's FSAL { } block. */
#include "ganesha-fsal/read/read.h"

#include <stdio.h>

#include "ganesha-fsal/read/scheduler/policies.h"

/* 0: by the type of the device. Otherwise one more than the policy's number in canfs_policies[]. */
#define AUTO                       0
#define POLICY_TOKEN(policy, name) CONFIG_LIST_TOK(name, CANFS_POLICY_##policy + 1),
static struct config_item_list scheduler_names[] = { CONFIG_LIST_TOK("auto", AUTO),
	CANFS_POLICY_ROWS(POLICY_TOKEN) CONFIG_LIST_EOL };

#define READ_UI32(name, min, max, def, member)                                                     \
	CONF_ITEM_UI32(name, min, max, def, canfs_read_options, member)

struct config_item canfs_read_items[] = {
	CONF_ITEM_BOOL("Prefetch", true, canfs_read_options, prefetch),
	READ_UI32("Prefetch_Files", 64, 16777216, 1000000, files),
	CONF_ITEM_TOKEN("Scheduler", AUTO, scheduler_names, canfs_read_options, scheduler),
	READ_UI32("Lag_Kib", 64, 1048576, 2048, lag_kib),
	CONFIG_EOL,
};

/* Up to version 1.0. */
const struct canfs_retired_option canfs_read_retired[] = {
	{ "Prefetch_Open_Files", "it is always 1024" },
	{ "Scheduler_Depth", "it follows from the type of the disk" },
	{ NULL, NULL },
};

struct config_item canfs_read_export_items[] = {
	CONF_ITEM_BOOLBIT_SET(
		"Prefetch", true, 1, canfs_read_export_options, prefetch, prefetch_given),
	CONFIG_EOL,
};

bool canfs_read_settle(void *own)
{
	struct canfs_read_options *options = own;

	options->prefetcher = (struct canfs_prefetcher_config) { .files = options->files,
		.open_max = CANFS_OPEN_FILES_MAX,
		.lag_bytes = options->lag_kib << 10 };
	if (options->scheduler != AUTO)
		snprintf(options->prefetcher.policy, sizeof(options->prefetcher.policy), "%s",
			scheduler_names[options->scheduler].token);
	return true;
}
