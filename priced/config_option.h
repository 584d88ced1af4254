/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rows of the configuration's table, for config.c, which holds them, and config_parse.c. */
#ifndef CANFS_PRICED_CONFIG_OPTION_H
#define CANFS_PRICED_CONFIG_OPTION_H

#include "priced/config.h"

enum canfs_priced_option_type {
	PRICED_COUNT,  /* unsigned int */
	PRICED_REAL,   /* double */
	PRICED_SWITCH, /* bool: off, on */
	PRICED_PATH,   /* absolute, or empty */
	PRICED_INTERFACES,
	PRICED_MONITORS
};

struct canfs_priced_option {
	const char *name;
	enum canfs_priced_option_type type;
	size_t offset; /* in struct canfs_priced_config */
	double min, max;
	double number;    /* default; below min: nothing is said, and 0 stands for that */
	const char *path; /* default of a path */
	const char *help;
};

#define CANFS_PRICED_OPTIONS_MAX 32

extern const struct canfs_priced_option canfs_priced_options[];
extern const size_t canfs_priced_options_n; /* <= CANFS_PRICED_OPTIONS_MAX */

/* number is within the option's bounds, or 0. */
void canfs_priced_option_put(struct canfs_priced_config *config,
	const struct canfs_priced_option *option, double number);

/* May it be left empty? */
static inline bool canfs_priced_option_is_optional(const struct canfs_priced_option *option)
{
	return option->type == PRICED_PATH || option->type == PRICED_INTERFACES ||
	       ((option->type == PRICED_COUNT || option->type == PRICED_REAL) &&
		       option->number < option->min);
}

#endif
