/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The configuration of canfs-priced, /etc/canfs/priced.conf (inih's dialect: # and ; begin
 * comments):
 *
 *	[priced]
 *	name = value
 *
 *	[class batch]                     a class of clients (server/classes/classes.h), up to 16
 *	clients = 10.0.3.0/24 @batch
 *	premium = 30
 *
 * The options are the price options of NFS-Ganesha's CANFS { } block, in lower case. The option
 * table in config.c has defaults, bounds and help.
 */
#ifndef CANFS_PRICED_CONFIG_H
#define CANFS_PRICED_CONFIG_H

#include "common/options.h"
#include "server/classes/names.h"
#include "server/market/sampler.h"

#define CANFS_PRICED_CONFIG_FILE "/etc/canfs/priced.conf"

#define CANFS_PRICED_BIT(NAME, name) | 1u << CANFS_##NAME
#define CANFS_PRICED_MONITORS        (0u CANFS_HOST_RESOURCE_ROWS(CANFS_PRICED_BIT))

struct canfs_priced_config {
	unsigned int price_port; /* UDP: 1 ... 65535, default 20590 */
	unsigned int monitors;   /* bit 1 << enum canfs_resource for each that runs; default all */

	/* As in struct canfs_monitor_setup, with its meaning of 0. */
	char interfaces[CANFS_INTERFACES_MAX][IF_NAMESIZE];
	size_t interface_count;
	unsigned int link_speed; /* Mbit/s */
	unsigned int disk_read_queue, disk_write_queue;

	unsigned int pmax_percent;
	double k_disk; /* 0: by the type of the disk */

	char control_socket[CANFS_OPTION_PATH_MAX]; /* absolute; "": none */
	char etab[CANFS_OPTION_PATH_MAX]; /* exportfs's list, absolute; "": use only the kernel's */
	struct canfs_classes classes;
};

extern const struct canfs_option_table canfs_priced_options;

void canfs_priced_config_defaults(struct canfs_priced_config *config);

/*
 * Reads text on top of *config. Returns 0, -EINVAL if text has a mistake, or -ENOMEM. error is then
 * one line, which names the first mistake and what is allowed: "priced.conf:7: link_speed = 0: not
 * in 1 ... 10000000". *config is changed only on 0. file: its name in the error line. names:
 * looks up the names of clients; NULL leaves names out.
 */
int canfs_priced_config_parse_string(struct canfs_priced_config *config, const char *file,
	const char *text, struct canfs_names *names, char error[CANFS_OPTIONS_ERROR_MAX]);

/* The same for a file. Also returns -ENOENT, -EFBIG, or -errno of open or read. Sets error. */
int canfs_priced_config_parse_file(struct canfs_priced_config *config, const char *file,
	struct canfs_names *names, char error[CANFS_OPTIONS_ERROR_MAX]);

/* Fills in the sampler's configuration, except say and thread_begins. */
void canfs_priced_config_of_sampler(
	const struct canfs_priced_config *config, struct canfs_sampler_config *sampler);

/*
 * Copies pmax to settings; it is not part of the sampler's configuration. If it is the same in
 * before and now, it is not copied, because it may have been set at run time since. before: NULL at
 * the start. Returns true if it changed.
 */
bool canfs_priced_config_pmax(const struct canfs_priced_config *before,
	const struct canfs_priced_config *now, struct canfs_settings *settings);

#endif
