// SPDX-License-Identifier: LGPL-3.0-or-later
/* The control socket in Ganesha: its life. */
#include "ganesha-fsal/canfs_methods.h"
#include "common/control/socket.h"
#include "ganesha-fsal/control/prefetch.h"

#include <errno.h>
#include <string.h>

static void say(const char *message)
{
	LogEvent(COMPONENT_FSAL, "CANFS: %s", message);
}

static void name_thread(void)
{
	canfs_name_thread("canfs_control");
}

/* What is promised of writes: delegations, and errors that clients were told. */
static void count(json_t *counters)
{
	const struct canfs_delegation_counters delegations = canfs_count_delegations();

	json_object_update_new(
		counters, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "delegating_exports",
				  (json_int_t)delegations.exports, "delegations",
				  (json_int_t)delegations.now.held, "delegations_granted",
				  (json_int_t)delegations.now.granted, "delegations_refused",
				  (json_int_t)delegations.now.refused, "delegations_recalled",
				  (json_int_t)delegations.now.recalled, "write_errors",
				  (json_int_t)canfs_count_write_errors()));
}

void canfs_start_control(const char *path)
{
	struct canfs_control_config config = {
		.path = path,
		.sampler = CANFS.sampler,
		.clients = CANFS.clients,
		.waiting = CANFS.waiting,
		.classes = &CANFS.classes,
		.price_service = CANFS.price_service,
		.more = canfs_prefetch_commands,
		.host = CANFS.prefetcher,
		.count = count,
		.say = say,
		.thread_begins = name_thread,
	};
	int ret;

	if (!path || path[0] == '\0') {
		say("no control socket: Control_Socket is empty");
		return;
	}
	ret = config.clients ? canfs_control_start(&CANFS.control, &config) : -ENOMEM;
	if (ret != 0)
		LogWarn(COMPONENT_FSAL, "CANFS: no control socket at %s: %s", path,
			canfs_socket_reason(ret));
}

void canfs_stop_control(void)
{
	if (!CANFS.control)
		return;
	canfs_control_stop(CANFS.control);
	CANFS.control = NULL;
}
