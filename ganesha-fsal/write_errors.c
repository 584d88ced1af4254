// SPDX-License-Identifier: LGPL-3.0-or-later
/* An fsync(2) below us that failed: all clients that may have lost data by it are told (write-errors/failed_files.h). */
#include "ganesha-fsal/canfs_methods.h"
#include "ganesha-fsal/write-errors/failed_files.h"

#include <inttypes.h>
#include <string.h>

static struct canfs_failed_files failed_files = CANFS_FAILED_FILES_NONE;

static struct canfs_export *export_here(void)
{
	return container_of(op_ctx->fsal_export, struct canfs_export, export);
}

uint32_t canfs_count_write_errors(void)
{
	return atomic_load(&export_here()->write_errors);
}

/* As fsync(2) has it; any other is of an operation that did not come to it. */
static bool means_loss(fsal_status_t status)
{
	return status.major == ERR_FSAL_IO || status.major == ERR_FSAL_NOSPC ||
	       status.major == ERR_FSAL_DQUOT || status.major == ERR_FSAL_ROFS;
}

static void note(struct fsal_obj_handle *handle, int error)
{
	atomic_fetch_add(&export_here()->write_errors, 1);
	if (canfs_failed_files_note(&failed_files, canfs_hash_key(handle), canfs_now_usec()))
		LogCrit(COMPONENT_FSAL,
			"CANFS: %s: of file %" PRIu64
			" not all that was written is on the disk (%s): its clients are told",
			CTX_FULLPATH(op_ctx), handle->fileid, strerror(error));
}

/* The verifier was taken when the server started; the sum differs from all before. */
void canfs_add_write_errors(const struct canfs_export *export, struct gsh_buffdesc *verifier)
{
	uint32_t errors = atomic_load(&export->write_errors), part;

	if (errors == 0 || verifier->len < sizeof(part))
		return;
	memcpy(&part, verifier->addr, sizeof(part));
	part += errors;
	memcpy(verifier->addr, &part, sizeof(part));
}

fsal_status_t canfs_check_write(
	const struct canfs_caller *caller, fsal_status_t status, const struct fsal_io_arg *io)
{
	/* VFS of Ganesha 4 says so; that of 6 and 9 says that it is unstable, as if a COMMIT could still help. */
	bool failed =
		caller->stable && (FSAL_IS_ERROR(status) ? io->io_amount > 0 && means_loss(status)
							 : !io->fsal_stable);

	if (failed) {
		note(caller->handle, status.minor ? status.minor : EIO);
		return FSAL_IS_ERROR(status) ? status : fsalstat(ERR_FSAL_IO, EIO);
	}
	/* What failed may have been this: with the new verifier, the client would believe that it was written after. */
	if (!FSAL_IS_ERROR(status) && !caller->stable &&
		caller->write_errors != canfs_count_write_errors())
		return fsalstat(ERR_FSAL_DELAY, 0);
	return status;
}

fsal_status_t canfs_check_commit(struct fsal_obj_handle *handle, fsal_status_t status)
{
	if (FSAL_IS_ERROR(status)) {
		if (means_loss(status))
			note(handle, status.minor);
		return status;
	}
	if (op_ctx->nfs_vers == NFS_V3 && canfs_failed_files_any(&failed_files) &&
		canfs_failed_files_has(&failed_files, canfs_hash_key(handle), canfs_now_usec()))
		return fsalstat(ERR_FSAL_IO, EIO);
	return status;
}

void canfs_forget_write_errors(struct fsal_obj_handle *handle)
{
	if (canfs_failed_files_any(&failed_files))
		canfs_failed_files_forget(&failed_files, canfs_hash_key(handle));
}
