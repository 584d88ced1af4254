// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/interfaces.h"

#include <string.h>

#include "client-agent/auction/arithmetic.h"
#include "client-agent/kernel/interface.h"

static struct canfs_interface *find(struct canfs_interfaces *interfaces, const char *name)
{
	for (size_t i = 0; i < interfaces->n; i++) {
		if (!strcmp(interfaces->interface[i].name, name))
			return &interfaces->interface[i];
	}
	return NULL;
}

/* Returns NULL if there is no interface, or if there are too many. */
static struct canfs_interface *find_or_add(struct canfs_interfaces *interfaces, const char *name)
{
	struct canfs_interface *interface = find(interfaces, name);

	if (interface || !*name || interfaces->n == CANFS_INTERFACES_WATCHED_MAX)
		return interface;
	interface = &interfaces->interface[interfaces->n++];
	*interface = (struct canfs_interface) { 0 };
	strcpy(interface->name, name);
	canfs_own_network_init(&interface->network);
	return interface;
}

static void drop_unused(struct canfs_interfaces *interfaces)
{
	size_t kept = 0;

	for (size_t i = 0; i < interfaces->n; i++) {
		if (interfaces->interface[i].is_used)
			interfaces->interface[kept++] = interfaces->interface[i];
	}
	interfaces->n = kept;
}

static void ask_route(struct canfs_bidder *bidder, uint64_t now_usec)
{
	struct canfs_bidder_network *network = &bidder->network;

	if (now_usec < network->route_due_usec)
		return;
	network->route_due_usec = now_usec + CANFS_INTERFACES_ROUTE_USEC;
	canfs_interface_of_route(&bidder->mount.address, network->interface);
}

static void count_fetched(struct canfs_bidder *bidder, uint64_t now_usec)
{
	struct canfs_bidder_network *network = &bidder->network;
	double sec = (double)canfs_growth(now_usec, network->usec) / 1e6;
	uint64_t bytes = canfs_growth(bidder->seen.cache_fetched_bytes, network->fetched_bytes);

	if (network->usec && sec > 0)
		canfs_average_add(&network->fetched, (double)bytes / sec, sec);
	network->fetched_bytes = bidder->seen.cache_fetched_bytes;
}

/* Adds what the mount itself has moved since the last sample. */
static void count(
	struct canfs_interfaces *interfaces, struct canfs_bidder *bidder, uint64_t now_usec)
{
	struct canfs_bidder_network *network = &bidder->network;
	struct canfs_interface *interface;

	ask_route(bidder, now_usec);
	interface = find_or_add(interfaces, network->interface);
	if (interface) {
		interface->is_used = true;
		interface->in_flight_bytes += bidder->held.in_flight_bytes;
		if (network->usec)
			interface->background_bytes += canfs_growth(
				bidder->seen.background_bytes, network->background_bytes);
	}
	count_fetched(bidder, now_usec);
	network->background_bytes = bidder->seen.background_bytes;
	network->usec = now_usec;
}

static void ask_speed(struct canfs_interface *interface, const char *root, uint64_t now_usec)
{
	bool is_new = !interface->link_due_usec, has_changed, has_settled;
	uint32_t before = interface->carrier_changes;

	if (now_usec < interface->link_due_usec)
		return;
	interface->link_due_usec = now_usec + CANFS_INTERFACES_LINK_USEC;
	interface->carrier_changes =
		canfs_interface_number(root, interface->name, "carrier_changes");
	has_changed = is_new || interface->carrier_changes != before;
	has_settled = interface->settled_usec && now_usec >= interface->settled_usec;
	if (has_changed || has_settled)
		interface->mbit = canfs_interface_mbit(root, interface->name);
	if (has_changed)
		interface->settled_usec = now_usec + CANFS_INTERFACES_SETTLE_USEC;
	else if (has_settled)
		interface->settled_usec = 0;
}

static void sample(struct canfs_interface *interface, const char *root, uint64_t now_usec)
{
	struct canfs_own_network_counters counters = {
		.background_bytes = interface->background_bytes,
		.in_flight_bytes = interface->in_flight_bytes,
	};

	ask_speed(interface, root, now_usec);
	if (canfs_interface_bytes(
		    root, interface->name, &counters.received_bytes, &counters.sent_bytes))
		canfs_own_network_init(&interface->network);
	else
		canfs_own_network_add(&interface->network, &counters, now_usec);
}

static void set_prices(struct canfs_interfaces *interfaces, struct canfs_bidder *bidder)
{
	struct canfs_bidder_network *network = &bidder->network;
	const struct canfs_interface *interface = find(interfaces, network->interface);
	uint32_t mbit = bidder->terms.link_speed;
	double speed;

	network->bytes_per_sec = network->used_by_others = network->write = network->readahead = 0;
	if (!interface || !interface->network.usec)
		return;
	speed = network->bytes_per_sec = (mbit ? mbit : interface->mbit) * 1e6 / 8;
	network->used_by_others = canfs_own_network_write(&interface->network, speed);
	network->write = canfs_own_network_price(network->used_by_others, speed);
	network->readahead = canfs_own_network_price(
		canfs_own_network_readahead(&interface->network, network->fetched.value, speed),
		speed);
}

void canfs_interfaces_sample(struct canfs_interfaces *interfaces, const char *root,
	struct canfs_bidder *const bidders[], size_t n, uint64_t now_usec)
{
	for (size_t i = 0; i < interfaces->n; i++) {
		interfaces->interface[i].is_used = false;
		interfaces->interface[i].background_bytes = 0;
		interfaces->interface[i].in_flight_bytes = 0;
	}
	for (size_t i = 0; i < n; i++)
		count(interfaces, bidders[i], now_usec);
	drop_unused(interfaces);
	for (size_t i = 0; i < interfaces->n; i++)
		sample(&interfaces->interface[i], root, now_usec);
	for (size_t i = 0; i < n; i++)
		set_prices(interfaces, bidders[i]);
}
