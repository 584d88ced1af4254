/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which path a name of an export means: mountd looks for the path without links (realpath(3)), and clients of NFSv4 walk it by LOOKUPs.
 *
 *	name, "/tmp//x/link/a" --> links of each part that is there --> "/tmp/real/a"
 *
 * Nothing is touched on a file system that may hang, as NFS and FUSE may: there, and below what does not exist or may not be read, the
 * name is taken as it is.
 */
#ifndef CANFS_SERVER_PRICE_SERVICE_EXPORT_PATH_H
#define CANFS_SERVER_PRICE_SERVICE_EXPORT_PATH_H

#include <limits.h>
#include <stdbool.h>

/* Is it as mountd would write it: without //, /./, /../, or a slash at its end? It may have links. */
bool canfs_export_path_is_plain(const char *path);

/*
 * name: absolute, in the directory nfs_root ("" or a plain path), which neither .. nor a link leads out of. mountinfo: of this machine;
 * fs_root: as in canfs_export_list_config; NULL: no links are followed. 0; -EINVAL not absolute; -ENAMETOOLONG; -ELOOP.
 */
int canfs_export_path_resolve(const char *fs_root, const char *mountinfo, const char *nfs_root,
	const char *name, char resolved[PATH_MAX]);

#endif
