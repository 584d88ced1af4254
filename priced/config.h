/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The sidecar's configuration, /etc/canfs/priced.conf (inih's dialect: # and ; begin comments):
 *
 *	[priced]
 *	name = value
 *
 *	[class batch]                         up to 16 of these: a class of clients (server/classes/classes.h)
 *	clients = 10.0.3.0/24 @batch
 *	premium = 30
 *
 * The options are those of the CANFS { } block of NFS-Ganesha, as far as they are of prices, in lower case. The table of
 * options in config.c holds the defaults, bounds and help; canfs_priced_config_example() prints it.
 */
#ifndef CANFS_PRICED_CONFIG_H
#define CANFS_PRICED_CONFIG_H

#include "server/classes/names.h"
#include "server/market/sampler.h"

#define CANFS_PRICED_CONFIG_FILE      "/etc/canfs/priced.conf"
#define CANFS_PRICED_CONFIG_BYTES_MAX 65536
#define CANFS_PRICED_PATH_MAX         256 /* of a path in it, NUL included */
#define CANFS_PRICED_ERROR_MAX        512 /* room for any error line */

#define CANFS_PRICED_BIT(NAME, name, Name) | 1u << CANFS_##NAME
#define CANFS_PRICED_MONITORS              (0u CANFS_HOST_RESOURCE_ROWS(CANFS_PRICED_BIT))

struct canfs_priced_config {
	unsigned int price_port;     /* UDP: 1 ... 65535, default 20590 */
	unsigned int price_interval; /* ms between two prices, as in struct canfs_sampler_config */
	bool publish;
	unsigned int monitors; /* bit 1 << enum canfs_resource of each that runs; default all */

	/* As in struct canfs_monitor_setup, with its zeroes. */
	char interfaces[CANFS_INTERFACES_MAX][IF_NAMESIZE];
	size_t interface_count;
	unsigned int link_speed; /* Mbit/s */
	unsigned int disk_read_queue, disk_write_queue;

	unsigned int pmax_percent;
	double k[CANFS_RESOURCES]; /* 0: by the type of the device, or the market's default */
	unsigned int weight_percent[CANFS_RESOURCES];

	char control_socket[CANFS_PRICED_PATH_MAX]; /* absolute; "": none */
	char etab[CANFS_PRICED_PATH_MAX]; /* exportfs's list, absolute; "": the kernel's only */
	struct canfs_classes classes;
};

void canfs_priced_config_defaults(struct canfs_priced_config *config);

/*
 * Reads text on top of *config. 0; or -EINVAL, error then being one line that names the first mistake and what is
 * allowed: "priced.conf:7: price_interval = 5: not in 20 ... 10000"; or -ENOMEM. *config is changed only on 0. file is
 * the name for that line. names: to look up those of clients; NULL leaves them out.
 */
int canfs_priced_config_parse_string(struct canfs_priced_config *config, const char *file,
	const char *text, struct canfs_names *names, char error[CANFS_PRICED_ERROR_MAX]);

/* The same on a file. Also -ENOENT, -EFBIG and open's and read's -errno, with an error line. */
int canfs_priced_config_parse_file(struct canfs_priced_config *config, const char *file,
	struct canfs_names *names, char error[CANFS_PRICED_ERROR_MAX]);

/* What of it is the sampler's: fills in all but say and thread_begins. */
void canfs_priced_config_of_sampler(
	const struct canfs_priced_config *config, struct canfs_sampler_config *sampler);

/*
 * pmax and weights, which are not part of that. What the configuration says as before (NULL: at the start) stays as it
 * was set since. Did anything change?
 */
bool canfs_priced_config_scale(const struct canfs_priced_config *before,
	const struct canfs_priced_config *now, struct canfs_settings *settings);

/*
 * The i-th option as an example shows it, two lines of at most 120 characters, both comments: what it is and what is
 * allowed; "#name = default". Returns false beyond the last option.
 */
bool canfs_priced_config_example(size_t i, char *buf, size_t size);

#endif
