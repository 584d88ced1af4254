/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Finds blocks in a parsed configuration file, starting from another block of that file.
 * config_GetBlockNode() searches the file that any thread parsed last. During a SIGHUP,
 * UpdateExport of DBus may parse another file, and may have freed it already.
 */
#ifndef CANFS_GANESHA_FSAL_STACK_PARSE_TREE_H
#define CANFS_GANESHA_FSAL_STACK_PARSE_TREE_H

#include "ganesha-fsal/stack/compat.h"

/*
 * Call this at the start, while no other thread parses. Returns true if a parsed file has the
 * layout that is expected here. If not, no block is ever found.
 */
bool canfs_parse_tree_check(config_file_t file, const char *name);

/*
 * Returns the first block of this name in the file that contains the block node. NULL: there is
 * none.
 */
void *canfs_parse_tree_find(void *node, const char *name);

#endif
