// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/config/config.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "client-agent/config/listen.h"
#include "protocol/price_message.h"

/* State while a text is read. */
struct parser {
	struct canfs_options_reader reader;
	struct canfs_agent_config config;
	int header_line[CANFS_CONFIG_SECTIONS_MAX];
	enum { NOWHERE, AGENT, MOUNT } place;
	struct canfs_terms agent_terms; /* saved while config.terms holds those of a [mount] */
};

static int set_listen(struct canfs_options_reader *reader, const struct canfs_option *option,
	void *at, const char *value)
{
	struct sockaddr_storage address;
	int ret = value[0] ? canfs_listen_parse(value, &address) : 0;

	if (ret)
		return canfs_options_mistake(reader, "%s = %.64s: %s", option->name, value,
			ret == -EACCES ? "not a loopback address, such as 127.0.0.1 or [::1]"
				       : "not ADDRESS:PORT, such as 127.0.0.1:9105 or [::1]:9105");
	strcpy(at, value);
	return 1;
}

/* Returns the length of a path without slashes at its end, as mount points are written. */
static size_t without_slash(const char *path, size_t len)
{
	while (len > 1 && path[len - 1] == '/')
		len--;
	return len;
}

/* Replaces the list. */
static int set_list(struct canfs_options_reader *reader, const struct canfs_option *option,
	void *at, const char *value)
{
	struct canfs_config_list *list = at;

	list->n = 0;
	for (value += strspn(value, " \t"); *value; value += strspn(value, " \t")) {
		size_t len = strcspn(value, " \t");
		if (value[0] != '/')
			return canfs_options_mistake(reader, "%s: %.*s: not an absolute path",
				option->name, len > 64 ? 64 : (int)len, value);
		if (value[len - 1] == ',')
			return canfs_options_mistake(reader,
				"%s: %.*s: paths are separated by blanks, not commas", option->name,
				len > 64 ? 64 : (int)len, value);
		if (len >= CANFS_CONFIG_PATH_MAX)
			return canfs_options_mistake(reader, "%s: a path is longer than %d bytes",
				option->name, CANFS_CONFIG_PATH_MAX - 1);
		if (list->n == CANFS_CONFIG_LIST_MAX)
			return canfs_options_mistake(reader, "%s: more than %d paths", option->name,
				CANFS_CONFIG_LIST_MAX);
		snprintf(list->path[list->n++], CANFS_CONFIG_PATH_MAX, "%.*s",
			(int)without_slash(value, len), value);
		value += len;
	}
	return 1;
}

#define AT(member) offsetof(struct canfs_agent_config, member)
/*
 * To add an option, add a row here and a member to struct canfs_agent_config, or to canfs_terms if it
 * is in_sections. Its paragraph in canfs-agent.conf(5) is compared with the row by a test.
 */
static const struct canfs_option options[] = {
	{ .name = "mode",
		.type = CANFS_WORD,
		.in_sections = true,
		.offset = AT(terms.mode),
		.words = { "observe", "enforce" },
		.help = "observe logs decisions and changes nothing, enforce acts on them" },
	{ .name = "writeback",
		.type = CANFS_SWITCH,
		.in_sections = true,
		.offset = AT(terms.writeback),
		.number = 1,
		.help = "defer and accelerate write-back" },
	{ .name = "readahead",
		.type = CANFS_SWITCH,
		.in_sections = true,
		.offset = AT(terms.readahead),
		.number = 1,
		.help = "tune read-ahead" },
	{ .name = "link_speed",
		.type = CANFS_COUNT,
		.in_sections = true,
		.offset = AT(terms.link_speed),
		.min = 0,
		.max = 10000000,
		.help = "Mbit/s of the link to the server; 0: what the interface says" },
	{ .name = "mounts",
		.type = CANFS_CUSTOM,
		.set = set_list,
		.offset = AT(mounts),
		.help = "mount points to manage, as shell patterns; empty: all NFS mounts" },
	{ .name = "hold_pct",
		.type = CANFS_COUNT,
		.offset = AT(hold_pct),
		.min = 5,
		.max = 50,
		.number = 45,
		.help = "share of memory that deferred data may take, in %" },
	{ .name = "low_priority_cgroups",
		.type = CANFS_CUSTOM,
		.set = set_list,
		.offset = AT(low_priority_cgroups),
		.help = "cgroups (v2) whose data may wait for longer, as /batch.slice" },
	{ .name = "price_idle_sec",
		.type = CANFS_COUNT,
		.offset = AT(price_idle_sec),
		.min = 1,
		.max = 3600,
		.number = 10,
		.help = "how often an idle client asks for the price" },
	{ .name = "price_port",
		.type = CANFS_COUNT,
		.offset = AT(price_port),
		.min = 0,
		.max = 65535,
		.number = CANFS_PRICE_PORT,
		.help = "UDP port of servers' price services; 0: prices are asked for by FSSTAT "
			"only" },
	{ .name = "state_dir",
		.type = CANFS_PATH,
		.offset = AT(state_dir),
		.text = "/run/canfs",
		.help = "journal, lock and control socket; must not outlive a reboot" },
	{ .name = "metrics_listen",
		.type = CANFS_CUSTOM,
		.set = set_listen,
		.offset = AT(metrics_listen),
		.help = "loopback ADDRESS:PORT for Prometheus; empty: none" },
	{ .name = "servers",
		.type = CANFS_CUSTOM,
		.set = set_list,
		.offset = AT(servers),
		.help = "control sockets of price servers of this machine, for Prometheus, too" },
};

#define OPTIONS (sizeof(options) / sizeof(options[0]))

_Static_assert(OPTIONS <= CANFS_OPTIONS_MAX, "too many options");

/* Up to version 1.0. */
static const struct canfs_retired_option retired[] = {
	{ "network", "it is always on" },
	{ "hold_share", "all mounts have the same share" },
	{ "low_priority_pct", "it is always 50" },
	{ "guard_mib", "it is always 100" },
	{ "squeeze", "it is always on" },
	{ "changes_per_min", "it is always 120" },
	{ "price_timeout_sec", "it is three times price_idle_sec" },
	{ "price_min_msec", "it is always 100" },
	{ "k_memory", "it is always 32" },
	{ "price_min", "it is always 0.02" },
	{ "hysteresis", "it is always 0.02" },
	{ "dwell_ms", "it is always 200" },
	{ "readahead_min_kib", "it is always 64; readahead = off leaves read-ahead alone" },
	{ "readahead_max_kib", "it is always 1024; readahead = off leaves read-ahead alone" },
	{ "control_socket", "it is agent.sock in state_dir" },
};

/* Ends a section: stores the terms of a [mount]. */
static void end_section(struct parser *parser)
{
	struct canfs_agent_config *config = &parser->config;

	if (parser->place == MOUNT) {
		config->section[config->sections - 1].terms = config->terms;
		config->terms = parser->agent_terms;
	}
}

static void begin_mount(struct parser *parser, struct canfs_span header)
{
	const char *pattern = header.at + strspn(header.at, " \t");
	size_t len = (size_t)(header.at + header.len - pattern);
	struct canfs_agent_config *config = &parser->config;

	if (len >= CANFS_CONFIG_PATH_MAX) {
		canfs_options_mistake(&parser->reader,
			"[mount]: the pattern is longer than %d bytes", CANFS_CONFIG_PATH_MAX - 1);
		return;
	}
	if (len == 0 || pattern[0] != '/') {
		canfs_options_mistake(&parser->reader, "[mount %.*s]: not an absolute path",
			len > 64 ? 64 : (int)len, pattern);
		return;
	}
	len = without_slash(pattern, len);
	for (size_t i = 0; i < config->sections; i++) {
		if (strncmp(config->section[i].pattern, pattern, len) == 0 &&
			!config->section[i].pattern[len]) {
			canfs_options_mistake(&parser->reader,
				"[mount %.*s]: already set in line %d", len > 64 ? 64 : (int)len,
				pattern, parser->header_line[i]);
			return;
		}
	}
	if (config->sections == CANFS_CONFIG_SECTIONS_MAX) {
		canfs_options_mistake(&parser->reader, "more than %d [mount] sections",
			CANFS_CONFIG_SECTIONS_MAX);
		return;
	}
	memcpy(config->section[config->sections].pattern, pattern, len);
	config->section[config->sections].pattern[len] = '\0';
	parser->header_line[config->sections++] = parser->reader.line;
	if (parser->place != MOUNT)
		parser->agent_terms = config->terms;
	parser->place = MOUNT;
	memset(parser->reader.name_line, 0, sizeof(parser->reader.name_line));
}

/* "agent" or "mount PATTERN" */
static void take_header(struct canfs_options_reader *reader, struct canfs_span header)
{
	static const char mount[] = "mount ";
	const size_t prefix = sizeof(mount) - 1;
	struct parser *parser = reader->data;

	if (canfs_span_is(header, "agent")) {
		if (parser->place == MOUNT)
			canfs_options_mistake(
				reader, "[agent] after a [mount]: it must come first");
		else
			parser->place = AGENT;
	} else if (header.len >= prefix && memcmp(header.at, mount, prefix) == 0) {
		end_section(parser);
		begin_mount(
			parser, (struct canfs_span) { header.at + prefix, header.len - prefix });
	} else {
		canfs_options_mistake(reader, "[%.*s]: must be [agent] or [mount /PATTERN]",
			header.len > 64 ? 64 : (int)header.len, header.at);
	}
}

static int take_pair(struct canfs_options_reader *reader, const char *name, const char *value)
{
	const struct parser *parser = reader->data;

	if (parser->place == NOWHERE)
		return canfs_options_mistake(
			reader, "%.64s: before any section, the first one is [agent]", name);
	return canfs_options_set(reader, name, value, parser->place == MOUNT);
}

const struct canfs_option_table canfs_agent_options = {
	.option = options,
	.n = OPTIONS,
	.retired = retired,
	.n_retired = sizeof(retired) / sizeof(retired[0]),
	.line_is = "\"name = value\" nor [agent] nor [mount /PATTERN]",
	.header = take_header,
	.pair = take_pair,
};

void canfs_config_defaults(struct canfs_agent_config *config)
{
	memset(config, 0, sizeof(*config));
	canfs_options_defaults(&canfs_agent_options, config);
}

int canfs_config_parse_string(struct canfs_agent_config *config, const char *file, const char *text,
	char error[CANFS_OPTIONS_ERROR_MAX])
{
	struct parser *parser = calloc(1, sizeof(*parser));

	if (!parser) {
		snprintf(error, CANFS_OPTIONS_ERROR_MAX, "%.128s: out of memory", file);
		return -ENOMEM;
	}
	parser->config = *config;
	parser->config.sections = 0;
	parser->reader = (struct canfs_options_reader) { .options = &canfs_agent_options,
		.config = &parser->config,
		.data = parser,
		.file = file,
		.error = error };
	if (!canfs_options_read(&parser->reader, text))
		end_section(parser);
	if (!error[0])
		*config = parser->config;
	else /* state_dir is always set: restoring the journal must not depend on other options */
		memcpy(config->state_dir, parser->config.state_dir, sizeof(config->state_dir));
	free(parser);
	return error[0] ? -EINVAL : 0;
}

int canfs_config_parse_file(
	struct canfs_agent_config *config, const char *file, char error[CANFS_OPTIONS_ERROR_MAX])
{
	char *text;
	int ret = canfs_options_read_file(file, &text, error);

	if (ret)
		return ret;
	ret = canfs_config_parse_string(config, file, text, error);
	free(text);
	return ret;
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

uint64_t canfs_config_lost_usec(const struct canfs_agent_config *config)
{
	return UINT64_C(1000000) * (config->price_idle_sec > 1 ? 3 * config->price_idle_sec : 4);
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
