// SPDX-License-Identifier: LGPL-3.0-or-later
/* The control socket in Ganesha: its life, and the counting of clients. */
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

void canfs_start_control(const char *path)
{
	struct canfs_control_config config = {
		.path = path,
		.sampler = CANFS.sampler,
		.classes = &CANFS.classes,
		.price_service = CANFS.price_service,
		.more = canfs_prefetch_commands,
		.host = CANFS.prefetcher,
		.say = say,
		.thread_begins = name_thread,
	};
	int ret = -ENOMEM;

	if (!path || path[0] == '\0') {
		say("no control socket: Control_Socket is empty");
		return;
	}
	config.clients = canfs_clients_new();
	if (config.clients)
		ret = canfs_control_start(&CANFS.control, &config);
	if (ret == 0) {
		CANFS.clients = config.clients;
		return;
	}
	canfs_clients_free(config.clients);
	LogWarn(COMPONENT_FSAL, "CANFS: no control socket at %s: %s", path,
		canfs_socket_reason(ret));
}

/*
 * A server that ends in a hurry (exit(3) in the middle of its work) unloads us while exports are
 * served: then the table stays.
 */
void canfs_stop_control(void)
{
	struct canfs_sampler_counters counters;

	if (!CANFS.control)
		return;
	canfs_control_stop(CANFS.control);
	CANFS.control = NULL;
	canfs_sampler_count(CANFS.sampler, &counters);
	if (counters.exports != 0)
		return;
	canfs_clients_free(CANFS.clients);
	CANFS.clients = NULL;
}

/* What was asked for: what comes of it is known elsewhere and later, without the caller. */
void canfs_count_client(enum canfs_client_op op, const struct fsal_io_arg *io)
{
	uint64_t bytes = 0;

	if (!CANFS.clients || !op_ctx->caller_addr)
		return;
	for (int i = 0; i < io->iov_count; i++)
		bytes += io->iov[i].iov_len;
	canfs_clients_count(CANFS.clients, (const struct sockaddr *)op_ctx->caller_addr, op, bytes);
}
