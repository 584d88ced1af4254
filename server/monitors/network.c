// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Network: the busiest direction of the busiest interface. A reply may leave through any interface.
 */
#include "server/monitors/monitors.h"
#include "server/monitors/source.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/hash.h"

/*
 * Reading an interface's speed takes the kernel's network lock (rtnl). A process that configures
 * interfaces may hold this lock for seconds, and meanwhile there would be no prices. The speeds are
 * therefore read only after a link went up or down, and once more when its driver must have
 * settled. Link changes are visible without the lock. Other changes of a speed (ethtool on a
 * virtual card) are rare, and are found late.
 */
#define SAMPLE_SEC       1.0
#define SPEED_SETTLE_SEC 10.0
#define SPEED_STANDS_SEC 600.0

#define TEXT_MAX   (4 << 20) /* about 30000 interfaces; further ones are ignored */
#define UNREAL_MAX 4096

struct interface {
	struct canfs_interface_bytes last;
	double bytes_per_sec; /* 0: unknown */
};

struct network {
	const struct canfs_monitor_setup *setup;
	struct interface interfaces[CANFS_INTERFACES_MAX];
	size_t count;
	double until_sample_sec;
	double until_ask_sec;
	uint64_t carrier_changes; /* of all watched: members set a bond's speed */
	char *text;               /* content of /proc/net/dev */
	size_t text_size;
	struct canfs_said said;
	/* Hashes of names of virtual interfaces: a container host has thousands. 0: free. */
	uint64_t unreal[UNREAL_MAX];
};

/*
 * "  eth0: rx_bytes and 7 more, tx_bytes and 7 more". Unused columns may have any content.
 */
static bool parse_interface(const char *line, struct canfs_interface_bytes *interface)
{
	const char *name = line + strspn(line, " ");
	size_t len = strcspn(name, ":\n");
	const char *cursor = name + len + 1;

	if (name[len] != ':' || len == 0 || len >= IF_NAMESIZE ||
		!canfs_parse_count(&cursor, &interface->received_bytes))
		return false;
	for (int i = 0; i < 7; i++)
		canfs_skip_number(&cursor);
	memset(interface->name, 0, sizeof(interface->name));
	memcpy(interface->name, name, len);
	return canfs_parse_count(&cursor, &interface->sent_bytes);
}

/* The text after the two heading lines. NULL: they are missing. */
static const char *skip_headings(const char *text)
{
	return strncmp(text, "Inter-|", 7) == 0 ? canfs_next_line(canfs_next_line(text)) : NULL;
}

int canfs_parse_net_dev(
	const char *text, struct canfs_interface_bytes *interfaces, size_t max, size_t *count)
{
	size_t n = 0;

	text = skip_headings(text);
	if (!text)
		return -EPROTO;
	for (; *text != '\0' && n < max; text = canfs_next_line(text))
		n += parse_interface(text, &interfaces[n]);
	*count = n;
	return 0;
}

int canfs_network_open(void **state, const struct canfs_monitor_setup *setup)
{
	struct network *network = calloc(1, sizeof(*network));

	if (!network)
		return -ENOMEM;
	network->setup = setup;
	network->said.say = setup->say;
	network->until_ask_sec = SPEED_SETTLE_SEC;
	*state = network;
	return 0;
}

void canfs_network_close(void *state)
{
	free(((struct network *)state)->text);
	free(state);
}

/*
 * Bonds and their members count. Bridges and tunnels do not: their reported speed is arbitrary, or
 * 10 Mbit/s.
 */
static bool is_real(const char *root, const char *name)
{
	char device[PATH_MAX], bonding[PATH_MAX];

	snprintf(device, sizeof(device), "%s/sys/class/net/%s/device", root, name);
	snprintf(bonding, sizeof(bonding), "%s/sys/class/net/%s/bonding", root, name);
	return access(device, F_OK) == 0 || access(bonding, F_OK) == 0;
}

/* True for the configured interfaces; by default, for all physical ones and bonds. */
static bool is_watched(struct network *network, const char *name)
{
	const struct canfs_monitor_setup *setup = network->setup;
	uint64_t halves[2] = { 0 }, hash, *unreal;

	for (size_t i = 0; i < setup->interface_count; i++) {
		if (strcmp(name, setup->interfaces[i]) == 0)
			return true;
	}
	if (setup->interface_count > 0)
		return false;
	memcpy(halves, name, strlen(name));
	hash = canfs_hash(halves[0] ^ canfs_hash(halves[1])) | 1;
	unreal = &network->unreal[hash / 2 % UNREAL_MAX];
	if (*unreal == hash)
		return false;
	if (is_real(setup->root, name))
		return true;
	*unreal = hash;
	return false;
}

/* 0 if unknown: a virtual interface, or one without carrier, where the kernel reports -1. */
static double speed_bytes_per_sec(const struct canfs_monitor_setup *setup, const char *name)
{
	uint64_t mbit_per_sec = setup->link_mbit_per_sec;
	char path[PATH_MAX], text[32];
	const char *cursor = text;

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

/* True if the speeds must be read again. */
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

static bool has(const struct interface *interfaces, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(interfaces[i].last.name, name) == 0)
			return true;
	}
	return false;
}

static void say_missing(struct network *network, const struct interface *found, size_t count)
{
	const struct canfs_monitor_setup *setup = network->setup;

	for (size_t i = 0; i < setup->interface_count; i++) {
		char message[96];

		if (has(found, count, setup->interfaces[i]))
			continue;
		snprintf(message, sizeof(message), "Interfaces: there is no %s",
			setup->interfaces[i]);
		canfs_say_once(&network->said, setup->interfaces[i], message);
	}
}

/* Finds the watched interfaces. Repeated names, and interfaces beyond the limit, are left out. */
static size_t find_interfaces(
	struct network *network, const char *text, struct interface next[CANFS_INTERFACES_MAX])
{
	size_t count = 0;

	for (; *text != '\0' && count < CANFS_INTERFACES_MAX; text = canfs_next_line(text)) {
		struct canfs_interface_bytes *now = &next[count].last;

		if (!parse_interface(text, now))
			canfs_say_unusable(&network->said, "/proc/net/dev", text);
		else if (is_watched(network, now->name) && !has(next, count, now->name))
			count++;
	}
	return count;
}

static int read_interfaces(struct network *network, const char **text)
{
	int ret = canfs_read_whole_source(network->setup->root, "/proc/net/dev", &network->text,
		&network->text_size, TEXT_MAX);

	if (ret < 0)
		return ret;
	*text = skip_headings(network->text);
	if (*text)
		return 0;
	canfs_say_unusable(&network->said, "/proc/net/dev", network->text);
	return -EPROTO;
}

int canfs_network_sample(void *state, double elapsed_sec, double *utilization)
{
	struct network *network = state;
	struct interface next[CANFS_INTERFACES_MAX];
	size_t count, known = 0;
	bool ask_speeds;
	const char *text;
	double most = -1;
	int ret = read_interfaces(network, &text);

	if (ret < 0) {
		network->count = 0;
		return ret;
	}
	ask_speeds = speeds_are_old(network, elapsed_sec);
	if (ask_speeds)
		memset(network->unreal, 0, sizeof(network->unreal));
	count = find_interfaces(network, text, next);
	say_missing(network, next, count);
	for (size_t i = 0; i < count; i++) {
		struct interface *now = &next[i];
		const struct interface *before = find(network, now->last.name);

		if (!before || ask_speeds)
			now->bytes_per_sec = speed_bytes_per_sec(network->setup, now->last.name);
		else
			now->bytes_per_sec = before->bytes_per_sec;
		known += now->bytes_per_sec > 0;
		if (before && before->bytes_per_sec > 0)
			most = fmax(most, interface_utilization(before, &now->last, elapsed_sec));
	}
	memcpy(network->interfaces, next, count * sizeof(next[0]));
	network->count = count;
	if (known == 0)
		return -ENODATA;
	if (most < 0)
		return -EAGAIN;
	*utilization = most;
	return 0;
}
