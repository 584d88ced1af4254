// SPDX-License-Identifier: LGPL-3.0-or-later
/* The CANFS { } block. Its manual is man/ganesha-canfs-config.8. */
#include "ganesha-fsal/canfs_methods.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "ganesha-fsal/control/socket.h"
#include "pricing/price.h"

/* As Ganesha's parser fills it in. */
struct parameters {
	uint32_t interval_ms;
	bool publish;
	uint32_t monitors;
	uint32_t k_cpu;
	uint32_t k_network;
	uint32_t k_disk;
	uint32_t k_memory;
	uint32_t ghost_memory_mib;
	char *control_socket;
	struct canfs_monitor_setup setup;
};

#define ALL_MONITORS (1u << CANFS_CPU | 1u << CANFS_NETWORK | 1u << CANFS_DISK | 1u << CANFS_MEMORY)

static void *interfaces_init(void *link_mem, void *self)
{
	(void)link_mem;
	return self;
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
		strlen(token) >= IF_NAMESIZE || strchr(token, '/') != NULL) {
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

static struct config_item_list monitor_names[] = {
	CONFIG_LIST_TOK("cpu", 1u << CANFS_CPU),
	CONFIG_LIST_TOK("network", 1u << CANFS_NETWORK),
	CONFIG_LIST_TOK("disk", 1u << CANFS_DISK),
	CONFIG_LIST_TOK("memory", 1u << CANFS_MEMORY),
	CONFIG_LIST_EOL,
};

#define K_MIN 2 /* of the whole numbers that Ganesha's parser knows; see CANFS_K_MIN */
#define K_MAX ((uint32_t)CANFS_K_MAX)

/* 0 where a default of 0 stands: the table in pricing/market.c or monitors/devices.c decides. */
static struct config_item items[] = {
	CONF_ITEM_UI32("Price_Interval", CANFS_INTERVAL_MS_MIN, CANFS_INTERVAL_MS_MAX, 100,
		parameters, interval_ms),
	CONF_ITEM_BOOL("Publish", true, parameters, publish),
	CONF_ITEM_LIST("Monitors", ALL_MONITORS, monitor_names, parameters, monitors),
	COMPAT_ITEM_PROC(
		"Interfaces", interfaces_init, interfaces_add, parameters, setup.interfaces),
	CONF_ITEM_UI32("Link_Speed", 1, 10000000, 0, parameters, setup.link_mbit_per_sec),
	CONF_ITEM_UI32("Disk_Read_Queue", 1, 65536, 0, parameters, setup.disk_read_queue),
	CONF_ITEM_UI32("Disk_Write_Queue", 1, 65536, 0, parameters, setup.disk_write_queue),
	CONF_ITEM_UI32("Ghost_Memory", 0, CANFS_GHOSTS_MEMORY_MAX_BYTES >> 20, 16, parameters,
		ghost_memory_mib),
	CONF_ITEM_UI32("K_Cpu", K_MIN, K_MAX, 0, parameters, k_cpu),
	CONF_ITEM_UI32("K_Network", K_MIN, K_MAX, 0, parameters, k_network),
	CONF_ITEM_UI32("K_Disk", K_MIN, K_MAX, 0, parameters, k_disk),
	CONF_ITEM_UI32("K_Memory", K_MIN, K_MAX, 0, parameters, k_memory),
	CONF_ITEM_STR("Control_Socket", 0, CANFS_SOCKET_PATH_MAX - 1, "/run/canfs/ganesha.sock",
		parameters, control_socket),
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

static void say(const char *message)
{
	LogEvent(COMPONENT_FSAL, "CANFS: %s", message);
}

/* The first name is for Ganesha's log, the second for top -H. */
static void name_thread(void)
{
	SetNameFunction("canfs_market");
	pthread_setname_np(pthread_self(), "canfs_market");
}

/* Takes over what given holds. */
static int take(
	struct parameters *given, struct config_error_type *errors, struct canfs_config *config)
{
	if (!config_error_is_harmless(errors)) {
		gsh_free(given->control_socket);
		return -EINVAL;
	}
	if (given->monitors == 0)
		LogCrit(COMPONENT_CONFIG, "CANFS: Monitors names none that there is");
	given->setup.root = "";
	*config = (struct canfs_config) {
		.exchange = { .interval_ms = given->interval_ms,
			.publish = given->publish,
			.monitors = given->monitors,
			.k = { [CANFS_CPU] = given->k_cpu,
				[CANFS_NETWORK] = given->k_network,
				[CANFS_DISK] = given->k_disk,
				[CANFS_MEMORY] = given->k_memory },
			.setup = given->setup,
			.say = say,
			.thread_begins = name_thread },
		.control_path = given->control_socket,
	};
	if (given->monitors & 1u << CANFS_MEMORY)
		config->ghost_memory_bytes = (size_t)given->ghost_memory_mib << 20;
	return 0;
}

/*
 * What is wrong in the block must not count against the export that made Ganesha come to us, nor what was
 * wrong in earlier exports against the block; the messages go the same way.
 */
int canfs_read_config(
	config_file_t file, struct canfs_config *config, struct config_error_type *err_type)
{
	struct config_error_type errors = { .fp = err_type->fp };
	struct parameters given = { .interval_ms = 0 };

	(void)load_config_from_parse(file, &block, &given, true, &errors);
	return take(&given, &errors, config);
}

/* Of a syntax error that Ganesha's parser gets over, an empty block remains, and a message. */
static bool had_syntax_error(const struct config_error_type *err_type)
{
	return err_type->fp != NULL && fflush(err_type->fp) == 0 &&
	       strstr(err_type->diag_buf, "Syntax error in") != NULL;
}

int canfs_reread_config(struct canfs_config *config, struct config_error_type *err_type)
{
	struct config_error_type errors = { .fp = err_type->fp };
	struct parameters given = { .interval_ms = 0 };
	void *node = config_GetBlockNode(block.blk_desc.name);

	if (node == NULL)
		return -ENOENT;
	if (had_syntax_error(err_type))
		return -EINVAL;
	(void)load_config_from_node(node, &block, &given, true, &errors);
	return take(&given, &errors, config);
}
