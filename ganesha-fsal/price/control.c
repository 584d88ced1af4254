// SPDX-License-Identifier: LGPL-3.0-or-later
/* Starts and stops the control socket in Ganesha. */
#include "ganesha-fsal/price/price.h"
#include "common/control/socket.h"

#include <errno.h>
#include <string.h>

#include <jansson.h>

static void name_thread(void)
{
	canfs_name_thread("canfs_control");
}

static void count(json_t *counters)
{
	CANFS_TELL(count, counters);
}

/* Returns the one feature that has commands of its own, or NULL. */
static const struct canfs_feature *find_commands(void)
{
	for (int i = 0; i < CANFS_FEATURES; i++) {
		if (canfs_features[i]->commands)
			return canfs_features[i];
	}
	return NULL;
}

void canfs_start_control(const char *path)
{
	const struct canfs_feature *other = find_commands();
	struct canfs_control_config config = {
		.path = path,
		.sampler = canfs_pricing.sampler,
		.clients = canfs_pricing.clients,
		.waiting = canfs_pricing.waiting,
		.classes = &canfs_pricing.classes,
		.price_service = canfs_pricing.service,
		.more = other ? other->commands : NULL,
		.host = other ? other->command_host() : NULL,
		.count = count,
		.say = canfs_log_event,
		.thread_begins = name_thread,
	};
	int ret;

	if (!path || path[0] == '\0') {
		canfs_log_event("no control socket: Control_Socket is empty");
		return;
	}
	ret = config.clients ? canfs_control_start(&canfs_pricing.control, &config) : -ENOMEM;
	if (ret != 0)
		LogWarn(COMPONENT_FSAL, "CANFS: no control socket at %s: %s", path,
			canfs_socket_reason(ret));
}

void canfs_stop_control(void)
{
	if (!canfs_pricing.control)
		return;
	canfs_control_stop(canfs_pricing.control);
	canfs_pricing.control = NULL;
}
