// SPDX-License-Identifier: LGPL-3.0-or-later
/* Objects: our handle wraps the sub-FSAL's, and passes every operation on to it. */
#include "ganesha-fsal/stack/feature.h"

static void release(struct fsal_obj_handle *handle)
{
	if (CANFS_ANY(takes_object, handle))
		return;
	if (op_ctx)
		BELOW_VOID(op_ctx->fsal_export, canfs_release_handle(handle));
	else
		canfs_release_handle(handle);
}

/*
 * An open by name returns a new handle. If the file already has a handle, Ganesha uses that one and
 * calls merge() with both, in the same thread, before the thread opens anything else. A member of
 * each handle would make all handles larger.
 */
static __thread const struct fsal_obj_handle *truncated;

void canfs_note_truncated(const struct fsal_obj_handle *handle)
{
	truncated = handle;
}

static fsal_status_t merge(struct fsal_obj_handle *original, struct fsal_obj_handle *duplicate)
{
	if (duplicate == truncated)
		CANFS_TELL_BACK(truncated, original, 0, fsalstat(ERR_FSAL_NO_ERROR, 0));
	return PASS(original, merge, canfs_sub(duplicate));
}

static fsal_status_t lookup(struct fsal_obj_handle *dir, const char *name,
	struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status = PASS(dir, lookup, name, &sub, attrs_out);

	return canfs_wrap(op_ctx->fsal_export, sub, handle, status);
}

static struct canfs_op making(struct fsal_obj_handle *dir)
{
	return (struct canfs_op) { .kind = CANFS_OP_MAKE, .handle = dir };
}

/*
 * The object was created, but the client gets an error, because the object may be gone after a
 * crash.
 */
static fsal_status_t end_making(struct canfs_op *op, struct fsal_obj_handle *sub,
	struct fsal_obj_handle **handle, fsal_status_t status)
{
	fsal_status_t told = canfs_after(op, status);

	if (FSAL_IS_ERROR(told) && !FSAL_IS_ERROR(status))
		BELOW_VOID(op_ctx->fsal_export, sub->obj_ops->release(sub));
	return canfs_wrap(op_ctx->fsal_export, sub, handle, told);
}

static fsal_status_t make_dir(struct fsal_obj_handle *dir, const char *name,
	struct fsal_attrlist *attrs_in, struct fsal_obj_handle **handle,
	struct fsal_attrlist *attrs_out COMPAT_PARENT_PARAMS)
{
	struct fsal_obj_handle *sub = NULL;
	struct canfs_op op = making(dir);
	fsal_status_t status = canfs_before(&op);

	if (FSAL_IS_ERROR(status))
		return status;
	status = PASS(dir, mkdir, name, attrs_in, &sub, attrs_out COMPAT_PARENT_ARGS);
	return end_making(&op, sub, handle, status);
}

static fsal_status_t make_node(struct fsal_obj_handle *dir, const char *name,
	object_file_type_t type, struct fsal_attrlist *attrs_in, struct fsal_obj_handle **handle,
	struct fsal_attrlist *attrs_out COMPAT_PARENT_PARAMS)
{
	struct fsal_obj_handle *sub = NULL;
	struct canfs_op op = making(dir);
	fsal_status_t status = canfs_before(&op);

	if (FSAL_IS_ERROR(status))
		return status;
	status = PASS(dir, mknode, name, type, attrs_in, &sub, attrs_out COMPAT_PARENT_ARGS);
	return end_making(&op, sub, handle, status);
}

static fsal_status_t make_symlink(struct fsal_obj_handle *dir, const char *name, const char *target,
	struct fsal_attrlist *attrs_in, struct fsal_obj_handle **handle,
	struct fsal_attrlist *attrs_out COMPAT_PARENT_PARAMS)
{
	struct fsal_obj_handle *sub = NULL;
	struct canfs_op op = making(dir);
	fsal_status_t status = canfs_before(&op);

	if (FSAL_IS_ERROR(status))
		return status;
	status = PASS(dir, symlink, name, target, attrs_in, &sub, attrs_out COMPAT_PARENT_ARGS);
	return end_making(&op, sub, handle, status);
}

static fsal_status_t read_symlink(
	struct fsal_obj_handle *handle, compat_link_content *content, bool refresh)
{
	return PASS(handle, readlink, content, refresh);
}

static fsal_status_t link_file(struct fsal_obj_handle *handle, struct fsal_obj_handle *dir,
	const char *name COMPAT_PARENT_PARAMS)
{
	struct canfs_op op = { .kind = CANFS_OP_LINK, .handle = handle, .dir = dir, .name = name };
	fsal_status_t status = canfs_before(&op);

	if (FSAL_IS_ERROR(status))
		return status;
	return canfs_after(&op, PASS(handle, link, canfs_sub(dir), name COMPAT_PARENT_ARGS));
}

static fsal_status_t rename_file(struct fsal_obj_handle *handle, struct fsal_obj_handle *olddir,
	const char *old_name, struct fsal_obj_handle *newdir,
	const char *new_name COMPAT_RENAME_PARAMS)
{
	struct canfs_op op = {
		.kind = CANFS_OP_RENAME, .handle = handle, .dir = newdir, .name = new_name
	};
	fsal_status_t status = canfs_before(&op);

	if (FSAL_IS_ERROR(status))
		return status;
	return canfs_after(&op, PASS(handle, rename, canfs_sub(olddir), old_name, canfs_sub(newdir),
					new_name COMPAT_RENAME_ARGS));
}

static fsal_status_t unlink_file(struct fsal_obj_handle *dir, struct fsal_obj_handle *handle,
	const char *name COMPAT_PARENT_PARAMS)
{
	struct canfs_op op = {
		.kind = CANFS_OP_UNLINK, .handle = handle, .dir = dir, .name = name
	};
	fsal_status_t status = canfs_before(&op);

	if (FSAL_IS_ERROR(status))
		return status;
	return canfs_after(&op, PASS(dir, unlink, canfs_sub(handle), name COMPAT_PARENT_ARGS));
}

/* The state of a readdir while the sub-FSAL calls back. */
struct readdir_state {
	fsal_readdir_cb cb;
	void *cb_arg;
	struct fsal_export *export;
};

static enum fsal_dir_result readdir_cb(const char *name, struct fsal_obj_handle *sub,
	struct fsal_attrlist *attrs, void *arg, fsal_cookie_t cookie)
{
	struct readdir_state *state = arg;
	struct fsal_obj_handle *handle;
	enum fsal_dir_result result;

	canfs_wrap(state->export, sub, &handle, fsalstat(ERR_FSAL_NO_ERROR, 0));
	op_ctx->fsal_export = state->export;
	result = state->cb(name, handle, attrs, state->cb_arg, cookie);
	op_ctx->fsal_export = state->export->sub_export;
	return result;
}

static fsal_status_t read_dir(struct fsal_obj_handle *dir, fsal_cookie_t *whence, void *cb_arg,
	fsal_readdir_cb cb, attrmask_t attrmask, bool *eof)
{
	struct readdir_state state = { .cb = cb, .cb_arg = cb_arg, .export = op_ctx->fsal_export };

	return PASS(dir, readdir, whence, &state, readdir_cb, attrmask, eof);
}

static fsal_cookie_t compute_readdir_cookie(struct fsal_obj_handle *dir, const char *name)
{
	return PASS(dir, compute_readdir_cookie, name);
}

static int dirent_cmp(struct fsal_obj_handle *dir, const char *name1, fsal_cookie_t cookie1,
	const char *name2, fsal_cookie_t cookie2)
{
	return PASS(dir, dirent_cmp, name1, cookie1, name2, cookie2);
}

static fsal_status_t test_access(struct fsal_obj_handle *handle, fsal_accessflags_t access_type,
	fsal_accessflags_t *allowed, fsal_accessflags_t *denied, bool owner_skip)
{
	return PASS(handle, test_access, access_type, allowed, denied, owner_skip);
}

static fsal_status_t get_attrs(struct fsal_obj_handle *handle, struct fsal_attrlist *attrs_out)
{
	struct canfs_op op = { .kind = CANFS_OP_LOOK, .handle = handle };
	fsal_status_t status = canfs_before(&op);

	if (FSAL_IS_ERROR(status))
		return status;
	if (!CANFS_ANY(get_attrs, handle, attrs_out))
		status = PASS(handle, getattrs, attrs_out);
	return canfs_after(&op, status);
}

static fsal_status_t set_attrs(struct fsal_obj_handle *handle, bool bypass, struct state_t *state,
	struct fsal_attrlist *attrs)
{
	bool resizes = FSAL_TEST_MASK(attrs->valid_mask, ATTR_SIZE);
	uint64_t size = attrs->filesize;
	struct canfs_op op = { .kind = CANFS_OP_SET_ATTRS, .handle = handle };
	fsal_status_t status = canfs_before(&op);

	if (FSAL_IS_ERROR(status))
		return status;
	status = PASS(handle, setattr2, bypass, state, attrs);
	if (resizes)
		CANFS_TELL_BACK(truncated, handle, size, status);
	return canfs_after(&op, status);
}

static fsal_status_t handle_to_wire(const struct fsal_obj_handle *handle,
	fsal_digesttype_t output_type, struct gsh_buffdesc *desc)
{
	return PASS(handle, handle_to_wire, output_type, desc);
}

static void handle_to_key(struct fsal_obj_handle *handle, struct gsh_buffdesc *desc)
{
	PASS_VOID(handle, handle_to_key, desc);
}

static bool is_referral(
	struct fsal_obj_handle *handle, struct fsal_attrlist *attrs, bool cache_attrs)
{
	return PASS(handle, is_referral, attrs, cache_attrs);
}

void canfs_handle_ops_init(struct fsal_obj_ops *ops)
{
	fsal_default_obj_ops_init(ops);
	ops->release = release;
	ops->merge = merge;
	ops->lookup = lookup;
	ops->readdir = read_dir;
	ops->compute_readdir_cookie = compute_readdir_cookie;
	ops->dirent_cmp = dirent_cmp;
	ops->mkdir = make_dir;
	ops->mknode = make_node;
	ops->symlink = make_symlink;
	ops->readlink = read_symlink;
	ops->test_access = test_access;
	ops->getattrs = get_attrs;
	ops->setattr2 = set_attrs;
	ops->link = link_file;
	ops->rename = rename_file;
	ops->unlink = unlink_file;
	ops->handle_to_wire = handle_to_wire;
	ops->handle_to_key = handle_to_key;
	ops->is_referral = is_referral;
}

/* The two export operations that return handles are here, beside the code that wraps them. */

fsal_status_t canfs_lookup_path(struct fsal_export *export, const char *path,
	struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status = PASS_EXPORT(export, lookup_path, path, &sub, attrs_out);

	return canfs_wrap(export, sub, handle, status);
}

fsal_status_t canfs_create_handle(struct fsal_export *export, struct gsh_buffdesc *key,
	struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status = PASS_EXPORT(export, create_handle, key, &sub, attrs_out);

	return canfs_wrap(export, sub, handle, status);
}
