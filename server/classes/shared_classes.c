// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/classes/shared_classes.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/address.h"

#define WAIT_USEC 100

static const struct canfs_classes none;

/*
 * All operations are sequentially consistent: a reader that gets the old classes was counted before
 * the writer replaced them. The writer therefore sees this reader until it leaves.
 */
static const struct canfs_classes *enter(struct canfs_shared_classes *shared)
{
	const struct canfs_classes *current;

	atomic_fetch_add(&shared->readers, 1);
	current = atomic_load(&shared->current);
	return current ? current : &none;
}

static void leave(struct canfs_shared_classes *shared)
{
	atomic_fetch_sub(&shared->readers, 1);
}

int canfs_shared_classes_set(
	struct canfs_shared_classes *shared, const struct canfs_classes *classes)
{
	struct canfs_classes *old = atomic_load(&shared->current), *new = NULL;

	if (canfs_classes_are_same(old ? old : &none, classes))
		return 0;
	if (classes->count != 0) {
		new = malloc(sizeof(*new));
		if (!new)
			return -ENOMEM;
		*new = *classes;
	}
	atomic_store(&shared->current, new);
	atomic_fetch_add(&shared->changes, 1);
	while (atomic_load(&shared->readers) != 0)
		usleep(WAIT_USEC);
	free(old);
	return 1;
}

void canfs_shared_classes_free(struct canfs_shared_classes *shared)
{
	free(atomic_exchange(&shared->current, NULL));
}

int canfs_shared_classes_look_up(struct canfs_shared_classes *shared, const struct sockaddr *client)
{
	const struct canfs_class *client_class;
	struct in6_addr address;
	int premium_pct;

	if (!canfs_read_address(client, &address))
		return 0;
	client_class = canfs_classes_find(enter(shared), &address);
	premium_pct = client_class ? client_class->premium_pct : 0;
	leave(shared);
	if (premium_pct != 0)
		atomic_fetch_add_explicit(&shared->told, 1, memory_order_relaxed);
	return premium_pct;
}

void canfs_shared_classes_copy(struct canfs_shared_classes *shared, struct canfs_classes *copy)
{
	*copy = *enter(shared);
	leave(shared);
}

unsigned int canfs_shared_classes_changes(const struct canfs_shared_classes *shared)
{
	return atomic_load(&shared->changes);
}
