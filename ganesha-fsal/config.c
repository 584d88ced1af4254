// SPDX-License-Identifier: LGPL-3.0-or-later
/* The CANFS { } block. Its manual is man/ganesha-canfs-config.8. */
#include "ganesha-fsal/canfs_methods.h"
#include "ganesha-fsal/parse_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/address.h"
#include "common/control/socket.h"
#include "ganesha-fsal/scheduler/policies.h"
#include "pricing/price.h"
#include "server/classes/names.h"

/* As Ganesha's parser fills it in. */
struct parameters {
	uint32_t interval_ms;
	bool publish;
	uint32_t monitors, known_monitors;
	uint32_t disk_read_queue;
	uint32_t disk_write_queue;
	uint32_t k[CANFS_RESOURCES];
	uint32_t pmax_percent;
	uint32_t weight_percent[CANFS_RESOURCES];
	uint32_t ghost_memory_mib;
	char *control_socket;
	uint16_t price_port;
	bool commit_metadata;
	bool delegations;
	bool prefetch;
	uint32_t export_prefetch, export_prefetch_given; /* 1 or 0 */
	uint32_t prefetch_files;
	uint32_t prefetch_open_files;
	uint32_t scheduler;
	uint32_t scheduler_depth;
	uint32_t lag_kib;
	struct canfs_monitor_setup setup;
	struct canfs_classes classes;
	struct canfs_names *names; /* to look up those of clients; NULL: they are left out */
};

#define BIT_OF(NAME, name, Name) | 1u << CANFS_##NAME
#define ALL_MONITORS             (0u CANFS_RESOURCE_ROWS(BIT_OF))

/* Of a list whose words go where it stands. */
static void *list_init(void *link_mem, void *self)
{
	(void)link_mem;
	return self;
}

#define MONITOR_TOKEN(NAME, name, Name) CONFIG_LIST_TOK(#name, 1u << CANFS_##NAME),
static struct config_item_list monitor_names[] = {
	CANFS_RESOURCE_ROWS(MONITOR_TOKEN) CONFIG_LIST_EOL,
};

/* Ganesha drops a whole list if one word is unknown. It logs the word and its line, so here unknown words are skipped. */
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

/* Ganesha names the file and the line of the block; its own message function is not exported. */
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
			"CANFS: Interfaces: \"%s\": allowed are at most %d names of network "
			"interfaces",
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
			"CANFS: Peers: \"%s\": allowed are at most %d addresses of IPv4 or IPv6, a "
			"link-local one as fe80::1%%eth0",
			token, CANFS_PEERS_MAX);
		err_type->invalid = true;
		return 1;
	}
	setup->peer_count++;
	return 0;
}

/* A Class { } block, as it is read: what it says of clients goes to the parameters' classes at once. */
struct class_block {
	char *name;
	int32_t premium_pct;
	struct parameters *parameters;
	unsigned int clients; /* how many words */
};

/* As Ganesha wants it: a new one, the end of one, or a default that there is not. */
static void *class_init(void *link_mem, void *self)
{
	struct class_block *client_class = self;

	if (!link_mem)
		return self;
	if (!client_class) {
		client_class = gsh_calloc(1, sizeof(*client_class));
		client_class->parameters = container_of(link_mem, struct parameters, classes);
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
	struct canfs_names *names = client_class->parameters->names;
	char error[CANFS_CLASS_ERROR_MAX];

	(void)type;
	(void)item;
	(void)node;
	client_class->clients++;
	if (names)
		names->class_name = client_class->name ? client_class->name : "";
	if (canfs_classes_add_word(&client_class->parameters->classes, token,
		    names ? canfs_names_find : NULL, names, error) != 0)
		return refuse_class(error, err_type);
	return 0;
}

/* Nothing is kept of the block itself. */
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

/* The name first, since messages of the others have it. */
static struct config_item class_items[] = {
	CONF_MAND_STR("Name", 1, CANFS_CLASS_NAME_MAX - 1, NULL, class_block, name),
	CONF_ITEM_I32("Premium", CANFS_PREMIUM_PCT_MIN, CANFS_PREMIUM_PCT_MAX, 0, class_block,
		premium_pct),
	COMPAT_ITEM_PROC("Clients", list_init, class_clients_add, class_block, clients),
	CONFIG_EOL,
};

/* 0: by the type of the device; else one more than its number in canfs_policies[]. */
#define AUTO                       0
#define POLICY_TOKEN(policy, name) CONFIG_LIST_TOK(name, CANFS_POLICY_##policy + 1),
static struct config_item_list scheduler_names[] = { CONFIG_LIST_TOK("auto", AUTO),
	CANFS_POLICY_ROWS(POLICY_TOKEN) CONFIG_LIST_EOL };

#define K_MIN 2 /* of the whole numbers that Ganesha's parser knows; see CANFS_K_MIN */
#define K_MAX ((uint32_t)CANFS_K_MAX)

/* Those that an export may have for itself. 0: not given. */
#define DISK_ITEMS                                                                                 \
	CONF_ITEM_UI32("Disk_Read_Queue", 1, 65536, 0, parameters, disk_read_queue),               \
		CONF_ITEM_UI32("Disk_Write_Queue", 1, 65536, 0, parameters, disk_write_queue)

#define ITEM_K(NAME, name, Name)                                                                   \
	CONF_ITEM_UI32("K_" #Name, K_MIN, K_MAX, 0, parameters, k[CANFS_##NAME]),

/*
 * Percent, since Ganesha's parser has no fractions: it reads 0.5 as a file system's number, and 0.08 as
 * 0.0 and 8.
 */
#define ITEM_PERCENT(name, member) CONF_ITEM_UI32(name, 0, 100, 100, parameters, member)
#define ITEM_WEIGHT(NAME, name, Name)                                                              \
	ITEM_PERCENT("Weight_" #Name "_Percent", weight_percent[CANFS_##NAME]),

/* 0 where a default of 0 stands: the table in pricing/market.c or monitors/disk_types.c decides. */
static struct config_item items[] = {
	CONF_ITEM_UI32("Price_Interval", CANFS_INTERVAL_MS_MIN, CANFS_INTERVAL_MS_MAX, 100,
		parameters, interval_ms),
	CONF_ITEM_BOOL("Publish", true, parameters, publish),
	CONF_ITEM_LIST("Monitors", ALL_MONITORS, monitor_names, parameters, monitors),
	COMPAT_ITEM_PROC("Monitors", list_init, known_monitors_add, parameters, known_monitors),
	COMPAT_ITEM_PROC("Interfaces", list_init, interfaces_add, parameters, setup.interfaces),
	CONF_ITEM_UI32("Link_Speed", 1, 10000000, 0, parameters, setup.link_mbit_per_sec),
	DISK_ITEMS,
	CONF_ITEM_UI32("Ghost_Memory", 0, CANFS_GHOSTS_MEMORY_MAX_BYTES >> 20, 16, parameters,
		ghost_memory_mib),
	ITEM_PERCENT("Pmax_Percent", pmax_percent),
	CANFS_RESOURCE_ROWS(ITEM_K) CANFS_RESOURCE_ROWS(ITEM_WEIGHT)
		CONF_ITEM_STR("Control_Socket", 0, CANFS_SOCKET_PATH_MAX - 1,
			"/run/canfs/ganesha.sock", parameters, control_socket),
	CONF_ITEM_UI16("Price_Port", 0, UINT16_MAX, 0, parameters, price_port),
	COMPAT_ITEM_PROC("Peers", list_init, peers_add, parameters, setup.peers),
	CONF_ITEM_BOOL("Commit_Metadata", false, parameters, commit_metadata),
	CONF_ITEM_BOOL("Prefetch", true, parameters, prefetch),
	CONF_ITEM_UI32("Prefetch_Files", 64, 16777216, 1000000, parameters, prefetch_files),
	CONF_ITEM_UI32("Prefetch_Open_Files", 16, 65536, 1024, parameters, prefetch_open_files),
	CONF_ITEM_TOKEN("Scheduler", AUTO, scheduler_names, parameters, scheduler),
	CONF_ITEM_UI32(
		"Scheduler_Depth", 0, CANFS_ENGINE_DEPTH_MAX, 0, parameters, scheduler_depth),
	CONF_ITEM_UI32("Lag_Kib", 64, 1048576, 12288, parameters, lag_kib),
	COMPAT_ITEM_BLOCK("Class", class_items, class_init, class_commit, parameters, classes),
	CONFIG_EOL,
};

static struct config_block block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.canfs",
	.blk_desc.name = "CANFS",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.flags = CONFIG_UNIQUE,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = items,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

/* What is not ours is for export.c. FSAL is a block: as a NOOP it might have no more than one option. */
static struct config_item no_items[] = { CONFIG_EOL };
static struct config_item export_items[] = {
	CONF_ITEM_NOOP("Name"),
	CONF_RELAX_BLOCK("FSAL", no_items, noop_conf_init, noop_conf_commit, parameters, setup),
	DISK_ITEMS,
	CONF_ITEM_BOOL("Delegations", false, parameters, delegations),
	ITEM_K(DISK, disk, Disk) CONF_ITEM_BOOLBIT_SET(
		"Prefetch", true, 1, parameters, export_prefetch, export_prefetch_given),
	CONFIG_EOL,
};

static struct config_block export_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.canfs-disks%d",
	.blk_desc.name = "FSAL",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = export_items,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

/* As snprintf() to what is there already; what does not fit is left out. */
static void append(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

/* What is allowed, of each item, and of those of blocks in it. */
static void append_items(char *text, size_t size, const struct config_item *item)
{
	for (const char *between = ""; item->name; item++, between = "; ") {
		if (item->type == CONFIG_PROC && item->u.proc.handler == known_monitors_add)
			continue;
		append(text, size, "%s%s", between, item->name);
		if (item->type == CONFIG_UINT32)
			append(text, size, " %u to %u", item->u.ui32.minval, item->u.ui32.maxval);
		else if (item->type == CONFIG_INT32)
			append(text, size, " %d to %d", item->u.i32.minval, item->u.i32.maxval);
		else if (item->type == CONFIG_UINT16)
			append(text, size, " %u to %u", item->u.ui16.minval, item->u.ui16.maxval);
		else if (item->type == CONFIG_BOOL || item->type == CONFIG_BOOLBIT)
			append(text, size, " true or false");
		else if (item->type == CONFIG_BLOCK && item->u.blk.params->name) {
			append(text, size, " { ");
			append_items(text, size, item->u.blk.params);
			append(text, size, " }");
		}
		for (const struct config_item_list *token =
				item->type == CONFIG_LIST ? item->u.lst.tokens : NULL;
			token && token->token; token++)
			append(text, size, " %s", token->token);
	}
}

/*
 * Loaded without an error? Ganesha says in which line one is, but not what would be right: this does, of
 * all options of the block.
 */
static bool check_block(
	const char *block_name, const struct config_item *item, struct config_error_type *errors)
{
	bool harmless = config_error_is_harmless(errors);
	char text[1024] = "";

	if (harmless && !errors->bogus)
		return true;
	append_items(text, sizeof(text), item);
	LogCrit(COMPONENT_CONFIG, "allowed in %s: %s", block_name, text);
	return harmless;
}

static void say(const char *message)
{
	LogEvent(COMPONENT_FSAL, "CANFS: %s", message);
}

static void name_thread(void)
{
	canfs_name_thread("canfs_market");
}

/* Takes over what given holds. */
static int take(struct parameters *given, struct config_error_type *errors,
	struct canfs_fsal_config *config)
{
	if (!check_block("CANFS { }", items, errors)) {
		gsh_free(given->control_socket);
		return -EINVAL;
	}
	if (given->monitors == 0)
		given->monitors = given->known_monitors;
	if (given->monitors == 0)
		LogCrit(COMPONENT_CONFIG, "CANFS: Monitors names none that there is");
	if (given->setup.peer_count > 0 && given->price_port == 0)
		LogWarn(COMPONENT_CONFIG, "CANFS: Peers: none is asked without a Price_Port");
	given->setup.peer_port = given->price_port;
	given->setup.root = "";
	given->setup.disk_read_queue = given->disk_read_queue;
	given->setup.disk_write_queue = given->disk_write_queue;
	*config = (struct canfs_fsal_config) {
		.sampler = { .interval_ms = given->interval_ms,
			.publish = given->publish,
			.monitors = given->monitors,
			.setup = given->setup,
			.say = say,
			.thread_begins = name_thread },
		.pmax = given->pmax_percent / 100.0 * CANFS_PRICE_MAX,
		.control_path = given->control_socket,
		.price_port = given->price_port,
		.commit_metadata = given->commit_metadata,
		.prefetch = given->prefetch,
		.classes = given->classes,
		.prefetcher = { .files = given->prefetch_files,
			.open_max = given->prefetch_open_files,
			.depth = given->scheduler_depth,
			.lag_bytes = given->lag_kib << 10 },
	};
	for (int i = 0; i < CANFS_RESOURCES; i++) {
		config->sampler.k[i] = given->k[i];
		config->weight[i] = given->weight_percent[i] / 100.0;
	}
	if (given->scheduler != AUTO)
		snprintf(config->prefetcher.policy, sizeof(config->prefetcher.policy), "%s",
			scheduler_names[given->scheduler].token);
	if (given->monitors & 1u << CANFS_MEMORY)
		config->ghost_memory_bytes = (size_t)given->ghost_memory_mib << 20;
	return 0;
}

/*
 * What is wrong in the block must not count against the export that made Ganesha come to us, nor what was
 * wrong in earlier exports against the block; the messages go the same way.
 */
int canfs_read_config(
	config_file_t file, struct canfs_fsal_config *config, struct config_error_type *err_type)
{
	struct config_error_type errors = { .fp = err_type->fp };
	struct canfs_names names;
	struct parameters given = { .names = &names };

	if (!canfs_parse_tree_check(file, block.blk_desc.name))
		LogWarn(COMPONENT_CONFIG,
			"CANFS: changes in CANFS { } will need a restart of this server");
	canfs_names_begin(&names, say);
	(void)load_config_from_parse(file, &block, &given, true, &errors);
	return take(&given, &errors, config);
}

/* Of a syntax error that Ganesha's parser gets over, an empty block remains, and a message. */
static bool had_syntax_error(const struct config_error_type *err_type)
{
	return err_type->fp && fflush(err_type->fp) == 0 &&
	       strstr(err_type->diag_buf, "Syntax error in");
}

int canfs_reread_config(void *parse_node, struct canfs_fsal_config *config, bool look_up,
	struct config_error_type *err_type)
{
	struct config_error_type errors = { .fp = err_type->fp };
	struct canfs_names names;
	struct parameters given = { .names = look_up ? &names : NULL };
	void *node = canfs_parse_tree_find(parse_node, block.blk_desc.name);

	if (!node)
		return -ENOENT;
	if (had_syntax_error(err_type))
		return -EINVAL;
	canfs_names_begin(&names, say);
	(void)load_config_from_node(node, &block, &given, true, &errors);
	return take(&given, &errors, config);
}

int canfs_read_export_config(
	void *parse_node, struct canfs_export_options *own, struct config_error_type *err_type)
{
	/* As above: it costs the export its prices, not its files. */
	struct config_error_type errors = { .fp = err_type->fp };
	struct parameters given = { .disk_read_queue = 0 };

	(void)load_config_from_node(parse_node, &export_block, &given, true, &errors);
	if (!check_block("FSAL { Name = CANFS; }", export_items, &errors))
		return -EINVAL;
	*own = (struct canfs_export_options) { .disks = { .read_queue = given.disk_read_queue,
						       .write_queue = given.disk_write_queue,
						       .k = given.k[CANFS_DISK] },
		.prefetch = CANFS_PREFETCH_LOCAL,
		.delegations = given.delegations };
	if (given.export_prefetch_given)
		own->prefetch = given.export_prefetch ? CANFS_PREFETCH_ALWAYS : CANFS_PREFETCH_OFF;
	return 0;
}

int canfs_reread_export_config(
	void *parse_node, struct canfs_export_options *own, struct config_error_type *err_type)
{
	if (had_syntax_error(err_type))
		return -ENOENT;
	return canfs_read_export_config(parse_node, own, err_type);
}
