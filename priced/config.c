// SPDX-License-Identifier: LGPL-3.0-or-later
#include "priced/config.h"

#include <stdio.h>
#include <string.h>
#include "priced/config_option.h"
#include "pricing/price.h"
#include "protocol/price_message.h"

#define AT(member) offsetof(struct canfs_priced_config, member)

#define ROW_OF_K(NAME, resource, Name)                                                             \
	{ .name = "k_" #resource,                                                                  \
		.type = PRICED_REAL,                                                               \
		.offset = AT(k[CANFS_##NAME]),                                                     \
		.min = CANFS_K_MIN,                                                                \
		.max = CANFS_K_MAX,                                                                \
		.help = "k of the price of " #resource ": the smaller, the earlier it rises" },

#define ROW_OF_WEIGHT(NAME, resource, Name)                                                        \
	{ .name = "weight_" #resource "_percent",                                                  \
		.type = PRICED_COUNT,                                                              \
		.offset = AT(weight_percent[CANFS_##NAME]),                                        \
		.min = 0,                                                                          \
		.max = 100,                                                                        \
		.number = 100,                                                                     \
		.help = "how much the price of " #resource " counts" },

/* To add an option, add a row here and a member to struct canfs_priced_config. */
const struct canfs_priced_option canfs_priced_options[] = {
	{ .name = "price_port",
		.type = PRICED_COUNT,
		.offset = AT(price_port),
		.min = 1,
		.max = 65535,
		.number = CANFS_PRICE_PORT,
		.help = "UDP port of the price service" },
	{ .name = "price_interval",
		.type = PRICED_COUNT,
		.offset = AT(price_interval),
		.min = CANFS_INTERVAL_MS_MIN,
		.max = CANFS_INTERVAL_MS_MAX,
		.number = 100,
		.help = "ms from one computation of the prices to the next" },
	{ .name = "publish",
		.type = PRICED_SWITCH,
		.offset = AT(publish),
		.number = 1,
		.help = "off: prices are made, and shown by canfsctl server, but no client gets "
			"them" },
	{ .name = "monitors",
		.type = PRICED_MONITORS,
		.offset = AT(monitors),
		.help = "which resources are watched" },
	{ .name = "interfaces",
		.type = PRICED_INTERFACES,
		.offset = AT(interfaces),
		.help = "network interfaces that are watched; empty: all real ones" },
	{ .name = "link_speed",
		.type = PRICED_COUNT,
		.offset = AT(link_speed),
		.min = 1,
		.max = 10000000,
		.help = "Mbit/s of each interface" },
	{ .name = "disk_read_queue",
		.type = PRICED_COUNT,
		.offset = AT(disk_read_queue),
		.min = 1,
		.max = 65536,
		.help = "nominal queue depth of the disks' reads" },
	{ .name = "disk_write_queue",
		.type = PRICED_COUNT,
		.offset = AT(disk_write_queue),
		.min = 1,
		.max = 65536,
		.help = "nominal queue depth of the disks' writes" },
	{ .name = "pmax_percent",
		.type = PRICED_COUNT,
		.offset = AT(pmax_percent),
		.min = 0,
		.max = 100,
		.number = 100,
		.help = "price of a resource that is full" },
	CANFS_HOST_RESOURCE_ROWS(ROW_OF_K)
		CANFS_HOST_RESOURCE_ROWS(ROW_OF_WEIGHT) { .name = "control_socket",
			.type = PRICED_PATH,
			.offset = AT(control_socket),
			.path = "/run/canfs/priced.sock",
			.help = "where canfsctl server asks; empty: nowhere" },
	{ .name = "etab",
		.type = PRICED_PATH,
		.offset = AT(etab),
		.path = "/var/lib/nfs/etab",
		.help = "what exportfs has exported; empty: only what the kernel lists as in use" },
};

#define OPTIONS (sizeof(canfs_priced_options) / sizeof(canfs_priced_options[0]))

_Static_assert(OPTIONS <= CANFS_PRICED_OPTIONS_MAX, "too many options");
const size_t canfs_priced_options_n = OPTIONS;

void canfs_priced_option_put(
	struct canfs_priced_config *config, const struct canfs_priced_option *option, double number)
{
	void *at = (char *)config + option->offset;

	switch (option->type) {
	case PRICED_REAL:
		*(double *)at = number;
		break;
	case PRICED_COUNT:
		*(unsigned int *)at = (unsigned int)number;
		break;
	case PRICED_SWITCH:
		*(bool *)at = number != 0;
		break;
	case PRICED_PATH:
	case PRICED_INTERFACES:
	case PRICED_MONITORS:
		break;
	}
}

void canfs_priced_config_defaults(struct canfs_priced_config *config)
{
	memset(config, 0, sizeof(*config));
	for (int i = 0; i < CANFS_RESOURCES; i++)
		config->weight_percent[i] = 100;
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct canfs_priced_option *option = &canfs_priced_options[i];

		if (option->path)
			strcpy((char *)config + option->offset, option->path);
		else
			canfs_priced_option_put(config, option, option->number);
	}
	config->monitors = CANFS_PRICED_MONITORS;
}

/* The kernel's server is not limited by our control group, so the whole machine is measured. */
void canfs_priced_config_of_sampler(
	const struct canfs_priced_config *config, struct canfs_sampler_config *sampler)
{
	*sampler = (struct canfs_sampler_config) { .interval_ms = config->price_interval,
		.publish = config->publish,
		.monitors = config->monitors,
		.setup = { .root = "",
			.whole_machine = true,
			.link_mbit_per_sec = config->link_speed,
			.disk_read_queue = config->disk_read_queue,
			.disk_write_queue = config->disk_write_queue,
			.interface_count = config->interface_count } };
	memcpy(sampler->setup.interfaces, config->interfaces, sizeof(sampler->setup.interfaces));
	memcpy(sampler->k, config->k, sizeof(sampler->k));
}

bool canfs_priced_config_scale(const struct canfs_priced_config *before,
	const struct canfs_priced_config *now, struct canfs_settings *settings)
{
	bool changed = !before || now->pmax_percent != before->pmax_percent;

	if (changed)
		settings->pmax = now->pmax_percent / 100.0 * CANFS_PRICE_MAX;
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++) {
		if (before && now->weight_percent[i] == before->weight_percent[i])
			continue;
		settings->weight[i] = now->weight_percent[i] / 100.0;
		changed = true;
	}
	return changed;
}

#define NAME_OF(NAME, name, Name) " " #name

/* Sets text to what is allowed; "": no note is needed. */
static void describe_allowed(const struct canfs_priced_option *option, char *text, size_t size)
{
	text[0] = '\0';
	switch (option->type) {
	case PRICED_COUNT:
	case PRICED_REAL:
		snprintf(text, size, " (%.15g ... %.15g%s)", option->min, option->max,
			canfs_priced_option_is_optional(option) ? "; empty: found out" : "");
		break;
	case PRICED_SWITCH:
		snprintf(text, size, " (off or on)");
		break;
	case PRICED_MONITORS:
		snprintf(text, size, " (of%s)", CANFS_HOST_RESOURCE_ROWS(NAME_OF));
		break;
	case PRICED_PATH:
	case PRICED_INTERFACES:
		break;
	}
}

static const char *describe_default(
	const struct canfs_priced_option *option, char *number, size_t size)
{
	switch (option->type) {
	case PRICED_COUNT:
	case PRICED_REAL:
		if (canfs_priced_option_is_optional(option))
			return "";
		snprintf(number, size, " %.15g", option->number);
		return number;
	case PRICED_SWITCH:
		return option->number != 0 ? " on" : " off";
	case PRICED_MONITORS:
		return CANFS_HOST_RESOURCE_ROWS(NAME_OF);
	case PRICED_PATH:
		snprintf(number, size, " %s", option->path);
		return number;
	case PRICED_INTERFACES:
		break;
	}
	return "";
}

bool canfs_priced_config_example(size_t i, char *buf, size_t size)
{
	char allowed[96], value[64];
	const struct canfs_priced_option *option;

	if (i >= OPTIONS)
		return false;
	option = &canfs_priced_options[i];
	describe_allowed(option, allowed, sizeof(allowed));
	snprintf(buf, size, "# %s%s\n#%s =%s\n", option->help, allowed, option->name,
		describe_default(option, value, sizeof(value)));
	return true;
}
