// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Tells all clients that may have lost data when an fsync(2) below us failed (core/failed_files.h).
 */
#include "ganesha-fsal/promises/promises.h"
#include "ganesha-fsal/promises/core/failed_files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "common/clock.h"
#include "common/hash.h"

static struct canfs_failed_files failed_files = CANFS_FAILED_FILES_NONE;

/* Write errors of all exports, because two exports of one file system share its files. */
static _Atomic uint32_t errors;

/*
 * The number of write errors when this thread's last unstable write began. The verifier of that
 * write must report this number.
 */
static __thread struct {
	uint32_t errors;
	bool valid;
} at_begin;

/* This feature's part of a WRITE: the state when it began. */
struct begun {
	uint32_t errors;
	uint64_t usec; /* 0: not a stable write */
};

void canfs_count_write_errors(json_t *counters)
{
	json_object_set_new(counters, "write_errors", json_integer(atomic_load(&errors)));
}

/*
 * The harmless errors come from open(2) or another step before fsync(2) or pwritev(2). Those two
 * calls return whatever the block layer returns.
 */
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

/*
 * Returns the status for the client. It must not make the client retry, because the next fsync(2)
 * succeeds.
 */
static fsal_status_t note(struct fsal_obj_handle *handle, int error)
{
	atomic_fetch_add(&errors, 1);
	if (canfs_failed_files_note(&failed_files, canfs_hash_key(handle), canfs_now_usec()))
		LogCrit(COMPONENT_FSAL,
			"CANFS: %s: file %" PRIu64
			" has lost written data (%s): its clients are told",
			CTX_FULLPATH(op_ctx), handle->fileid, strerror(error));
	return fsalstat(ERR_FSAL_IO, error);
}

/*
 * The server's own verifier is its start time in seconds. If we added to that, the result might be
 * the verifier of another start.
 */
void canfs_add_write_errors(struct gsh_buffdesc *verifier)
{
	uint64_t part = canfs_hash(at_begin.valid ? at_begin.errors : atomic_load(&errors)), whole;

	at_begin.valid = false;
	if (verifier->len != sizeof(whole))
		return;
	memcpy(&whole, verifier->addr, sizeof(whole));
	whole ^= part; /* part is 0 if there were no errors */
	memcpy(verifier->addr, &whole, sizeof(whole));
}

/*
 * RFC 1813 §3.3.7: if a stable write fails, FSAL VFS of Ganesha 4 returns the error. FSAL VFS of
 * Ganesha 6 and 9 reports the write as unstable, as if a COMMIT could still help.
 */
static bool has_failed(const struct canfs_op *op, fsal_status_t status)
{
	if (!FSAL_IS_ERROR(status))
		return op->was_stable && !op->io->fsal_stable;
	/*
	 * If no byte was written, pwritev(2) itself failed, for example on a file system that is
	 * mounted with sync.
	 */
	return means_loss(status) && (op->io->io_amount > 0 || status.minor == EIO);
}

fsal_status_t canfs_check_write(struct canfs_op *op, fsal_status_t status)
{
	const struct begun *begun = CANFS_OP_PART(op, CANFS_FEATURE_PROMISES, struct begun);

	if (!op->passed)
		return status;
	if (has_failed(op, status))
		return note(op->handle, FSAL_IS_ERROR(status) && status.minor ? status.minor : EIO);
	if (FSAL_IS_ERROR(status) || begun->errors == atomic_load(&errors))
		return status;
	if (!op->was_stable) {
		at_begin.errors = begun->errors;
		at_begin.valid = true;
		return status;
	}
	/*
	 * The kernel reports an error to one of several threads that wait for the same descriptor.
	 * The error may be about the data of this write.
	 */
	return canfs_failed_files_has(
		       &failed_files, canfs_hash_key(op->handle), begun->usec, canfs_now_usec())
		       ? fsalstat(ERR_FSAL_DELAY, 0)
		       : status;
}

fsal_status_t canfs_begin_write_errors(struct canfs_op *op)
{
	struct begun *begun = CANFS_OP_PART(op, CANFS_FEATURE_PROMISES, struct begun);

	at_begin.valid = false;
	begun->errors = atomic_load(&errors);
	begun->usec = op->was_stable ? canfs_now_usec() : 0;
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

fsal_status_t canfs_check_commit(struct canfs_op *op, fsal_status_t status)
{
	at_begin.valid = false;
	if (!op->passed)
		return status;
	if (FSAL_IS_ERROR(status))
		return means_loss(status) ? note(op->handle, status.minor) : status;
	if (op_ctx->nfs_vers != NFS_V4 && canfs_failed_files_any(&failed_files) &&
		canfs_failed_files_has(
			&failed_files, canfs_hash_key(op->handle), 0, canfs_now_usec()))
		return fsalstat(ERR_FSAL_IO, EIO);
	return status;
}

void canfs_forget_write_errors(struct fsal_obj_handle *handle, uint64_t bytes, fsal_status_t status)
{
	if (bytes == 0 && !FSAL_IS_ERROR(status) && canfs_failed_files_any(&failed_files))
		canfs_failed_files_forget(&failed_files, canfs_hash_key(handle));
}
