// SPDX-License-Identifier: LGPL-3.0-or-later
/* Reports the reads of clients to the ghost caches (server/monitors/ghosts.h). */
#include "ganesha-fsal/price/price.h"

#include <string.h>
#include <sys/random.h>

void canfs_open_ghosts(void)
{
	uint64_t seed;
	int ret;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint64_t)(uintptr_t)&seed; /* early in boot; the stack address is random, too */
	ret = canfs_ghosts_new(&canfs_pricing.ghosts, CANFS_GHOSTS_MEMORY_BYTES, seed);
	if (ret != 0)
		LogCrit(COMPONENT_FSAL, "CANFS: the read cache is not priced: %s", strerror(-ret));
}

/* Notes what was read, not what was requested: many clients request more than the file has. */
void canfs_note_read(const struct canfs_op *op)
{
	canfs_ghosts_note_read(canfs_pricing.ghosts, canfs_name_file(op->handle), op->io->offset,
		op->io->io_amount);
}
