/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Runs export_path.h in a thread, because a dead disk may block it forever. The caller waits for at
 * most CANFS_RESOLVE_WAIT_MSEC. If the thread is still busy with an earlier request, the caller
 * does not wait at all.
 */
#ifndef CANFS_PRICED_PATH_RESOLVER_H
#define CANFS_PRICED_PATH_RESOLVER_H

#include <limits.h>

#define CANFS_RESOLVE_WAIT_MSEC 200

struct canfs_path_resolver;

/* Returns 0 or -errno. fs_root must outlive the resolver. */
int canfs_path_resolver_start(struct canfs_path_resolver **resolver, const char *fs_root);

/*
 * Waits for at most two seconds. A thread that has not ended by then is abandoned together with its
 * memory. NULL allowed.
 */
void canfs_path_resolver_stop(struct canfs_path_resolver *resolver);

/*
 * Like canfs_export_path_resolve(). Also returns -ETIME if there is no answer in time, or if
 * resolver is NULL. Only one thread may call this.
 */
int canfs_path_resolver_ask(struct canfs_path_resolver *resolver, const char *nfs_root,
	const char *name, char resolved[PATH_MAX]);

#endif
