/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The options that the server runs with, at the start and after SIGHUP. */
#ifndef CANFS_GANESHA_FSAL_STACK_UPDATE_H
#define CANFS_GANESHA_FSAL_STACK_UPDATE_H

#include "ganesha-fsal/stack/stack.h"

/* Reads the CANFS { } block, and starts the features. */
void canfs_start(config_file_t file, struct config_error_type *err_type);

/*
 * Applies the changes in the block. Called for each export that is updated, by one thread at a
 * time.
 */
void canfs_reload(struct canfs_export *export, void *node, struct config_error_type *err_type);

/* Frees the options. */
void canfs_forget_options(void);

#endif
