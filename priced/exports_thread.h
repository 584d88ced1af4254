/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The thread that keeps the list of exports up to date. */
#ifndef CANFS_PRICED_EXPORTS_THREAD_H
#define CANFS_PRICED_EXPORTS_THREAD_H

#include "priced/export_list.h"

/* The kernel does not tell of changes. */
#define CANFS_EXPORTS_POLL_MSEC 5000

struct canfs_exports_thread;

/* Refreshes the list at once, and then again and again. 0 or -errno. */
int canfs_exports_thread_start(
	struct canfs_exports_thread **thread, struct canfs_export_list *list, canfs_say *say);

/* Once more, soon. */
void canfs_exports_thread_hurry(struct canfs_exports_thread *thread);

/*
 * False: it waits for a file system, and goes on to use the list, the service and the sampler, which must stay. NULL
 * allowed.
 */
bool canfs_exports_thread_stop(struct canfs_exports_thread *thread);

#endif
