// SPDX-License-Identifier: LGPL-3.0-or-later
/* Options of the CANFS { } block about prices, classes of clients and the control socket. */
#include "ganesha-fsal/price/price.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/address.h"
#include "common/control/socket.h"
#include "pricing/price.h"

#define BIT_OF(NAME, name) | 1u << CANFS_##NAME
#define ALL_MONITORS       (0u CANFS_RESOURCE_ROWS(BIT_OF))

/* For a list whose words are stored in place. */
static void *list_init(void *link_mem, void *self)
{
	(void)link_mem;
	return self;
}

#define MONITOR_TOKEN(NAME, name) CONFIG_LIST_TOK(#name, 1u << CANFS_##NAME),
static struct config_item_list monitor_names[] = {
	CANFS_RESOURCE_ROWS(MONITOR_TOKEN) CONFIG_LIST_EOL,
};

/*
 * Ganesha drops a whole list if one word is unknown. This function skips unknown words: Ganesha has
 * already logged the word and its line.
 */
static int known_monitors_add(const char *token, enum term_type type, struct config_item *item,
	void *param, void *node, struct config_error_type *err_type)
{
	(void)type;
	(void)item;
	(void)node;
	(void)err_type;
	for (const struct config_item_list *known = monitor_names; known->token; known++) {
		if (strcasecmp(known->token, token) == 0)
			*(uint32_t *)param |= known->value;
	}
	return 0;
}

/*
 * Ganesha logs the file and the line of the block. Ganesha's own message function is not exported.
 */
static int interfaces_add(const char *token, enum term_type type, struct config_item *item,
	void *param, void *node, struct config_error_type *err_type)
{
	struct canfs_monitor_setup *setup =
		container_of(param, struct canfs_monitor_setup, interfaces);

	(void)type;
	(void)item;
	(void)node;
	if (setup->interface_count == CANFS_INTERFACES_MAX || token[0] == '\0' ||
		strlen(token) >= IF_NAMESIZE || strchr(token, '/')) {
		LogCrit(COMPONENT_CONFIG,
			"CANFS: Interfaces: \"%s\": must be at most %d names of network interfaces",
			token, CANFS_INTERFACES_MAX);
		err_type->invalid = true;
		return 1;
	}
	memcpy(setup->interfaces[setup->interface_count++], token, strlen(token) + 1);
	return 0;
}

static bool needs_scope(const struct in6_addr *address)
{
	return IN6_IS_ADDR_LINKLOCAL(address) && canfs_scope_of(address) == 0;
}

static int peers_add(const char *token, enum term_type type, struct config_item *item, void *param,
	void *node, struct config_error_type *err_type)
{
	struct canfs_monitor_setup *setup = container_of(param, struct canfs_monitor_setup, peers);
	bool is_ipv4;

	(void)type;
	(void)item;
	(void)node;
	if (setup->peer_count == CANFS_PEERS_MAX ||
		!canfs_parse_address(
			token, strlen(token), &setup->peers[setup->peer_count], &is_ipv4) ||
		needs_scope(&setup->peers[setup->peer_count])) {
		LogCrit(COMPONENT_CONFIG,
			"CANFS: Peers: \"%s\": must be at most %d IPv4 or IPv6 addresses, a "
			"link-local one such as fe80::1%%eth0",
			token, CANFS_PEERS_MAX);
		err_type->invalid = true;
		return 1;
	}
	setup->peer_count++;
	return 0;
}

/* A Class { } block while it is read. Its clients are added to the classes of `price` at once. */
struct class_block {
	char *name;
	int32_t premium_pct;
	struct canfs_price_options *price;
	unsigned int clients; /* the number of words */
};

/*
 * Ganesha calls this to create a block, to free a block, and to get a default, which does not
 * exist.
 */
static void *class_init(void *link_mem, void *self)
{
	struct class_block *client_class = self;

	if (!link_mem)
		return self;
	if (!client_class) {
		client_class = gsh_calloc(1, sizeof(*client_class));
		client_class->price = container_of(link_mem, struct canfs_price_options, classes);
		return client_class;
	}
	gsh_free(client_class->name);
	gsh_free(client_class);
	return NULL;
}

static int refuse_class(const char *error, struct config_error_type *err_type)
{
	LogCrit(COMPONENT_CONFIG, "CANFS: Class: %s", error);
	err_type->invalid = true;
	return 1;
}

static int class_clients_add(const char *token, enum term_type type, struct config_item *item,
	void *param, void *node, struct config_error_type *err_type)
{
	struct class_block *client_class = container_of(param, struct class_block, clients);
	struct canfs_names *names = client_class->price->names;
	char error[CANFS_CLASS_ERROR_MAX];

	(void)type;
	(void)item;
	(void)node;
	client_class->clients++;
	if (names)
		names->class_name = client_class->name ? client_class->name : "";
	if (canfs_classes_add_word(&client_class->price->classes, token,
		    names ? canfs_names_find : NULL, names, error) != 0)
		return refuse_class(error, err_type);
	return 0;
}

/* The block itself is not kept. */
static int class_commit(void *node, void *link_mem, void *self, struct config_error_type *err_type)
{
	struct class_block *client_class = self;
	char error[CANFS_CLASS_ERROR_MAX];

	(void)node;
	if (client_class->clients == 0) {
		snprintf(
			error, sizeof(error), "class %.32s: it has no Clients", client_class->name);
		return refuse_class(error, err_type);
	}
	if (canfs_classes_end(link_mem, client_class->name, client_class->premium_pct, error) != 0)
		return refuse_class(error, err_type);
	class_init(link_mem, self);
	return 0;
}

/* The name comes first, because messages about the other options contain it. */
static struct config_item class_items[] = {
	CONF_MAND_STR("Name", 1, CANFS_CLASS_NAME_MAX - 1, NULL, class_block, name),
	CONF_ITEM_I32("Premium", CANFS_PREMIUM_PCT_MIN, CANFS_PREMIUM_PCT_MAX, 0, class_block,
		premium_pct),
	COMPAT_ITEM_PROC("Clients", list_init, class_clients_add, class_block, clients),
	CONFIG_EOL,
};

#define K_MIN 2 /* Ganesha's parser knows only whole numbers; see CANFS_K_MIN */
#define K_MAX ((uint32_t)CANFS_K_MAX)

#define PRICE_UI32(name, min, max, def, member)                                                    \
	CONF_ITEM_UI32(name, min, max, def, canfs_price_options, member)

/* If the default is 0, the table in pricing/market.c or monitors/disk_types.c decides. */
#define QUEUE_MIN 1
#define QUEUE_MAX 65536

/*
 * Percent, because Ganesha's parser has no fractions: it reads 0.5 as a file system ID, and 0.08 as
 * 0.0 and 8.
 */
#define ITEM_PERCENT(name, member) PRICE_UI32(name, 0, 100, 100, member)

struct config_item canfs_price_items[] = {
	CONF_ITEM_BOOL("Publish", true, canfs_price_options, publish),
	CONF_ITEM_LIST("Monitors", ALL_MONITORS, monitor_names, canfs_price_options, monitors),
	COMPAT_ITEM_PROC(
		"Monitors", list_init, known_monitors_add, canfs_price_options, known_monitors),
	COMPAT_ITEM_PROC(
		"Interfaces", list_init, interfaces_add, canfs_price_options, setup.interfaces),
	PRICE_UI32("Link_Speed", 1, 10000000, 0, setup.link_mbit_per_sec),
	PRICE_UI32("Disk_Read_Queue", QUEUE_MIN, QUEUE_MAX, 0, disk_read_queue),
	PRICE_UI32("Disk_Write_Queue", QUEUE_MIN, QUEUE_MAX, 0, disk_write_queue),
	ITEM_PERCENT("Pmax_Percent", pmax_percent),
	PRICE_UI32("K_Disk", K_MIN, K_MAX, 0, k_disk),
	CONF_ITEM_STR("Control_Socket", 0, CANFS_SOCKET_PATH_MAX - 1, "/run/canfs/ganesha.sock",
		canfs_price_options, control_socket),
	CONF_ITEM_UI16("Price_Port", 0, UINT16_MAX, 0, canfs_price_options, price_port),
	COMPAT_ITEM_PROC("Peers", list_init, peers_add, canfs_price_options, setup.peers),
	COMPAT_ITEM_BLOCK(
		"Class", class_items, class_init, class_commit, canfs_price_options, classes),
	CONFIG_EOL,
};

#define WEIGHT_HINT "all resources count alike; Monitors names those that have a price"

/* Up to version 1.0. */
const struct canfs_retired_option canfs_price_retired[] = {
	{ "Price_Interval", "it is always 100 ms" },
	{ "Ghost_Memory", "it is always 16 MiB" },
	{ "K_Cpu", "it is always 64" },
	{ "K_Network", "it is always 64" },
	{ "K_Memory", "it is always 32" },
	{ "K_Backend", "it is always 4" },
	{ "Weight_Cpu_Percent", WEIGHT_HINT },
	{ "Weight_Network_Percent", WEIGHT_HINT },
	{ "Weight_Disk_Percent", WEIGHT_HINT },
	{ "Weight_Memory_Percent", WEIGHT_HINT },
	{ "Weight_Backend_Percent", WEIGHT_HINT },
	{ NULL, NULL },
};

/* Options that an export may have of its own. 0: not given. */
#define EXPORT_UI32(name, min, max, member)                                                        \
	CONF_ITEM_UI32(name, min, max, 0, canfs_price_export_options, member)
struct config_item canfs_price_export_items[] = {
	EXPORT_UI32("Disk_Read_Queue", QUEUE_MIN, QUEUE_MAX, disk_read_queue),
	EXPORT_UI32("Disk_Write_Queue", QUEUE_MIN, QUEUE_MAX, disk_write_queue),
	EXPORT_UI32("K_Disk", K_MIN, K_MAX, k),
	CONFIG_EOL,
};

static void name_thread(void)
{
	canfs_name_thread("canfs_market");
}

void canfs_price_prepare(void *own, bool names)
{
	struct canfs_price_options *options = own;

	if (!names)
		return;
	options->names = gsh_malloc(sizeof(*options->names));
	canfs_names_begin(options->names, canfs_log_event);
}

bool canfs_price_settle(void *own)
{
	struct canfs_price_options *options = own;

	gsh_free(options->names);
	options->names = NULL;
	if (options->monitors == 0)
		options->monitors = options->known_monitors;
	if (options->monitors == 0)
		LogCrit(COMPONENT_CONFIG, "CANFS: Monitors names no known monitor");
	if (options->setup.peer_count > 0 && options->price_port == 0)
		LogWarn(COMPONENT_CONFIG,
			"CANFS: Peers: no peer is asked, because there is no Price_Port");
	options->setup.peer_port = options->price_port;
	options->setup.root = "";
	options->setup.disk_read_queue = options->disk_read_queue;
	options->setup.disk_write_queue = options->disk_write_queue;
	options->sampler = (struct canfs_sampler_config) { .interval_ms = CANFS_INTERVAL_MS,
		.publish = options->publish,
		.monitors = options->monitors,
		.k_disk = options->k_disk,
		.setup = options->setup,
		.say = canfs_log_event,
		.thread_begins = name_thread };
	options->pmax = options->pmax_percent / 100.0 * CANFS_PRICE_MAX;
	return true;
}

void canfs_price_forget(void *own)
{
	struct canfs_price_options *options = own;

	gsh_free(options->control_socket);
	gsh_free(options->names);
}
