/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The classes that hold: for many readers, and a writer that replaces them (SIGHUP).
 *
 *	reader   readers + 1, looks at current, readers - 1            no lock, no wait
 *	writer   current = the new ones, waits until there was a moment without readers, frees the old ones
 *
 * A reader that comes after the change sees the new ones, so that such a moment comes soon: a look takes less than a
 * microsecond. Without classes it is one load and a branch.
 */
#ifndef CANFS_SERVER_CLASSES_SHARED_CLASSES_H
#define CANFS_SERVER_CLASSES_SHARED_CLASSES_H

#include <stdatomic.h>
#include "server/classes/classes.h"

/* All zero: none, and ready for use. */
struct canfs_shared_classes {
	_Atomic(struct canfs_classes *) current; /* NULL: none */
	_Atomic unsigned int readers;
	_Atomic unsigned int changes;
	_Atomic uint64_t told; /* prices with a premium that is not 0 */
};

/* 1; 0: they are those that hold; -ENOMEM: those go on. By one thread at a time, which may have to wait. */
int canfs_shared_classes_set(
	struct canfs_shared_classes *shared, const struct canfs_classes *classes);

/* When nobody reads any more. */
void canfs_shared_classes_free(struct canfs_shared_classes *shared);

/* From here: for any thread, without a wait. */

/* Percent, for a price that this client is about to be told; 0: none. */
int canfs_shared_classes_look_up(
	struct canfs_shared_classes *shared, const struct sockaddr *client);

static inline int canfs_shared_classes_premium(
	struct canfs_shared_classes *shared, const struct sockaddr *client)
{
	if (!atomic_load_explicit(&shared->current, memory_order_relaxed))
		return 0;
	return canfs_shared_classes_look_up(shared, client);
}

void canfs_shared_classes_copy(struct canfs_shared_classes *shared, struct canfs_classes *copy);

/* Another number than before: others may hold. */
unsigned int canfs_shared_classes_changes(const struct canfs_shared_classes *shared);

#endif
