// SPDX-License-Identifier: LGPL-3.0-or-later
/* The reads that clients make, as the ghost caches are told of them (monitors/ghosts.h). */
#include "ganesha-fsal/canfs_methods.h"

#include <string.h>
#include <sys/random.h>
#include "common/hash.h"

void canfs_reads_open(size_t ghost_memory_bytes)
{
	uint64_t seed;
	int ret;

	if (ghost_memory_bytes == 0)
		return;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint64_t)(uintptr_t)&seed; /* early in the boot: the stack's place is random too */
	ret = canfs_ghosts_new(&CANFS.ghosts, ghost_memory_bytes, seed);
	if (ret != 0)
		LogCrit(COMPONENT_FSAL, "CANFS: the read cache is not priced: %s", strerror(-ret));
}

uint64_t canfs_name_file(const struct fsal_obj_handle *handle)
{
	return handle->fileid ^ canfs_hash(handle->fsid.major ^ canfs_hash(handle->fsid.minor));
}

/* What was answered, not what was asked for: many clients ask for more than the file has. */
void canfs_reads_note(struct fsal_obj_handle *handle, const struct fsal_io_arg *io)
{
	canfs_ghosts_note_read(CANFS.ghosts, canfs_name_file(handle), io->offset, io->io_amount);
}
