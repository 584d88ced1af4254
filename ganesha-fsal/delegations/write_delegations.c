// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The cost of a write delegation: others wait for more writes, and data written after close(2)
 * needs space.
 */
#include "ganesha-fsal/delegations/delegations.h"
#include "ganesha-fsal/delegations/core/space_table.h"
#include "pricing/price.h"

#include <errno.h>
#include <unistd.h>
#include "nfs_core.h"

/* At this price and above, a write is too expensive to delay others. */
#define EXPENSIVE (CANFS_PRICE_MAX / 2)
/* The mean number of their operations in flight from which on others count as delayed. */
#define OTHERS_WAIT 0.5

#define RECALL_WAIT_MSEC 10000

/*
 * For all exports. The one thread that makes exports creates the table with the first export that
 * wants delegations.
 */
static _Atomic(struct canfs_space_table *) all_space;
static _Atomic uint64_t refused;

int canfs_open_space(void (*recall)(uint64_t file))
{
	const struct canfs_space_table_config config = { .limit_bytes = DELEG_SPACE_LIMIT_FILESZ,
		.recall = recall,
		.thread_begins = canfs_name_thread };
	struct canfs_space_table *table;
	int ret = atomic_load(&all_space) ? 0 : canfs_space_table_new(&table, &config);

	if (ret == 0 && !atomic_load(&all_space))
		atomic_store(&all_space, table);
	return ret;
}

void canfs_close_space(void)
{
	canfs_space_table_free(atomic_exchange(&all_space, NULL));
}

/*
 * A client with a write delegation does not wait for its writes and sends more of them, at the
 * expense of others. A client that waits at close() slows down, and the price falls. If no other
 * client is active, nobody pays.
 */
static bool is_too_expensive(const struct canfs_export *export)
{
	return canfs_load()->write_price(export) >= EXPENSIVE &&
	       canfs_load()->others_in_flight() >= OTHERS_WAIT;
}

static int charge(const struct canfs_export_delegations *own, struct fsal_obj_handle *handle,
	const void *name)
{
	struct canfs_space_user user = { .name = name,
		.file = canfs_hash_key(handle),
		.dev = own->st_dev,
		.dir = own->dir,
		.fd = canfs_open_same(own, handle) };
	int ret;

	if (user.fd < 0)
		return user.fd;
	ret = canfs_space_table_charge(atomic_load(&all_space), &user);
	close(user.fd);
	return ret;
}

int canfs_afford_write_delegation(
	const struct canfs_export *export, struct fsal_obj_handle *handle, const void *name)
{
	int ret = is_too_expensive(export) ? -EBUSY
					   : charge(canfs_delegations_of(export), handle, name);

	if (ret != 0)
		atomic_fetch_add(&refused, 1);
	return ret;
}

void canfs_end_write_delegation(const void *name)
{
	canfs_space_table_discharge(atomic_load(&all_space), name);
}

uint64_t canfs_count_not_afforded(void)
{
	return atomic_load(&refused);
}

bool canfs_spend_space(uint64_t bytes)
{
	return canfs_space_table_spend(
		atomic_load(&all_space), canfs_delegations_here()->st_dev, bytes);
}

void canfs_recall_before_change(void)
{
	if (atomic_load(&all_space))
		canfs_space_table_recall(atomic_load(&all_space), RECALL_WAIT_MSEC);
}
