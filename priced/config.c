// SPDX-License-Identifier: LGPL-3.0-or-later
#include "priced/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pricing/price.h"
#include "protocol/price_message.h"

#define NAME_OF(NAME, name) " " #name

static const char names[] = CANFS_HOST_RESOURCE_ROWS(NAME_OF);
static const char allowed_names[] = "of" CANFS_HOST_RESOURCE_ROWS(NAME_OF);

/* The class section being parsed. */
struct class_section {
	char name[64];
	int header_line; /* 0: not in a class section */
	int line;        /* of its first option */
	int premium_line;
	unsigned int clients; /* number of words */
	int premium_pct;
};

/* State while a text is read. */
struct parser {
	struct canfs_options_reader reader;
	struct canfs_priced_config config;
	enum { NOWHERE, PRICED, CLASS } place;
	struct class_section client_class;
	struct canfs_names *names; /* NULL: names are left out */
};

static int add_interface(struct parser *parser, const char *name, size_t len)
{
	struct canfs_priced_config *config = &parser->config;

	if (len >= IF_NAMESIZE || memchr(name, '/', len))
		return canfs_options_mistake(&parser->reader,
			"interfaces: %.*s: not the name of a network interface",
			len > 64 ? 64 : (int)len, name);
	if (config->interface_count == CANFS_INTERFACES_MAX)
		return canfs_options_mistake(
			&parser->reader, "interfaces: more than %d", CANFS_INTERFACES_MAX);
	memcpy(config->interfaces[config->interface_count], name, len);
	config->interfaces[config->interface_count++][len] = '\0';
	return 1;
}

static int add_monitor(struct parser *parser, const char *name, size_t len)
{
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++) {
		const char *known = canfs_resource_name((enum canfs_resource)i);

		if ((CANFS_PRICED_MONITORS & 1u << i) && strlen(known) == len &&
			memcmp(known, name, len) == 0) {
			parser->config.monitors |= 1u << i;
			return 1;
		}
	}
	return canfs_options_mistake(
		&parser->reader, "monitors: %.*s: not of%s", len > 64 ? 64 : (int)len, name, names);
}

/* Names are separated by blanks or commas, because the CANFS { } block uses commas. */
static int set_names(struct parser *parser, const char *value,
	int (*add)(struct parser *parser, const char *name, size_t len))
{
	static const char between[] = " \t,";

	for (value += strspn(value, between); *value != '\0'; value += strspn(value, between)) {
		size_t len = strcspn(value, between);

		if (!add(parser, value, len))
			return 0;
		value += len;
	}
	return 1;
}

static int set_monitors(struct canfs_options_reader *reader, const struct canfs_option *option,
	void *at, const char *value)
{
	struct parser *parser = reader->data;

	(void)option;
	*(unsigned int *)at = 0;
	if (!set_names(parser, value, add_monitor))
		return 0;
	return parser->config.monitors != 0
		       ? 1
		       : canfs_options_mistake(reader, "monitors: none is named");
}

static int set_interfaces(struct canfs_options_reader *reader, const struct canfs_option *option,
	void *at, const char *value)
{
	struct parser *parser = reader->data;

	(void)option;
	(void)at;
	parser->config.interface_count = 0;
	return set_names(parser, value, add_interface);
}

#define AT(member) offsetof(struct canfs_priced_config, member)

/* To add an option, add a row here and a member to struct canfs_priced_config. */
static const struct canfs_option options[] = {
	{ .name = "price_port",
		.type = CANFS_COUNT,
		.offset = AT(price_port),
		.min = 1,
		.max = 65535,
		.number = CANFS_PRICE_PORT,
		.help = "UDP port of the price service" },
	{ .name = "monitors",
		.type = CANFS_CUSTOM,
		.set = set_monitors,
		.text = names + 1,
		.allowed = allowed_names,
		.offset = AT(monitors),
		.help = "which resources are watched" },
	{ .name = "interfaces",
		.type = CANFS_CUSTOM,
		.set = set_interfaces,
		.offset = AT(interfaces),
		.help = "network interfaces that are watched; empty: all real ones" },
	{ .name = "link_speed",
		.type = CANFS_COUNT,
		.offset = AT(link_speed),
		.min = 1,
		.max = 10000000,
		.may_be_empty = true,
		.help = "Mbit/s of each interface" },
	{ .name = "disk_read_queue",
		.type = CANFS_COUNT,
		.offset = AT(disk_read_queue),
		.min = 1,
		.max = 65536,
		.may_be_empty = true,
		.help = "nominal queue depth of the disks' reads" },
	{ .name = "disk_write_queue",
		.type = CANFS_COUNT,
		.offset = AT(disk_write_queue),
		.min = 1,
		.max = 65536,
		.may_be_empty = true,
		.help = "nominal queue depth of the disks' writes" },
	{ .name = "pmax_percent",
		.type = CANFS_COUNT,
		.offset = AT(pmax_percent),
		.min = 0,
		.max = 100,
		.number = 100,
		.help = "price of a resource that is full" },
	{ .name = "k_disk",
		.type = CANFS_REAL,
		.offset = AT(k_disk),
		.min = CANFS_K_MIN,
		.max = CANFS_K_MAX,
		.may_be_empty = true,
		.help = "k of the price of a disk: the smaller, the earlier it rises" },
	{ .name = "control_socket",
		.type = CANFS_PATH,
		.offset = AT(control_socket),
		.text = "/run/canfs/priced.sock",
		.may_be_empty = true,
		.help = "where canfsctl server asks; empty: nowhere" },
	{ .name = "etab",
		.type = CANFS_PATH,
		.offset = AT(etab),
		.text = "/var/lib/nfs/etab",
		.may_be_empty = true,
		.help = "what exportfs has exported; empty: only what the kernel lists as in use" },
};

#define OPTIONS (sizeof(options) / sizeof(options[0]))

_Static_assert(OPTIONS <= CANFS_OPTIONS_MAX, "too many options");

#define WEIGHT_HINT "all resources count alike; monitors names those that have a price"

/* Up to version 1.0. */
static const struct canfs_retired_option retired[] = {
	{ "publish", "it is always on; for a while: canfsctl server set publish=off" },
	{ "price_interval", "it is always 100 ms" },
	{ "k_cpu", "it is always 64" },
	{ "k_network", "it is always 64" },
	{ "k_memory", "it is always 32" },
	{ "weight_cpu_percent", WEIGHT_HINT },
	{ "weight_network_percent", WEIGHT_HINT },
	{ "weight_disk_percent", WEIGHT_HINT },
	{ "weight_memory_percent", WEIGHT_HINT },
};

/* Checks a complete class section. Errors name the line of its first option, or of its header. */
static int end_class(struct parser *parser)
{
	struct class_section client_class = parser->client_class;
	char error[CANFS_CLASS_ERROR_MAX];
	int line = parser->reader.line;

	parser->client_class = (struct class_section) { .line = 0 };
	if (client_class.header_line == 0)
		return 1;
	parser->reader.line = client_class.line != 0 ? client_class.line : client_class.header_line;
	if (client_class.clients == 0)
		canfs_options_mistake(
			&parser->reader, "class %s: it has no clients", client_class.name);
	else if (canfs_classes_end(&parser->config.classes, client_class.name,
			 client_class.premium_pct, error) != 0)
		canfs_options_mistake(&parser->reader, "%s", error);
	parser->reader.line = line;
	return parser->reader.error[0] == '\0';
}

static int add_client(struct parser *parser, const char *word, size_t len)
{
	char text[512], error[CANFS_CLASS_ERROR_MAX]; /* a longer word is no valid name */

	snprintf(text, sizeof(text), "%.*s", (int)len, word);
	parser->client_class.clients++;
	if (canfs_classes_add_word(&parser->config.classes, text,
		    parser->names ? canfs_names_find : NULL, parser->names, error) != 0)
		return canfs_options_mistake(&parser->reader, "clients: %s", error);
	return 1;
}

static int set_premium(struct parser *parser, const char *value)
{
	struct class_section *client_class = &parser->client_class;
	char *end;
	long number;

	if (client_class->premium_line != 0)
		return canfs_options_mistake(&parser->reader, "premium: already set in line %d",
			client_class->premium_line);
	client_class->premium_line = parser->reader.line;
	errno = 0;
	number = strtol(value, &end, 10);
	if (end == value || *end != '\0')
		return canfs_options_mistake(
			&parser->reader, "premium = %.64s: not a whole number", value);
	if (errno != 0 || number < CANFS_PREMIUM_PCT_MIN || number > CANFS_PREMIUM_PCT_MAX)
		return canfs_options_mistake(&parser->reader, "premium = %.64s: not in %d ... %d",
			value, CANFS_PREMIUM_PCT_MIN, CANFS_PREMIUM_PCT_MAX);
	client_class->premium_pct = (int)number;
	return 1;
}

static int set_class(struct parser *parser, const char *name, const char *value)
{
	if (parser->client_class.line == 0)
		parser->client_class.line = parser->reader.line;
	if (strcmp(name, "clients") == 0)
		return set_names(parser, value, add_client);
	if (strcmp(name, "premium") == 0)
		return set_premium(parser, value);
	return canfs_options_mistake(
		&parser->reader, "%.64s: a class has clients and premium", name);
}

static int take_pair(struct canfs_options_reader *reader, const char *name, const char *value)
{
	struct parser *parser = reader->data;

	if (parser->place == CLASS)
		return set_class(parser, name, value);
	if (parser->place == NOWHERE)
		return canfs_options_mistake(reader, "%.64s: not below [priced]", name);
	return canfs_options_set(reader, name, value, false);
}

static void take_header(struct canfs_options_reader *reader, struct canfs_span header)
{
	static const char section[] = "class ";
	const size_t prefix = sizeof(section) - 1;
	struct parser *parser = reader->data;
	struct class_section *client_class = &parser->client_class;

	(void)end_class(parser);
	if (canfs_span_is(header, "priced")) {
		parser->place = PRICED;
		return;
	}
	if (header.len < prefix || memcmp(header.at, section, prefix) != 0) {
		canfs_options_mistake(
			reader, "only the sections [priced] and [class NAME] are allowed");
		return;
	}
	parser->place = CLASS;
	*client_class = (struct class_section) { .header_line = reader->line };
	snprintf(client_class->name, sizeof(client_class->name), "%.*s", (int)(header.len - prefix),
		header.at + prefix);
	if (parser->names)
		parser->names->class_name = client_class->name;
}

const struct canfs_option_table canfs_priced_options = {
	.option = options,
	.n = OPTIONS,
	.retired = retired,
	.n_retired = sizeof(retired) / sizeof(retired[0]),
	.line_is = "\"name = value\" nor a section",
	.header = take_header,
	.pair = take_pair,
};

void canfs_priced_config_defaults(struct canfs_priced_config *config)
{
	memset(config, 0, sizeof(*config));
	canfs_options_defaults(&canfs_priced_options, config);
	config->monitors = CANFS_PRICED_MONITORS;
}

int canfs_priced_config_parse_string(struct canfs_priced_config *config, const char *file,
	const char *text, struct canfs_names *client_names, char error[CANFS_OPTIONS_ERROR_MAX])
{
	struct parser *parser = calloc(1, sizeof(*parser));

	if (!parser) {
		snprintf(error, CANFS_OPTIONS_ERROR_MAX, "%.128s: out of memory", file);
		return -ENOMEM;
	}
	parser->config = *config;
	parser->names = client_names;
	parser->reader = (struct canfs_options_reader) { .options = &canfs_priced_options,
		.config = &parser->config,
		.data = parser,
		.file = file,
		.error = error };
	(void)canfs_options_read(&parser->reader, text);
	(void)end_class(parser);
	if (error[0] == '\0')
		*config = parser->config;
	free(parser);
	return error[0] != '\0' ? -EINVAL : 0;
}

int canfs_priced_config_parse_file(struct canfs_priced_config *config, const char *file,
	struct canfs_names *client_names, char error[CANFS_OPTIONS_ERROR_MAX])
{
	char *text;
	int ret = canfs_options_read_file(file, &text, error);

	if (ret)
		return ret;
	ret = canfs_priced_config_parse_string(config, file, text, client_names, error);
	free(text);
	return ret;
}

/* The kernel's server is not limited by our control group, so the whole machine is measured. */
void canfs_priced_config_of_sampler(
	const struct canfs_priced_config *config, struct canfs_sampler_config *sampler)
{
	*sampler = (struct canfs_sampler_config) { .interval_ms = CANFS_INTERVAL_MS,
		.publish = true,
		.monitors = config->monitors,
		.k_disk = config->k_disk,
		.setup = { .root = "",
			.whole_machine = true,
			.link_mbit_per_sec = config->link_speed,
			.disk_read_queue = config->disk_read_queue,
			.disk_write_queue = config->disk_write_queue,
			.interface_count = config->interface_count } };
	memcpy(sampler->setup.interfaces, config->interfaces, sizeof(sampler->setup.interfaces));
}

bool canfs_priced_config_pmax(const struct canfs_priced_config *before,
	const struct canfs_priced_config *now, struct canfs_settings *settings)
{
	if (before && now->pmax_percent == before->pmax_percent)
		return false;
	settings->pmax = now->pmax_percent / 100.0 * CANFS_PRICE_MAX;
	return true;
}
