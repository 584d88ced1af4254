// SPDX-License-Identifier: LGPL-3.0-or-later
/* The busiest direction of the busiest interface: a reply goes out through one of them. */
#include "server/monitors/monitors.h"
#include "server/monitors/source.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Asking an interface for its speed takes the kernel's network lock (rtnl), which a process that configures
 * interfaces may hold for seconds: until then there would be no prices. So it is asked when a link went up or
 * down, which can be seen without the lock, and once more when its driver must have settled. What else may
 * change a speed (ethtool on a virtual card) is rare, and found late.
 */
#define SAMPLE_SEC       1.0
#define SPEED_SETTLE_SEC 10.0
#define SPEED_STANDS_SEC 600.0

struct interface {
	struct canfs_interface_bytes last;
	double bytes_per_sec; /* 0: not known */
};

struct network {
	const struct canfs_monitor_setup *setup;
	struct interface interfaces[CANFS_INTERFACES_MAX];
	size_t count;
	double until_sample_sec;
	double until_ask_sec;
	uint64_t carrier_changes; /* of all watched: a bond's speed is its members' */
};

int canfs_parse_net_dev(
	const char *text, struct canfs_interface_bytes *interfaces, size_t max, size_t *count)
{
	size_t n = 0;

	/* Two lines of headings, then "  eth0: rx_bytes and 7 more, tx_bytes and 7 more". */
	if (strncmp(text, "Inter-|", 7) != 0)
		return -EPROTO;
	text = canfs_next_line(canfs_next_line(text));
	for (; *text != '\0' && n < max; text = canfs_next_line(text)) {
		const char *name = text + strspn(text, " ");
		const char *colon = name + strcspn(name, ":\n");
		const char *cursor = colon + 1;
		uint64_t field[9];
		size_t fields = 0;

		if (*colon != ':' || colon == name || colon - name >= IF_NAMESIZE)
			continue;
		while (fields < 9 && canfs_parse_number(&cursor, &field[fields]))
			fields++;
		if (fields < 9)
			continue;
		memset(interfaces[n].name, 0, sizeof(interfaces[n].name));
		memcpy(interfaces[n].name, name, (size_t)(colon - name));
		interfaces[n].received_bytes = field[0];
		interfaces[n].sent_bytes = field[8];
		n++;
	}
	*count = n;
	return 0;
}

int canfs_network_open(void **state, const struct canfs_monitor_setup *setup)
{
	struct network *network = calloc(1, sizeof(*network));

	if (!network)
		return -ENOMEM;
	network->setup = setup;
	network->until_ask_sec = SPEED_SETTLE_SEC;
	*state = network;
	return 0;
}

void canfs_network_close(void *state)
{
	free(state);
}

static bool is_watched(const struct canfs_monitor_setup *setup, const char *name)
{
	if (setup->interface_count == 0)
		return true;
	for (size_t i = 0; i < setup->interface_count; i++) {
		if (strcmp(name, setup->interfaces[i]) == 0)
			return true;
	}
	return false;
}

/* Bonds count, their members too; bridges and tunnels do not: they claim any speed, or 10 Mbit/s. */
static bool is_real(const char *root, const char *name)
{
	char device[PATH_MAX], bonding[PATH_MAX];

	snprintf(device, sizeof(device), "%s/sys/class/net/%s/device", root, name);
	snprintf(bonding, sizeof(bonding), "%s/sys/class/net/%s/bonding", root, name);
	return access(device, F_OK) == 0 || access(bonding, F_OK) == 0;
}

/* 0 if nobody knows: a virtual interface, or one without carrier (the kernel says -1 then). */
static double speed_bytes_per_sec(const struct canfs_monitor_setup *setup, const char *name)
{
	uint64_t mbit_per_sec = setup->link_mbit_per_sec;
	char path[PATH_MAX], text[32];
	const char *cursor = text;

	if (setup->interface_count == 0 && !is_real(setup->root, name))
		return 0;
	if (mbit_per_sec == 0) {
		snprintf(path, sizeof(path), "/sys/class/net/%s/speed", name);
		if (canfs_read_source(setup->root, path, text, sizeof(text)) < 0 ||
			!canfs_parse_number(&cursor, &mbit_per_sec))
			return 0;
	}
	return (double)mbit_per_sec * 1e6 / 8;
}

static uint64_t count_carrier_changes(const struct network *network)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < network->count; i++) {
		char path[PATH_MAX], text[32];
		const char *cursor = text;
		uint64_t changes;

		snprintf(path, sizeof(path), "/sys/class/net/%s/carrier_changes",
			network->interfaces[i].last.name);
		if (canfs_read_source(network->setup->root, path, text, sizeof(text)) > 0 &&
			canfs_parse_number(&cursor, &changes))
			sum += changes;
	}
	return sum;
}

/* Are the speeds to be asked for again? */
static bool speeds_are_old(struct network *network, double elapsed_sec)
{
	bool due, changed = false;

	network->until_ask_sec -= elapsed_sec;
	network->until_sample_sec -= elapsed_sec;
	if (network->until_sample_sec <= 0) {
		uint64_t before = network->carrier_changes;

		network->until_sample_sec = SAMPLE_SEC;
		network->carrier_changes = count_carrier_changes(network);
		changed = network->carrier_changes != before;
	}
	due = network->until_ask_sec <= 0;
	if (changed)
		network->until_ask_sec = SPEED_SETTLE_SEC;
	else if (due)
		network->until_ask_sec = SPEED_STANDS_SEC;
	return changed || due;
}

static const struct interface *find(const struct network *network, const char *name)
{
	for (size_t i = 0; i < network->count; i++) {
		if (strcmp(network->interfaces[i].last.name, name) == 0)
			return &network->interfaces[i];
	}
	return NULL;
}

static double interface_utilization(
	const struct interface *before, const struct canfs_interface_bytes *now, double elapsed_sec)
{
	double received = (double)canfs_growth(now->received_bytes, before->last.received_bytes);
	double sent = (double)canfs_growth(now->sent_bytes, before->last.sent_bytes);

	return fmax(received, sent) / elapsed_sec / before->bytes_per_sec;
}

int canfs_network_sample(void *state, double elapsed_sec, double *utilization)
{
	struct network *network = state;
	struct canfs_interface_bytes now[CANFS_INTERFACES_MAX];
	struct interface next[CANFS_INTERFACES_MAX];
	size_t count, watched = 0, known = 0;
	bool ask_speeds;
	char text[16384];
	double most = -1;
	int ret;

	ret = canfs_read_source(network->setup->root, "/proc/net/dev", text, sizeof(text));
	if (ret >= 0)
		ret = canfs_parse_net_dev(text, now, CANFS_INTERFACES_MAX, &count);
	if (ret < 0) {
		network->count = 0;
		return ret;
	}
	ask_speeds = speeds_are_old(network, elapsed_sec);
	for (size_t i = 0; i < count; i++) {
		const struct interface *before = find(network, now[i].name);
		struct interface *after = &next[watched];

		if (!is_watched(network->setup, now[i].name))
			continue;
		watched++;
		after->last = now[i];
		if (!before || ask_speeds)
			after->bytes_per_sec = speed_bytes_per_sec(network->setup, now[i].name);
		else
			after->bytes_per_sec = before->bytes_per_sec;
		known += after->bytes_per_sec > 0;
		if (before && before->bytes_per_sec > 0)
			most = fmax(most, interface_utilization(before, &now[i], elapsed_sec));
	}
	memcpy(network->interfaces, next, watched * sizeof(next[0]));
	network->count = watched;
	if (known == 0)
		return -ENODATA;
	if (most < 0)
		return -EAGAIN;
	*utilization = most;
	return 0;
}
