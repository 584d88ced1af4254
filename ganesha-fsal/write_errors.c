// SPDX-License-Identifier: LGPL-3.0-or-later
/* An fsync(2) below us that failed: all clients that may have lost data by it are told (write-errors/failed_files.h). */
#include "ganesha-fsal/canfs_methods.h"
#include "ganesha-fsal/write-errors/failed_files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "common/hash.h"

static struct canfs_failed_files failed_files = CANFS_FAILED_FILES_NONE;

/* Of all exports: two of one file system share its files. */
static _Atomic uint32_t errors;

/* What the verifier of an unstable write that this thread has done is to tell: as of when it began. */
static __thread struct {
	uint32_t errors;
	bool valid;
} at_begin;

uint32_t canfs_count_write_errors(void)
{
	return atomic_load(&errors);
}

/* An error of the open, or of another step before fsync(2) or pwritev(2), which give whatever the block layer does. */
static bool means_loss(fsal_status_t status)
{
	static const int harmless[] = { 0, EACCES, EAGAIN, EDQUOT, EFBIG, EINTR, EINVAL, ELOOP,
		EMFILE, ENFILE, ENOENT, EPERM, ESTALE, ETXTBSY, EXDEV };

	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		if (status.minor == harmless[i])
			return status.major == ERR_FSAL_IO && status.minor == 0;
	}
	return true;
}

/* Returns what the client is told: no error that makes it ask again, since the next fsync(2) succeeds. */
static fsal_status_t note(struct fsal_obj_handle *handle, int error)
{
	atomic_fetch_add(&errors, 1);
	if (canfs_failed_files_note(&failed_files, canfs_hash_key(handle), canfs_now_usec()))
		LogCrit(COMPONENT_FSAL,
			"CANFS: %s: of file %" PRIu64
			" not all that was written is on the disk (%s): its clients are told",
			CTX_FULLPATH(op_ctx), handle->fileid, strerror(error));
	return fsalstat(ERR_FSAL_IO, error);
}

/* The server's own tells when it started, in seconds: to add to it might give that of another start. */
void canfs_add_write_errors(struct gsh_buffdesc *verifier)
{
	uint64_t part = canfs_hash(at_begin.valid ? at_begin.errors : canfs_count_write_errors()),
		 whole;

	at_begin.valid = false;
	if (verifier->len != sizeof(whole))
		return;
	memcpy(&whole, verifier->addr, sizeof(whole));
	whole ^= part; /* 0, if there were none */
	memcpy(verifier->addr, &whole, sizeof(whole));
}

/* RFC 1813 §3.3.7: VFS of Ganesha 4 answers with the error; that of 6 and 9 that it is unstable, as if a COMMIT could still help. */
static bool has_failed(
	const struct canfs_caller *caller, fsal_status_t status, const struct fsal_io_arg *io)
{
	if (!FSAL_IS_ERROR(status))
		return caller->stable && !io->fsal_stable;
	/* Without a byte, it was pwritev(2) itself: as of a file system that is mounted with sync. */
	return means_loss(status) && (io->io_amount > 0 || status.minor == EIO);
}

fsal_status_t canfs_check_write(
	const struct canfs_caller *caller, fsal_status_t status, const struct fsal_io_arg *io)
{
	bool other_failed;

	if (has_failed(caller, status, io))
		return note(
			caller->handle, FSAL_IS_ERROR(status) && status.minor ? status.minor : EIO);
	other_failed = caller->write_errors != canfs_count_write_errors();
	if (FSAL_IS_ERROR(status) || !other_failed)
		return status;
	if (!caller->stable) {
		at_begin.errors = caller->write_errors;
		at_begin.valid = true;
		return status;
	}
	/* Of several that wait for the same descriptor the kernel tells one: it may have been this one's data. */
	return canfs_failed_files_has(&failed_files, canfs_hash_key(caller->handle),
		       caller->begun_usec, canfs_now_usec())
		       ? fsalstat(ERR_FSAL_DELAY, 0)
		       : status;
}

void canfs_begin_write(struct canfs_caller *caller)
{
	at_begin.valid = false;
	caller->write_errors = canfs_count_write_errors();
	caller->begun_usec = caller->stable ? canfs_now_usec() : 0;
}

fsal_status_t canfs_check_commit(struct fsal_obj_handle *handle, fsal_status_t status)
{
	at_begin.valid = false;
	if (FSAL_IS_ERROR(status))
		return means_loss(status) ? note(handle, status.minor) : status;
	if (op_ctx->nfs_vers != NFS_V4 && canfs_failed_files_any(&failed_files) &&
		canfs_failed_files_has(&failed_files, canfs_hash_key(handle), 0, canfs_now_usec()))
		return fsalstat(ERR_FSAL_IO, EIO);
	return status;
}

void canfs_forget_write_errors(struct fsal_obj_handle *handle)
{
	if (canfs_failed_files_any(&failed_files))
		canfs_failed_files_forget(&failed_files, canfs_hash_key(handle));
}
