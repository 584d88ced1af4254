/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The classes in effect, for many readers and one writer, which replaces them (SIGHUP).
 *
 *	reader   readers + 1, reads current, readers - 1               no lock, no wait
 *	writer   sets current, waits for a moment without readers, frees the old classes
 *
 * The writer does not wait long: a reader needs less than a microsecond, and a reader that starts
 * after the change sees the new classes. Without classes a lookup is one load and a branch.
 */
#ifndef CANFS_SERVER_CLASSES_SHARED_CLASSES_H
#define CANFS_SERVER_CLASSES_SHARED_CLASSES_H

#include <stdatomic.h>
#include "server/classes/classes.h"

/* All zero: no classes, ready for use. */
struct canfs_shared_classes {
	_Atomic(struct canfs_classes *) current; /* NULL: none */
	_Atomic unsigned int readers;
	_Atomic unsigned int changes;
	_Atomic uint64_t told; /* prices with a premium that is not 0 */
};

/*
 * Returns 1; 0 if the classes are the ones in effect; -ENOMEM, and the old classes stay. Only one
 * thread at a time may call this. May block until no reader is left.
 */
int canfs_shared_classes_set(
	struct canfs_shared_classes *shared, const struct canfs_classes *classes);

/* Call this after the last reader has left. */
void canfs_shared_classes_free(struct canfs_shared_classes *shared);

/* Any thread may call the following functions. They do not block. */

/* The premium in percent for this client, counted as sent to it; 0: none. */
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

/* If this number changes, the classes may have changed. */
unsigned int canfs_shared_classes_changes(const struct canfs_shared_classes *shared);

#endif
