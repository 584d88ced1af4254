/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The agent's configuration, /etc/canfs/agent.conf (inih's dialect: # and ; begin comments):
 *
 *	[agent]                    first: what is one for the machine, and defaults for all mounts
 *	name = value
 *	[mount /data-db]           one per shell pattern of mount points, from special to general:
 *	name = value               a mount takes the first section that matches it, and that one only;
 *	[mount /data*]             what the section does not say is as in [agent]
 *
 * The table of options in config.c holds the defaults, bounds and help; canfs_config_example() prints
 * it.
 */
#ifndef CANFS_CLIENT_AGENT_CONFIG_CONFIG_H
#define CANFS_CLIENT_AGENT_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#define CANFS_CONFIG_FILE         "/etc/canfs/agent.conf"
#define CANFS_CONFIG_BYTES_MAX    65536
#define CANFS_CONFIG_PATH_MAX     256 /* of state_dir, NUL included */
#define CANFS_CONFIG_LIST_MAX     16  /* of mounts, of cgroups */
#define CANFS_CONFIG_SECTIONS_MAX 32  /* [mount ...] */
#define CANFS_CONFIG_ERROR_MAX    512 /* room for any error line */

enum canfs_mode { CANFS_OBSERVE, CANFS_ENFORCE };

/* What may differ from mount to mount. */
struct canfs_terms {
	enum canfs_mode mode; /* default observe: log decisions, change nothing */
	bool writeback;       /* defer and accelerate write-back; default on */
	bool readahead;       /* tune read-ahead; default on */
	bool network;         /* price this client's own network; default on */

	/* Mbit/s of the link to the server; 0, the default: what the interface says; <= 10000000 */
	unsigned int link_speed;

	/* Part of hold_pct that the mount gets, against the shares of the others: 1 ... 100, 1 */
	unsigned int hold_share;

	/* What data of low_priority_cgroups counts in the bid, in %: 0 ... 100, 50 */
	unsigned int low_priority_pct;

	double k_memory;       /* k of the client's memory: CANFS_K_MIN ... CANFS_K_MAX, 32 */
	double price_min;      /* Pmin of the auction: 0 ... 0.5, 0.02 */
	double hysteresis;     /* in prices: 0 ... 0.5, 0.02 */
	unsigned int dwell_ms; /* least time between two changes of a verdict: 0 ... 60000, 200 */

	unsigned int readahead_min_kib; /* 64 ... 15360, default 64 */
	unsigned int readahead_max_kib; /* 64 ... 15360, default 1024, >= readahead_min_kib */
};

struct canfs_section {
	char pattern[CANFS_CONFIG_PATH_MAX];
	struct canfs_terms terms;
};

/* Absolute paths, in the file separated by blanks. */
struct canfs_config_list {
	size_t n;
	char path[CANFS_CONFIG_LIST_MAX][CANFS_CONFIG_PATH_MAX];
};

struct canfs_agent_config {
	unsigned int hold_pct;  /* share of RAM that deferred data may take: 5 ... 50, default 45 */
	unsigned int guard_mib; /* floor of MemAvailable - Dirty - Writeback: 32 ... 1048576, 100 */

	/* Writers wait sooner, and leave the page cache, where readers need it; default on */
	bool squeeze;

	/* Knobs are turned away from their originals at most so often: 10 ... 6000, default 120 */
	unsigned int changes_per_min;

	unsigned int
		price_timeout_sec;   /* without a price so long: kernel defaults: 1 ... 3600, 30 */
	unsigned int price_idle_sec; /* an idle client asks so often: 1 ... 3600, 10 */
	unsigned int price_min_msec; /* never more often than this: 20 ... 60000, 100 */
	unsigned int price_port;     /* UDP, of servers' price services; 0: none, default 20590 */

	char state_dir[CANFS_CONFIG_PATH_MAX]; /* absolute; default /run/canfs */

	char control_socket[CANFS_CONFIG_PATH_MAX]; /* absolute; "": none */
	char metrics_listen[CANFS_CONFIG_PATH_MAX]; /* as status/listen.h takes it; "": none */

	/* Control sockets of price servers of this machine whose metrics are served, too */
	struct canfs_config_list servers;

	struct canfs_config_list
		mounts; /* to manage, as fnmatch(3) patterns; none: all NFS mounts */
	struct canfs_config_list low_priority_cgroups; /* in the hierarchy of cgroup v2 */

	struct canfs_terms terms; /* of a mount that no section matches */
	size_t sections;
	struct canfs_section section[CANFS_CONFIG_SECTIONS_MAX];
};

void canfs_config_defaults(struct canfs_agent_config *config);

/*
 * Reads text on top of *config. 0; or -EINVAL, error then being one line that names the first
 * mistake and what is allowed: "agent.conf:7: hold_pct = 90: not in 5 ... 50". *config is changed
 * only on 0, and then has only the text's sections. state_dir is always taken from the text, so that a journal can be
 * restored whatever else is wrong. file is the name for that line.
 */
int canfs_config_parse_string(struct canfs_agent_config *config, const char *file, const char *text,
	char error[CANFS_CONFIG_ERROR_MAX]);

/* The same on a file. Also -ENOENT, -EFBIG and open's and read's -errno, with an error line. */
int canfs_config_parse_file(
	struct canfs_agent_config *config, const char *file, char error[CANFS_CONFIG_ERROR_MAX]);

/* Shall the mount at this mount point be managed? */
bool canfs_config_wants_mount(const struct canfs_agent_config *config, const char *mountpoint);

/* The terms of the first section that matches, or [agent]'s. Never NULL; lives as long as *config. */
const struct canfs_terms *canfs_config_terms(
	const struct canfs_agent_config *config, const char *mountpoint);

/* For --observe and --enforce: overrules the mode of every mount. */
void canfs_config_set_mode(struct canfs_agent_config *config, enum canfs_mode mode);

/* Is anything but observed, on any mount? */
bool canfs_config_enforces(const struct canfs_agent_config *config);

/*
 * The i-th option as an example shows it, two lines of at most 120 characters, both comments: what it is and what is
 * allowed; "#name = default". Returns false beyond the last option.
 */
bool canfs_config_example(size_t i, char *buf, size_t size);

/*
 * The i-th option's name, and its value as the file would say it (cut if it does not fit). Returns
 * false beyond the last option.
 */
bool canfs_config_option(const struct canfs_agent_config *config, size_t i, const char **name,
	char *value, size_t size);

#endif
