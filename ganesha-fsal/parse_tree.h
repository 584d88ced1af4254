/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The file that Ganesha has parsed, from one of its blocks. config_GetBlockNode() looks into the file that was parsed last, by whatever
 * thread: beside SIGHUP, UpdateExport of DBus parses another one, and may have freed it by then.
 */
#ifndef CANFS_GANESHA_FSAL_PARSE_TREE_H
#define CANFS_GANESHA_FSAL_PARSE_TREE_H

#include "ganesha-fsal/compat.h"

/* At the start, when no other thread parses: is a parsed file as it is expected here? If not, nothing is ever found in one. */
bool canfs_parse_tree_check(config_file_t file, const char *name);

/* The first block of this name in the file that node, a block, is in; NULL: there is none. */
void *canfs_parse_tree_find(void *node, const char *name);

#endif
