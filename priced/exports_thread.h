/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The thread that keeps the list of exports up to date. */
#ifndef CANFS_PRICED_EXPORTS_THREAD_H
#define CANFS_PRICED_EXPORTS_THREAD_H

#include "priced/export_list.h"

/* The lists are polled, because the kernel does not report changes. */
#define CANFS_EXPORTS_POLL_MSEC 5000

struct canfs_exports_thread;

/* Starts a thread that refreshes the list at once, and then periodically. Returns 0 or -errno. */
int canfs_exports_thread_start(
	struct canfs_exports_thread **thread, struct canfs_export_list *list, canfs_say *say);

/* Requests another refresh now. */
void canfs_exports_thread_hurry(struct canfs_exports_thread *thread);

/*
 * Returns false if the thread is blocked on a file system. The thread then still uses the list, the
 * service and the sampler, which must not be freed. NULL allowed.
 */
bool canfs_exports_thread_stop(struct canfs_exports_thread *thread);

#endif
