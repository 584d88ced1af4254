// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Files: open, I/O, locks. Reads and writes answer through a callback, which is passed through,
 * too.
 */
#include "ganesha-fsal/stack/feature.h"

/*
 * May run in another thread than the call, with its own op_ctx on the sub-FSAL's export. Calls
 * after[] even if a write failed: part of the data may have been written.
 */
static void done(struct fsal_obj_handle *sub, fsal_status_t status, void *io_arg, void *call_arg)
{
	struct fsal_export *sub_export = op_ctx->fsal_export;
	struct canfs_io_call *call = call_arg;

	(void)sub;
	op_ctx->fsal_export = sub_export->super_export;
	status = canfs_after(&call->op, status);
	call->done(call->op.handle, status, io_arg, call->arg);
	op_ctx->fsal_export = sub_export;
	gsh_free(call);
}

/* Keeps the call while the sub-FSAL has the read or write. */
static struct canfs_io_call *keep(const struct canfs_io_call *call)
{
	struct canfs_io_call *kept = gsh_malloc(sizeof(*kept));

	*kept = *call;
	return kept;
}

void canfs_pass_read(const struct canfs_io_call *call)
{
	PASS_VOID(call->op.handle, read2, call->bypass, done, call->op.io, keep(call));
}

void canfs_answer_read(const struct canfs_io_call *call, bool give_up)
{
	struct fsal_obj_handle *sub = canfs_sub(call->op.handle);

	if (!give_up) {
		sub->obj_ops->read2(sub, call->bypass, done, call->op.io, keep(call));
		return;
	}
	/* During shutdown, nobody closes the file later. */
	compat_close_given_up(sub);
	done(sub, fsalstat(ERR_FSAL_DELAY, 0), call->op.io, keep(call));
}

static void read_file(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb answer,
	struct fsal_io_arg *io, void *arg)
{
	struct canfs_io_call call = { .op = { .kind = CANFS_OP_READ, .handle = handle, .io = io },
		.bypass = bypass,
		.done = answer,
		.arg = arg };
	fsal_status_t status = canfs_before(&call.op);

	if (FSAL_IS_ERROR(status)) {
		answer(handle, status, io, arg);
		return;
	}
	for (int i = 0; i < CANFS_FEATURES; i++) {
		if (canfs_features[i]->read) {
			canfs_features[i]->read(&call);
			return;
		}
	}
	canfs_pass_read(&call);
}

static void write_done(
	struct fsal_obj_handle *sub, fsal_status_t status, void *io_arg, void *call_arg)
{
	struct fsal_export *sub_export = op_ctx->fsal_export;
	struct canfs_io_call *call = call_arg;
	bool again;

	op_ctx->fsal_export = sub_export->super_export;
	again = FSAL_IS_ERROR(status) && CANFS_ANY(retries, &call->op, status);
	op_ctx->fsal_export = sub_export;
	if (again)
		sub->obj_ops->write2(sub, call->bypass, write_done, io_arg, call);
	else
		done(sub, status, io_arg, call_arg);
}

static void write_file(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb answer,
	struct fsal_io_arg *io, void *arg)
{
	struct canfs_io_call call = { .op = { .kind = CANFS_OP_WRITE,
					      .handle = handle,
					      .io = io,
					      .was_stable = io->fsal_stable },
		.bypass = bypass,
		.done = answer,
		.arg = arg };
	fsal_status_t status = canfs_before(&call.op);

	if (FSAL_IS_ERROR(status))
		answer(handle, status, io, arg);
	else
		PASS_VOID(handle, write2, bypass, write_done, io, keep(&call));
}

/* The file is open or created, but the client gets an error. Closes it again. */
static void close_again(const struct canfs_op *op, struct state_t *state)
{
	if (state)
		(void)PASS(op->made ? op->made : op->handle, close2, state);
	if (op->made)
		BELOW_VOID(op_ctx->fsal_export, canfs_release_handle(op->made));
}

static fsal_status_t open_file(struct fsal_obj_handle *handle, struct state_t *state,
	fsal_openflags_t openflags, enum fsal_create_mode createmode, const char *name,
	struct fsal_attrlist *attrs_in, fsal_verifier_t verifier, struct fsal_obj_handle **created,
	struct fsal_attrlist *attrs_out, bool *caller_perm_check COMPAT_PARENT_PARAMS)
{
	bool truncates = (openflags & FSAL_O_TRUNC) != 0 ||
			 (attrs_in && FSAL_TEST_MASK(attrs_in->valid_mask, ATTR_SIZE) &&
				 attrs_in->filesize == 0);
	struct canfs_op op = { .kind = CANFS_OP_OPEN,
		.handle = handle,
		.name = name,
		.truncates = truncates,
		.creates = createmode != FSAL_NO_CREATE,
		.may_exist = createmode == FSAL_UNCHECKED,
		.writes = (openflags & FSAL_O_WRITE) != 0 };
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status = canfs_before(&op), told;

	if (FSAL_IS_ERROR(status))
		return status;
	status = PASS(handle, open2, state, openflags, createmode, name, attrs_in, verifier, &sub,
		attrs_out, caller_perm_check COMPAT_PARENT_ARGS);
	/*
	 * An open by handle creates no new object, and the caller may have passed NULL for
	 * `created`.
	 */
	if (sub)
		status = canfs_wrap(op_ctx->fsal_export, sub, &op.made, status);
	else if (truncates && !name)
		CANFS_TELL_BACK(truncated, handle, 0, status);
	told = canfs_after(&op, status);
	if (FSAL_IS_ERROR(told) && !FSAL_IS_ERROR(status)) {
		close_again(&op, state);
		op.made = NULL;
	}
	if (sub) {
		*created = op.made;
		canfs_note_truncated(truncates ? op.made : NULL);
	}
	return told;
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
	struct canfs_op op = { .kind = CANFS_OP_REOPEN,
		.handle = handle,
		.truncates = (openflags & FSAL_O_TRUNC) != 0,
		.writes = (openflags & FSAL_O_WRITE) != 0 };
	fsal_status_t status = canfs_before(&op);

	if (FSAL_IS_ERROR(status))
		return status;
	status = PASS(handle, reopen2, state, openflags);
	if (op.truncates)
		CANFS_TELL_BACK(truncated, handle, 0, status);
	return canfs_after(&op, status);
}

static fsal_status_t seek_file(
	struct fsal_obj_handle *handle, struct state_t *state, struct io_info *info)
{
	struct canfs_op op = { .kind = CANFS_OP_SEEK, .handle = handle };
	fsal_status_t status = canfs_before(&op);

	return FSAL_IS_ERROR(status) ? status : canfs_after(&op, PASS(handle, seek2, state, info));
}

static fsal_status_t advise_file(
	struct fsal_obj_handle *handle, struct state_t *state, struct io_hints *hints)
{
	return PASS(handle, io_advise2, state, hints);
}

/* Ganesha's NFSv4.2 calls this one, not io_advise2. */
static fsal_status_t advise_object(struct fsal_obj_handle *handle, struct io_hints *hints)
{
	return PASS(handle, io_advise, hints);
}

static fsal_status_t commit_file(struct fsal_obj_handle *handle, off_t offset, size_t len)
{
	struct canfs_op op = { .kind = CANFS_OP_COMMIT, .handle = handle };
	fsal_status_t status = canfs_before(&op);

	return FSAL_IS_ERROR(status) ? status
				     : canfs_after(&op, PASS(handle, commit2, offset, len));
}

static fsal_status_t lock_file(struct fsal_obj_handle *handle, struct state_t *state, void *owner,
	fsal_lock_op_t lock_op, fsal_lock_param_t *request, fsal_lock_param_t *conflict)
{
	struct canfs_op op = { .kind = CANFS_OP_LOCK,
		.handle = handle,
		.writes = lock_op != FSAL_OP_UNLOCK && lock_op != FSAL_OP_CANCEL };
	fsal_status_t status = canfs_before(&op);

	if (FSAL_IS_ERROR(status))
		return status;
	return canfs_after(&op, PASS(handle, lock_op2, state, owner, lock_op, request, conflict));
}

static fsal_status_t lease_file(
	struct fsal_obj_handle *handle, struct state_t *state, void *owner, fsal_deleg_t deleg)
{
	fsal_status_t status = fsalstat(ERR_FSAL_NO_ERROR, 0);

	return CANFS_ANY(lease, handle, state, owner, deleg, &status)
		       ? status
		       : PASS(handle, lease_op2, state, owner, deleg);
}

static fsal_status_t allocate_file(struct fsal_obj_handle *handle, struct state_t *state,
	uint64_t offset, uint64_t length, bool allocate)
{
	struct canfs_op op = { .kind = CANFS_OP_ALLOCATE, .handle = handle, .offset = offset };
	fsal_status_t status = canfs_before(&op);

	if (FSAL_IS_ERROR(status))
		return status;
	return canfs_after(&op, PASS(handle, fallocate, state, offset, length, allocate));
}

static fsal_status_t close_file(struct fsal_obj_handle *handle)
{
	struct canfs_op op = { .kind = CANFS_OP_CLOSE, .handle = handle };

	(void)canfs_before(&op);
	return canfs_after(&op, PASS(handle, close));
}

static fsal_status_t close_state(struct fsal_obj_handle *handle, struct state_t *state)
{
	struct canfs_op op = { .kind = CANFS_OP_CLOSE, .handle = handle, .state = state };

	(void)canfs_before(&op);
	return canfs_after(&op, PASS(handle, close2, state));
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
