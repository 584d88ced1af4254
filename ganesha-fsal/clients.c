// SPDX-License-Identifier: LGPL-3.0-or-later
/* What each client does, as the control socket shows it; and how many operations are in flight, for the price service and delegations. */
#include "ganesha-fsal/canfs_methods.h"

#include <stdatomic.h>

void canfs_open_clients(const struct canfs_fsal_config *config)
{
	CANFS.clients = canfs_clients_new();
	if (config->price_port != 0)
		canfs_time_clients();
}

void canfs_time_clients(void)
{
	atomic_store(&CANFS.times_clients, true);
}

void canfs_measure_clients(void)
{
	if (CANFS.clients)
		canfs_clients_measure(CANFS.clients, canfs_now_usec());
}

double canfs_others_in_flight(void)
{
	const struct sockaddr *client = (const struct sockaddr *)op_ctx->caller_addr;

	if (!CANFS.clients || !client)
		return 0;
	canfs_measure_clients();
	return canfs_clients_others(CANFS.clients, client);
}

/*
 * A server that ends in a hurry (exit(3) in the middle of its work) unloads us while exports are
 * served: then the table stays.
 */
void canfs_close_clients(void)
{
	struct canfs_sampler_counters counters;

	if (!CANFS.clients)
		return;
	canfs_sampler_count(CANFS.sampler, &counters);
	if (counters.exports != 0)
		return;
	canfs_clients_free(CANFS.clients);
	CANFS.clients = NULL;
}

static struct canfs_timer timer_of(struct canfs_client_time *time)
{
	if (!atomic_load_explicit(&CANFS.times_clients, memory_order_relaxed))
		return (struct canfs_timer) { 0 };
	return (struct canfs_timer) { .time = time, .begun_usec = canfs_now_usec() };
}

/* What was asked for: what comes of it is known elsewhere and later, without the caller. */
struct canfs_timer canfs_count_client(enum canfs_client_op op, const struct fsal_io_arg *io)
{
	const struct sockaddr *client = (const struct sockaddr *)op_ctx->caller_addr;

	if (!CANFS.clients || !client)
		return (struct canfs_timer) { 0 };
	return timer_of(canfs_clients_count(CANFS.clients, client, op, canfs_bytes_of(io)));
}

struct canfs_timer canfs_start_timer(void)
{
	const struct sockaddr *client = (const struct sockaddr *)op_ctx->caller_addr;

	if (!atomic_load_explicit(&CANFS.times_clients, memory_order_relaxed) || !client)
		return (struct canfs_timer) { 0 };
	return timer_of(canfs_clients_time(CANFS.clients, client));
}
