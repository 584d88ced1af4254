/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The rows of the option table, which is in config.c. For config.c and config_parse.c. */
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
	double number;    /* default; below min: no default, stored as 0 */
	const char *path; /* default of a path */
	const char *help;
};

#define CANFS_PRICED_OPTIONS_MAX 32

extern const struct canfs_priced_option canfs_priced_options[];
extern const size_t canfs_priced_options_n; /* <= CANFS_PRICED_OPTIONS_MAX */

/* Sets an option. number is within the option's bounds, or 0. */
void canfs_priced_option_put(struct canfs_priced_config *config,
	const struct canfs_priced_option *option, double number);

/* Returns true if the option may be empty. */
static inline bool canfs_priced_option_is_optional(const struct canfs_priced_option *option)
{
	return option->type == PRICED_PATH || option->type == PRICED_INTERFACES ||
	       ((option->type == PRICED_COUNT || option->type == PRICED_REAL) &&
		       option->number < option->min);
}

#endif
