/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The CANFS { } block, and the FSAL { Name = CANFS; } block of an export. Both contain the options
 * of all features, from their tables.
 */
#ifndef CANFS_GANESHA_FSAL_STACK_OPTIONS_H
#define CANFS_GANESHA_FSAL_STACK_OPTIONS_H

#include "ganesha-fsal/stack/feature.h"

/* The contents of a block: a struct for each feature. */
struct canfs_options {
	void *part[CANFS_FEATURES + 1];
};

/*
 * Reads the CANFS { } block. Options that it leaves out have their defaults. Returns 0, or -EINVAL,
 * after logging it, if the block is wrong. In that case, all of *options is 0. Free *options in
 * both cases. May block for as long as it takes to look up the names of clients.
 */
int canfs_read_options(
	config_file_t file, struct canfs_options *options, struct config_error_type *err_type);

/*
 * The same for the file that an export is updated from; node is a block in that file. Returns 0,
 * -ENOENT without a log message if the file has no such block, or -EINVAL if the block or any
 * syntax in the file is wrong. names: the names of clients may be looked up; false: they are left
 * out. Free *options only after 0.
 */
int canfs_reread_options(
	void *node, struct canfs_options *options, bool names, struct config_error_type *err_type);

/*
 * Reads an export's block. Returns 0, or -EINVAL, after logging it, if the block is wrong. Free
 * *options only after 0.
 */
int canfs_read_export_options(
	void *node, struct canfs_options *options, struct config_error_type *err_type);

/*
 * The same while Ganesha updates the export. Returns -ENOENT without a log message if the file has
 * a syntax error.
 */
int canfs_reread_export_options(
	void *node, struct canfs_options *options, struct config_error_type *err_type);

void canfs_free_options(struct canfs_options *options);
void canfs_free_export_options(struct canfs_options *options);

/* When the plugin is unloaded: no block is read any more. */
void canfs_free_option_items(void);

#endif
