/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Resolves the name of an export to a path. Both ways that a client reaches an export lead to this
 * path: mountd resolves links (realpath(3)), and NFSv4 clients walk the path by LOOKUPs.
 *
 *	name, "/tmp//x/link/a" --> links of each existing part --> "/tmp/real/a"
 *
 * File systems that may hang, such as NFS and FUSE, are never accessed. There, and below a part
 * that does not exist or cannot be read, the name is taken literally.
 */
#ifndef CANFS_SERVER_PRICE_SERVICE_EXPORT_PATH_H
#define CANFS_SERVER_PRICE_SERVICE_EXPORT_PATH_H

#include <limits.h>
#include <stdbool.h>

/*
 * True if the path is in mountd's form: absolute, without //, /./, /../ or a trailing slash. It may
 * contain links. Also true for "".
 */
bool canfs_export_path_is_plain(const char *path);

/*
 * name: absolute, inside the directory nfs_root ("" or a plain path). Neither .. nor a link can
 * leave nfs_root. mountinfo: the text of this machine's mountinfo. fs_root: prefix of each path that
 * is read, as `root` in canfs_export_list_config; NULL: no links are followed. Returns 0, -EINVAL
 * if name is not absolute, -ENAMETOOLONG or -ELOOP.
 */
int canfs_export_path_resolve(const char *fs_root, const char *mountinfo, const char *nfs_root,
	const char *name, char resolved[PATH_MAX]);

#endif
