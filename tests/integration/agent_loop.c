// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * agent_loop ROOT CONFIG: the agent's loop on a /proc that the test has written, in observe mode, so
 * that it can be tried on real servers where no kernel could mount from them.
 */
#include <stdio.h>

#include "client-agent/config/config.h"
#include "client-agent/loop.h"

int main(int argc, char **argv)
{
	struct canfs_loop_options options = { .mode = CANFS_OBSERVE };
	struct canfs_agent_config config;
	char error[CANFS_OPTIONS_ERROR_MAX];

	if (argc != 3)
		return 2;
	options.root = argv[1];
	canfs_config_defaults(&config);
	if (canfs_config_parse_file(&config, argv[2], error)) {
		fprintf(stderr, "%s\n", error);
		return 2;
	}
	return canfs_loop_run(&config, &options) ? 1 : 0;
}
