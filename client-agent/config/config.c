// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/config/config.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include "client-agent/config/config_option.h"
#include "pricing/price.h"
#include "protocol/price_message.h"

#define AT(member) offsetof(struct canfs_agent_config, member)
#define OFF_ON                                                                                     \
	{                                                                                          \
		"off", "on"                                                                        \
	}

/*
 * To add an option, add a row here and a member to struct canfs_agent_config, or to canfs_terms if it
 * is per_mount. Its paragraph in canfs-agent.conf(5) is compared with the row by a test.
 */
const struct canfs_option canfs_options[] = {
	{ .name = "mode",
		.type = TYPE_MODE,
		.per_mount = true,
		.offset = AT(terms.mode),
		.words = { "observe", "enforce" },
		.help = "observe logs decisions and changes nothing, enforce acts on them" },
	{ .name = "writeback",
		.type = TYPE_SWITCH,
		.per_mount = true,
		.offset = AT(terms.writeback),
		.words = OFF_ON,
		.number = 1,
		.help = "defer and accelerate write-back" },
	{ .name = "readahead",
		.type = TYPE_SWITCH,
		.per_mount = true,
		.offset = AT(terms.readahead),
		.words = OFF_ON,
		.number = 1,
		.help = "tune read-ahead" },
	{ .name = "network",
		.type = TYPE_SWITCH,
		.per_mount = true,
		.offset = AT(terms.network),
		.words = OFF_ON,
		.number = 1,
		.help = "hold write-back and read-ahead, too, while others use this client's "
			"link" },
	{ .name = "link_speed",
		.type = TYPE_COUNT,
		.per_mount = true,
		.offset = AT(terms.link_speed),
		.min = 0,
		.max = 10000000,
		.help = "Mbit/s of the link to the server; 0: what the interface says" },
	{ .name = "mounts",
		.type = TYPE_LIST,
		.offset = AT(mounts),
		.help = "mount points to manage, as shell patterns; empty: all NFS mounts" },
	{ .name = "hold_pct",
		.type = TYPE_COUNT,
		.offset = AT(hold_pct),
		.min = 5,
		.max = 50,
		.number = 45,
		.help = "share of memory that deferred data may take, in %" },
	{ .name = "hold_share",
		.type = TYPE_COUNT,
		.per_mount = true,
		.offset = AT(terms.hold_share),
		.min = 1,
		.max = 100,
		.number = 1,
		.help = "part of hold_pct that the mount gets, against the shares of the others" },
	{ .name = "low_priority_cgroups",
		.type = TYPE_LIST,
		.offset = AT(low_priority_cgroups),
		.help = "cgroups (v2) whose data may wait for longer, as /batch.slice" },
	{ .name = "low_priority_pct",
		.type = TYPE_COUNT,
		.per_mount = true,
		.offset = AT(terms.low_priority_pct),
		.min = 0,
		.max = 100,
		.number = 50,
		.help = "what such data counts in the bid, in %" },
	{ .name = "guard_mib",
		.type = TYPE_COUNT,
		.offset = AT(guard_mib),
		.min = 32,
		.max = 1 << 20,
		.number = 100,
		.help = "MemAvailable - Dirty - Writeback that must stay, in MiB" },
	{ .name = "squeeze",
		.type = TYPE_SWITCH,
		.offset = AT(squeeze),
		.words = OFF_ON,
		.number = 1,
		.help = "writers wait sooner for readers that need the page cache, and for others' "
			"commits" },
	{ .name = "changes_per_min",
		.type = TYPE_COUNT,
		.offset = AT(changes_per_min),
		.min = 10,
		.max = 6000,
		.number = 120,
		.help = "knobs are turned away from their originals at most so often" },
	{ .name = "price_timeout_sec",
		.type = TYPE_COUNT,
		.offset = AT(price_timeout_sec),
		.min = 4,
		.max = 3600,
		.number = 30,
		.help = "without a price for so long: back to the kernel's defaults" },
	{ .name = "price_idle_sec",
		.type = TYPE_COUNT,
		.offset = AT(price_idle_sec),
		.min = 1,
		.max = 3600,
		.number = 10,
		.help = "how often an idle client asks for the price" },
	{ .name = "price_min_msec",
		.type = TYPE_COUNT,
		.offset = AT(price_min_msec),
		.min = 20,
		.max = 60000,
		.number = 100,
		.help = "a busy client asks at most this often" },
	{ .name = "price_port",
		.type = TYPE_COUNT,
		.offset = AT(price_port),
		.min = 0,
		.max = 65535,
		.number = CANFS_PRICE_PORT,
		.help = "UDP port of servers' price services; 0: prices are asked for by FSSTAT "
			"only" },
	{ .name = "k_memory",
		.type = TYPE_REAL,
		.per_mount = true,
		.offset = AT(terms.k_memory),
		.min = CANFS_K_MIN,
		.max = CANFS_K_MAX,
		.number = 32,
		.help = "k of this client's memory" },
	{ .name = "price_min",
		.type = TYPE_REAL,
		.per_mount = true,
		.offset = AT(terms.price_min),
		.min = 0,
		.max = 0.5,
		.number = 0.02,
		.help = "floor of this client's own price" },
	{ .name = "hysteresis",
		.type = TYPE_REAL,
		.per_mount = true,
		.offset = AT(terms.hysteresis),
		.min = 0,
		.max = 0.5,
		.number = 0.02,
		.help = "prices must differ by more to change a verdict" },
	{ .name = "dwell_ms",
		.type = TYPE_COUNT,
		.per_mount = true,
		.offset = AT(terms.dwell_ms),
		.min = 0,
		.max = 60000,
		.number = 200,
		.help = "least time between two changes of a verdict" },
	{ .name = "readahead_min_kib",
		.type = TYPE_COUNT,
		.per_mount = true,
		.offset = AT(terms.readahead_min_kib),
		.min = 64,
		.max = 15360,
		.number = 64,
		.help = "least read-ahead" },
	{ .name = "readahead_max_kib",
		.type = TYPE_COUNT,
		.per_mount = true,
		.offset = AT(terms.readahead_max_kib),
		.min = 64,
		.max = 15360,
		.number = 1024,
		.help = "most read-ahead" },
	{ .name = "state_dir",
		.type = TYPE_PATH,
		.offset = AT(state_dir),
		.path = "/run/canfs",
		.help = "journal and lock; must not outlive a reboot" },
	{ .name = "control_socket",
		.type = TYPE_PATH,
		.offset = AT(control_socket),
		.path = "/run/canfs/agent.sock",
		.may_be_empty = true,
		.help = "where canfsctl asks the agent; empty: nowhere" },
	{ .name = "metrics_listen",
		.type = TYPE_LISTEN,
		.offset = AT(metrics_listen),
		.path = "",
		.help = "loopback ADDRESS:PORT for Prometheus; empty: none" },
	{ .name = "servers",
		.type = TYPE_LIST,
		.offset = AT(servers),
		.help = "control sockets of price servers of this machine, for Prometheus, too" },
};

#define OPTIONS (sizeof(canfs_options) / sizeof(canfs_options[0]))

_Static_assert(OPTIONS <= CANFS_OPTIONS_MAX, "too many options");
const size_t canfs_options_n = OPTIONS;

void canfs_option_put(
	struct canfs_agent_config *config, const struct canfs_option *option, double number)
{
	void *at = (char *)config + option->offset;

	switch (option->type) {
	case TYPE_REAL:
		*(double *)at = number;
		break;
	case TYPE_COUNT:
		*(unsigned int *)at = (unsigned int)number;
		break;
	case TYPE_MODE:
		*(enum canfs_mode *)at = (enum canfs_mode)number;
		break;
	case TYPE_SWITCH:
		*(bool *)at = number != 0;
		break;
	case TYPE_PATH:
	case TYPE_LISTEN:
	case TYPE_LIST:
		break;
	}
}

void canfs_config_defaults(struct canfs_agent_config *config)
{
	memset(config, 0, sizeof(*config));
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct canfs_option *option = &canfs_options[i];
		if (option->path)
			strcpy((char *)config + option->offset, option->path);
		else
			canfs_option_put(config, option, option->number);
	}
}

bool canfs_config_wants_mount(const struct canfs_agent_config *config, const char *mountpoint)
{
	const struct canfs_config_list *mounts = &config->mounts;

	for (size_t i = 0; i < mounts->n; i++) {
		if (fnmatch(mounts->path[i], mountpoint, 0) == 0)
			return true;
	}
	return mounts->n == 0;
}

const struct canfs_terms *canfs_config_terms(
	const struct canfs_agent_config *config, const char *mountpoint)
{
	for (size_t i = 0; i < config->sections; i++) {
		if (fnmatch(config->section[i].pattern, mountpoint, 0) == 0)
			return &config->section[i].terms;
	}
	return &config->terms;
}

void canfs_config_set_mode(struct canfs_agent_config *config, enum canfs_mode mode)
{
	config->terms.mode = mode;
	for (size_t i = 0; i < config->sections; i++)
		config->section[i].terms.mode = mode;
}

bool canfs_config_enforces(const struct canfs_agent_config *config)
{
	bool enforces = config->terms.mode == CANFS_ENFORCE;

	for (size_t i = 0; i < config->sections; i++)
		enforces |= config->section[i].terms.mode == CANFS_ENFORCE;
	return enforces;
}

bool canfs_config_example(size_t i, char *buf, size_t size)
{
	char number[32] = "", allowed[64] = "";
	const char *value = number;

	if (i >= OPTIONS)
		return false;
	const struct canfs_option *option = &canfs_options[i];
	switch (option->type) {
	case TYPE_COUNT:
	case TYPE_REAL:
		snprintf(number, sizeof(number), "%g", option->number);
		snprintf(allowed, sizeof(allowed), " (%.15g ... %.15g", option->min, option->max);
		break;
	case TYPE_MODE:
	case TYPE_SWITCH:
		value = option->words[(int)option->number];
		snprintf(
			allowed, sizeof(allowed), " (%s or %s", option->words[0], option->words[1]);
		break;
	case TYPE_PATH:
	case TYPE_LISTEN:
	case TYPE_LIST:
		value = option->path ? option->path : "";
		break;
	}
	snprintf(buf, size, "# %s%s%s%s\n#%s =%s%s\n", option->help, allowed,
		option->per_mount ? ", per mount" : "", *allowed ? ")" : "", option->name,
		*value ? " " : "", value);
	return true;
}

static void show_list(const struct canfs_config_list *list, char *value, size_t size)
{
	size_t used = 0;

	value[0] = '\0';
	for (size_t i = 0; i < list->n && used < size; i++)
		used += (size_t)snprintf(
			value + used, size - used, "%s%s", i ? " " : "", list->path[i]);
}

bool canfs_config_option(const struct canfs_agent_config *config, size_t i, const char **name,
	char *value, size_t size)
{
	if (i >= OPTIONS)
		return false;
	const struct canfs_option *option = &canfs_options[i];
	const void *at = (const char *)config + option->offset;
	*name = option->name;
	switch (option->type) {
	case TYPE_REAL:
		snprintf(value, size, "%g", *(const double *)at);
		break;
	case TYPE_COUNT:
		snprintf(value, size, "%u", *(const unsigned int *)at);
		break;
	case TYPE_MODE:
		snprintf(value, size, "%s", option->words[*(const enum canfs_mode *)at]);
		break;
	case TYPE_SWITCH:
		snprintf(value, size, "%s", option->words[*(const bool *)at]);
		break;
	case TYPE_PATH:
	case TYPE_LISTEN:
		snprintf(value, size, "%s", (const char *)at);
		break;
	case TYPE_LIST:
		show_list(at, value, size);
		break;
	}
	return true;
}
