// SPDX-License-Identifier: LGPL-3.0-or-later
/* Files: open, I/O, locks. Reads and writes answer through a callback, which we pass through too. */
#include "ganesha-fsal/canfs_methods.h"

/* May run in another thread than the call, with an op_ctx of its own on the sub-FSAL's export. */
static void io_done(
	struct fsal_obj_handle *sub, fsal_status_t status, void *io_arg, void *caller_arg)
{
	struct fsal_export *sub_export = op_ctx->fsal_export;
	struct canfs_caller *caller = caller_arg;

	(void)sub;
	op_ctx->fsal_export = sub_export->super_export;
	caller->done(caller->handle, status, io_arg, caller->arg);
	op_ctx->fsal_export = sub_export;
	gsh_free(caller);
}

static void read_done(
	struct fsal_obj_handle *sub, fsal_status_t status, void *io_arg, void *caller_arg)
{
	const struct fsal_io_arg *io = io_arg;
	struct canfs_caller *caller = caller_arg;

	canfs_end_read(&caller->timer, FSAL_IS_ERROR(status) ? 0 : io->io_amount);
	if (!FSAL_IS_ERROR(status))
		canfs_reads_note(caller->handle, io_arg);
	io_done(sub, status, io_arg, caller_arg);
}

/* For as long as the sub-FSAL has the read or write. */
static struct canfs_caller *keep(struct canfs_caller caller)
{
	struct canfs_caller *kept = gsh_malloc(sizeof(*kept));

	*kept = caller;
	return kept;
}

/*
 * A delayed read, whose pages are there, or not to be had: with op_ctx on the sub-FSAL's export. If it is given up, the
 * client is told to come again.
 */
static void answer_read(const struct canfs_io *read, bool give_up)
{
	struct fsal_obj_handle *sub = canfs_sub(read->caller.handle);
	struct canfs_caller *caller = keep(read->caller);

	if (!give_up) {
		sub->obj_ops->read2(sub, read->bypass, read_done, read->read_arg, caller);
		return;
	}
	/* Of a server that ends, nobody will close it any more. */
	compat_close_given_up(sub);
	read_done(sub, fsalstat(ERR_FSAL_DELAY, 0), read->read_arg, caller);
}

static void read_file(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb done,
	struct fsal_io_arg *io, void *arg)
{
	fsal_status_t status = canfs_check_delegations(handle, CANFS_READS);
	struct canfs_io read;

	if (FSAL_IS_ERROR(status)) {
		done(handle, status, io, arg);
		return;
	}
	read.answer = answer_read;
	read.caller = (struct canfs_caller) {
		.handle = handle,
		.done = done,
		.arg = arg,
		.timer = canfs_begin_read(io),
	};
	read.bypass = bypass;
	read.read_arg = io;
	if (canfs_submit_read(&read))
		return;
	PASS_VOID(handle, read2, bypass, read_done, io, keep(read.caller));
	canfs_complete_read(&read);
}

/* Whatever came of it: some may have been written. */
static void write_done(
	struct fsal_obj_handle *sub, fsal_status_t status, void *io_arg, void *caller_arg)
{
	struct fsal_export *sub_export = op_ctx->fsal_export;
	struct canfs_caller *caller = caller_arg;
	struct fsal_io_arg *io = io_arg;
	bool again;

	op_ctx->fsal_export = sub_export->super_export;
	again = canfs_spend_space(&caller->change, status, io);
	if (again) {
		op_ctx->fsal_export = sub_export;
		sub->obj_ops->write2(sub, caller->bypass, write_done, io, caller);
		return;
	}
	canfs_end_timer(&caller->timer);
	canfs_invalidate(caller->handle, io->offset, canfs_bytes_of(io));
	status = canfs_check_write(caller, status, io);
	canfs_end_change(&caller->change);
	op_ctx->fsal_export = sub_export;
	io_done(sub, status, io_arg, caller_arg);
}

static void write_file(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb done,
	struct fsal_io_arg *io, void *arg)
{
	struct canfs_caller caller = {
		.handle = handle,
		.done = done,
		.arg = arg,
		.timer = canfs_begin_write_of(io),
		.stable = io->fsal_stable,
		.bypass = bypass,
	};
	fsal_status_t status = canfs_write_was_revoked(handle, io)
				       ? fsalstat(ERR_FSAL_IO, 0)
				       : canfs_begin_change(handle, &caller.change);

	if (FSAL_IS_ERROR(status)) {
		canfs_end_timer(&caller.timer);
		done(handle, status, io, arg);
		return;
	}
	canfs_note_write(&caller.change);
	canfs_begin_write(&caller);
	PASS_VOID(handle, write2, bypass, write_done, io, keep(caller));
}

/* One that may be new. If it may not be there after a crash, the client is told an error, and nothing stays open. */
static fsal_status_t commit_new(const struct fsal_obj_handle *dir, struct state_t *state,
	bool is_repeatable, struct fsal_obj_handle **created, fsal_status_t status)
{
	fsal_status_t committed = canfs_commit_metadata(dir, status);

	/* After our lookup another client may have created the file and got a delegation. */
	if (is_repeatable && !FSAL_IS_ERROR(committed))
		committed = canfs_check_delegations(*created, CANFS_WRITES);
	if (!FSAL_IS_ERROR(committed) || FSAL_IS_ERROR(status))
		return committed;
	if (state)
		(void)PASS(*created, close2, state);
	BELOW_VOID(op_ctx->fsal_export, canfs_release_handle(*created));
	*created = NULL;
	return committed;
}

/* One that there was, and that may be empty now, or of which another client is just waiting to hear that it is made. */
static fsal_status_t commit_opened(struct fsal_obj_handle *handle, struct state_t *state,
	enum fsal_create_mode createmode, bool truncates, fsal_status_t status)
{
	fsal_status_t committed = status;

	if (truncates)
		canfs_truncated(handle, 0, status);
	if (truncates || createmode != FSAL_NO_CREATE)
		committed = canfs_commit_metadata(handle, status);
	if (state && FSAL_IS_ERROR(committed) && !FSAL_IS_ERROR(status))
		(void)PASS(handle, close2, state);
	return committed;
}

/* Without an error, canfs_end_change() must follow. */
static fsal_status_t begin_open(struct fsal_obj_handle *handle, const char *name, bool truncates,
	bool writes, struct canfs_file_change *change)
{
	enum canfs_access access = writes ? CANFS_WRITES : CANFS_READS;

	*change = (struct canfs_file_change) { .holders = NULL };
	if (truncates)
		return name ? canfs_begin_named_change(handle, name, change)
			    : canfs_begin_change(handle, change);
	return name ? canfs_check_named(handle, name, access)
		    : canfs_check_delegations(handle, access);
}

static fsal_status_t do_open(struct fsal_obj_handle *handle, struct state_t *state, bool truncates,
	fsal_openflags_t openflags, enum fsal_create_mode createmode, const char *name,
	struct fsal_attrlist *attrs_in, fsal_verifier_t verifier, struct fsal_obj_handle **created,
	struct fsal_attrlist *attrs_out, bool *caller_perm_check COMPAT_PARENT_PARAMS)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status;

	if (!name && (truncates || (openflags & FSAL_O_WRITE)) && canfs_open_was_revoked(handle))
		return fsalstat(ERR_FSAL_NOENT, 0);
	status = PASS(handle, open2, state, openflags, createmode, name, attrs_in, verifier, &sub,
		attrs_out, caller_perm_check COMPAT_PARENT_ARGS);

	/* Opening by handle gives no new object, and the caller may have passed NULL then. */
	if (!sub)
		return name ? status : commit_opened(handle, state, createmode, truncates, status);
	status = canfs_wrap(op_ctx->fsal_export, sub, created, status);
	if (createmode != FSAL_NO_CREATE)
		status = commit_new(
			handle, state, truncates && createmode == FSAL_UNCHECKED, created, status);
	if (!FSAL_IS_ERROR(status))
		canfs_note_made(*created, handle);
	canfs_note_truncated(truncates && !FSAL_IS_ERROR(status) ? *created : NULL);
	return status;
}

static fsal_status_t open_file(struct fsal_obj_handle *handle, struct state_t *state,
	fsal_openflags_t openflags, enum fsal_create_mode createmode, const char *name,
	struct fsal_attrlist *attrs_in, fsal_verifier_t verifier, struct fsal_obj_handle **created,
	struct fsal_attrlist *attrs_out, bool *caller_perm_check COMPAT_PARENT_PARAMS)
{
	bool truncates = (openflags & FSAL_O_TRUNC) != 0 ||
			 (attrs_in && FSAL_TEST_MASK(attrs_in->valid_mask, ATTR_SIZE) &&
				 attrs_in->filesize == 0);
	bool changes = truncates || createmode != FSAL_NO_CREATE;
	struct canfs_file_change change;
	fsal_status_t status = fsalstat(ERR_FSAL_NO_ERROR, 0);

	if (changes)
		status = canfs_begin_metadata();
	if (FSAL_IS_ERROR(status))
		return status;
	status = begin_open(handle, name, truncates, openflags & FSAL_O_WRITE, &change);
	if (FSAL_IS_ERROR(status))
		goto out;
	status = do_open(handle, state, truncates, openflags, createmode, name, attrs_in, verifier,
		created, attrs_out, caller_perm_check COMPAT_PARENT_ARGS);
	canfs_end_change(&change);
out:
	if (changes)
		canfs_end_metadata();
	return status;
}

static bool check_verifier(struct fsal_obj_handle *handle, fsal_verifier_t verifier)
{
	return PASS(handle, check_verifier, verifier);
}

static fsal_openflags_t status_file(struct fsal_obj_handle *handle, struct state_t *state)
{
	return PASS(handle, status2, state);
}

static fsal_status_t reopen_file(
	struct fsal_obj_handle *handle, struct state_t *state, fsal_openflags_t openflags)
{
	bool truncates = openflags & FSAL_O_TRUNC;
	struct canfs_file_change change;
	fsal_status_t status =
		begin_open(handle, NULL, truncates, openflags & FSAL_O_WRITE, &change);

	if (FSAL_IS_ERROR(status))
		return status;
	status = PASS(handle, reopen2, state, openflags);
	if (truncates)
		canfs_truncated(handle, 0, status);
	canfs_end_change(&change);
	return truncates ? canfs_commit_metadata(handle, status) : status;
}

static fsal_status_t seek_file(
	struct fsal_obj_handle *handle, struct state_t *state, struct io_info *info)
{
	fsal_status_t status = canfs_check_delegations(handle, CANFS_READS);

	return FSAL_IS_ERROR(status) ? status : PASS(handle, seek2, state, info);
}

static fsal_status_t advise_file(
	struct fsal_obj_handle *handle, struct state_t *state, struct io_hints *hints)
{
	return PASS(handle, io_advise2, state, hints);
}

/* The one of the two that Ganesha's NFSv4.2 calls. */
static fsal_status_t advise_object(struct fsal_obj_handle *handle, struct io_hints *hints)
{
	return PASS(handle, io_advise, hints);
}

static fsal_status_t commit_file(struct fsal_obj_handle *handle, off_t offset, size_t len)
{
	struct canfs_timer timer = canfs_begin_commit();
	fsal_status_t status;

	canfs_note_arrived(handle);
	status = PASS(handle, commit2, offset, len);
	canfs_end_timer(&timer);
	return canfs_check_commit(handle, status);
}

static fsal_status_t lock_file(struct fsal_obj_handle *handle, struct state_t *state, void *owner,
	fsal_lock_op_t op, fsal_lock_param_t *request, fsal_lock_param_t *conflict)
{
	fsal_status_t status = fsalstat(ERR_FSAL_NO_ERROR, 0);

	canfs_note_arrived(handle);
	/* Its holder need not ask for locks. */
	if (op != FSAL_OP_UNLOCK && op != FSAL_OP_CANCEL)
		status = canfs_check_delegations(handle, CANFS_WRITES);
	return FSAL_IS_ERROR(status) ? status
				     : PASS(handle, lock_op2, state, owner, op, request, conflict);
}

static fsal_status_t lease_file(
	struct fsal_obj_handle *handle, struct state_t *state, void *owner, fsal_deleg_t deleg)
{
	fsal_status_t status = fsalstat(ERR_FSAL_NO_ERROR, 0);

	if (deleg == FSAL_DELEG_NONE) {
		canfs_return_lease(handle, state, owner);
		/* A client that reclaims one is given it even if we refuse, and returns it. */
		if (!PASS_EXPORT(op_ctx->fsal_export, fs_supports, fso_delegations_r)) {
			canfs_hide_returned(state, owner);
			return status;
		}
	} else if (canfs_grant_lease(handle, state, owner, deleg == FSAL_DELEG_WR, &status)) {
		return status;
	}
	return PASS(handle, lease_op2, state, owner, deleg);
}

static fsal_status_t allocate_file(struct fsal_obj_handle *handle, struct state_t *state,
	uint64_t offset, uint64_t length, bool allocate)
{
	struct canfs_file_change change;
	fsal_status_t status = canfs_begin_change(handle, &change);

	if (FSAL_IS_ERROR(status))
		return status;
	status = PASS(handle, fallocate, state, offset, length, allocate);
	canfs_invalidate(handle, offset, CANFS_TO_THE_END);
	canfs_end_change(&change);
	return status;
}

static fsal_status_t close_file(struct fsal_obj_handle *handle)
{
	canfs_file_closed(handle);
	return PASS(handle, close);
}

static fsal_status_t close_state(struct fsal_obj_handle *handle, struct state_t *state)
{
	/* Not each end of a delegation is told by lease_op2, as when its export goes. */
	canfs_return_lease(handle, state, NULL);
	canfs_file_closed(handle);
	return PASS(handle, close2, state);
}

void canfs_file_ops_init(struct fsal_obj_ops *ops)
{
	ops->read2 = read_file;
	ops->write2 = write_file;
	ops->open2 = open_file;
	ops->check_verifier = check_verifier;
	ops->status2 = status_file;
	ops->reopen2 = reopen_file;
	ops->seek2 = seek_file;
	ops->io_advise = advise_object;
	ops->io_advise2 = advise_file;
	ops->commit2 = commit_file;
	ops->lock_op2 = lock_file;
	ops->lease_op2 = lease_file;
	ops->fallocate = allocate_file;
	ops->close = close_file;
	ops->close2 = close_state;
}
