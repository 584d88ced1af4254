/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rows of the configuration's table. config.c holds the table, config_parse.c uses it. */
#ifndef CANFS_CLIENT_AGENT_CONFIG_CONFIG_OPTION_H
#define CANFS_CLIENT_AGENT_CONFIG_CONFIG_OPTION_H

#include "client-agent/config/config.h"

enum canfs_option_type {
	TYPE_COUNT,
	TYPE_REAL,
	TYPE_MODE,
	TYPE_SWITCH,
	TYPE_PATH,
	TYPE_LISTEN,
	TYPE_LIST
};

struct canfs_option {
	const char *name;
	enum canfs_option_type type;
	bool per_mount; /* also allowed in [mount ...] */
	size_t offset;  /* in struct canfs_agent_config */
	double min, max;
	double number;        /* default; for a mode or switch, its index in words */
	const char *words[2]; /* values of a mode or switch, false or 0 first */
	const char *path;     /* default of a path or address */
	bool may_be_empty;    /* for a path */
	const char *help;
};

#define CANFS_OPTIONS_MAX 32

extern const struct canfs_option canfs_options[];
extern const size_t canfs_options_n; /* <= CANFS_OPTIONS_MAX */

/* number is within the option's bounds, or the index of a word. */
void canfs_option_put(
	struct canfs_agent_config *config, const struct canfs_option *option, double number);

#endif
