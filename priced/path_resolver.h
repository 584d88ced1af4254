/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * export_path.h in a thread of its own, since a disk that has died may keep it for ever: who asks waits for some milliseconds, and, while
 * the thread has not come back from what it was asked before, not at all.
 */
#ifndef CANFS_PRICED_PATH_RESOLVER_H
#define CANFS_PRICED_PATH_RESOLVER_H

#include <limits.h>

#define CANFS_RESOLVE_WAIT_MSEC 200

struct canfs_path_resolver;

/* 0 or -errno. fs_root must stay. */
int canfs_path_resolver_start(struct canfs_path_resolver **resolver, const char *fs_root);

/* A thread that does not come back within two seconds is left to itself, with what it uses. NULL allowed. */
void canfs_path_resolver_stop(struct canfs_path_resolver *resolver);

/* As canfs_export_path_resolve(); -ETIME: it does not answer. By one thread only. NULL: there is none. */
int canfs_path_resolver_ask(struct canfs_path_resolver *resolver, const char *nfs_root,
	const char *name, char resolved[PATH_MAX]);

#endif
