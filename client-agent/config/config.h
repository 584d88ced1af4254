/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The agent's configuration, /etc/canfs/agent.conf (inih's dialect: # and ; begin comments):
 *
 *	[agent]                    first: machine-wide values, and defaults for all mounts
 *	name = value
 *	[mount /data-db]           one per shell pattern of mount points, the most specific first:
 *	name = value               a mount uses only the first section that matches it;
 *	[mount /data*]             values missing in that section are taken from [agent]
 *
 * The table of options in config.c holds the defaults, bounds and help.
 */
#ifndef CANFS_CLIENT_AGENT_CONFIG_CONFIG_H
#define CANFS_CLIENT_AGENT_CONFIG_CONFIG_H

#include "common/options.h"

#define CANFS_CONFIG_FILE         "/etc/canfs/agent.conf"
#define CANFS_CONFIG_PATH_MAX     CANFS_OPTION_PATH_MAX
#define CANFS_CONFIG_LIST_MAX     16 /* paths in a list */
#define CANFS_CONFIG_SECTIONS_MAX 32 /* [mount ...] */

enum canfs_mode { CANFS_OBSERVE, CANFS_ENFORCE };

/* Options that may differ from mount to mount. */
struct canfs_terms {
	enum canfs_mode mode; /* default observe: log decisions, change nothing */
	bool writeback;       /* defer and accelerate write-back; default on */
	bool readahead;       /* tune read-ahead; default on */
	/* Mbit/s of the link to the server; 0, the default: the interface's speed; <= 10000000 */
	unsigned int link_speed;
};

struct canfs_section {
	char pattern[CANFS_CONFIG_PATH_MAX];
	struct canfs_terms terms;
};

/* Absolute paths. Blanks separate them in the file. */
struct canfs_config_list {
	size_t n;
	char path[CANFS_CONFIG_LIST_MAX][CANFS_CONFIG_PATH_MAX];
};

struct canfs_agent_config {
	unsigned int hold_pct; /* share of RAM that deferred data may take: 5 ... 50, default 45 */

	/* Poll interval of an idle client: 1 ... 3600, default 10; see canfs_config_lost_usec() */
	unsigned int price_idle_sec;
	unsigned int price_port; /* UDP, of servers' price services; 0: none, default 20590 */

	char state_dir[CANFS_CONFIG_PATH_MAX]; /* absolute; default /run/canfs */

	char metrics_listen[CANFS_CONFIG_PATH_MAX]; /* as config/listen.h takes it; "": none */

	/* Control sockets of price servers of this machine whose metrics are also served */
	struct canfs_config_list servers;

	struct canfs_config_list
		mounts; /* to manage, as fnmatch(3) patterns; none: all NFS mounts */
	struct canfs_config_list low_priority_cgroups; /* in the cgroup v2 hierarchy */

	struct canfs_terms terms; /* of a mount that no section matches */
	size_t sections;
	struct canfs_section section[CANFS_CONFIG_SECTIONS_MAX];
};

extern const struct canfs_option_table canfs_agent_options;

void canfs_config_defaults(struct canfs_agent_config *config);

/*
 * Reads text on top of *config. file is the name for error lines. Returns 0, -EINVAL or -ENOMEM. On
 * an error, error is one line, which names the first mistake and what is allowed: "agent.conf:7:
 * hold_pct = 90: not in 5 ... 50".
 *
 * On success, *config has only the text's sections. On an error, only state_dir is changed, so that
 * a journal can be restored whatever else is wrong.
 */
int canfs_config_parse_string(struct canfs_agent_config *config, const char *file, const char *text,
	char error[CANFS_OPTIONS_ERROR_MAX]);

/*
 * The same for a file. Also returns -ENOENT, -EFBIG, or the -errno of open or read, with an error
 * line.
 */
int canfs_config_parse_file(
	struct canfs_agent_config *config, const char *file, char error[CANFS_OPTIONS_ERROR_MAX]);

/* Returns true if the mount at this mount point is to be managed. */
bool canfs_config_wants_mount(const struct canfs_agent_config *config, const char *mountpoint);

/*
 * Returns the terms of the first section that matches, or those of [agent]. Never NULL; valid as
 * long as *config.
 */
const struct canfs_terms *canfs_config_terms(
	const struct canfs_agent_config *config, const char *mountpoint);

/*
 * After this long without a new price, the kernel's defaults come back. It is three times
 * price_idle_sec, and at least 4 s, so that the answer to a request that is due can arrive
 * (poller.h).
 */
uint64_t canfs_config_lost_usec(const struct canfs_agent_config *config);

/* For --observe and --enforce: overrides the mode of every mount. */
void canfs_config_set_mode(struct canfs_agent_config *config, enum canfs_mode mode);

/* Returns true if the mode of any mount is enforce. */
bool canfs_config_enforces(const struct canfs_agent_config *config);

#endif
