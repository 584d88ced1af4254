// SPDX-License-Identifier: LGPL-3.0-or-later
/* Objects: our handle wraps the sub-FSAL's, and every operation is passed on to that. */
#include "ganesha-fsal/canfs_methods.h"

#include <string.h>
#include "common/hash.h"

static void release(struct fsal_obj_handle *handle)
{
	if (canfs_object_gone(handle))
		return;
	if (op_ctx)
		BELOW_VOID(op_ctx->fsal_export, canfs_release_handle(handle));
	else
		canfs_release_handle(handle);
}

/*
 * An open by name gives a new handle. If the file has one already, that one is used, and merge() told of both, in the
 * same thread, before anything else is opened in it. (A member of each handle would make all of them larger.)
 */
static __thread const struct fsal_obj_handle *truncated;

void canfs_note_truncated(const struct fsal_obj_handle *handle)
{
	truncated = handle;
}

static fsal_status_t merge(struct fsal_obj_handle *original, struct fsal_obj_handle *duplicate)
{
	if (duplicate == truncated)
		canfs_truncated(original, 0, fsalstat(ERR_FSAL_NO_ERROR, 0));
	return PASS(original, merge, canfs_sub(duplicate));
}

static fsal_status_t lookup(struct fsal_obj_handle *dir, const char *name,
	struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status = PASS(dir, lookup, name, &sub, attrs_out);

	return canfs_wrap(op_ctx->fsal_export, sub, handle, status);
}

/* What was made is there, but the client is told an error: it may not be after a crash. */
static fsal_status_t wrap_new(struct fsal_obj_handle *sub, const struct fsal_obj_handle *dir,
	struct fsal_obj_handle **handle, fsal_status_t status)
{
	fsal_status_t committed = canfs_commit_metadata(dir, status);

	if (FSAL_IS_ERROR(committed) && !FSAL_IS_ERROR(status))
		BELOW_VOID(op_ctx->fsal_export, sub->obj_ops->release(sub));
	return canfs_wrap(op_ctx->fsal_export, sub, handle, committed);
}

static fsal_status_t make_dir(struct fsal_obj_handle *dir, const char *name,
	struct fsal_attrlist *attrs_in, struct fsal_obj_handle **handle,
	struct fsal_attrlist *attrs_out COMPAT_PARENT_PARAMS)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status = canfs_begin_metadata();

	if (FSAL_IS_ERROR(status))
		return status;
	status = PASS(dir, mkdir, name, attrs_in, &sub, attrs_out COMPAT_PARENT_ARGS);
	status = wrap_new(sub, dir, handle, status);
	canfs_end_metadata();
	return status;
}

static fsal_status_t make_node(struct fsal_obj_handle *dir, const char *name,
	object_file_type_t type, struct fsal_attrlist *attrs_in, struct fsal_obj_handle **handle,
	struct fsal_attrlist *attrs_out COMPAT_PARENT_PARAMS)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status = canfs_begin_metadata();

	if (FSAL_IS_ERROR(status))
		return status;
	status = PASS(dir, mknode, name, type, attrs_in, &sub, attrs_out COMPAT_PARENT_ARGS);
	status = wrap_new(sub, dir, handle, status);
	canfs_end_metadata();
	return status;
}

static fsal_status_t make_symlink(struct fsal_obj_handle *dir, const char *name, const char *target,
	struct fsal_attrlist *attrs_in, struct fsal_obj_handle **handle,
	struct fsal_attrlist *attrs_out COMPAT_PARENT_PARAMS)
{
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status = canfs_begin_metadata();

	if (FSAL_IS_ERROR(status))
		return status;
	status = PASS(dir, symlink, name, target, attrs_in, &sub, attrs_out COMPAT_PARENT_ARGS);
	status = wrap_new(sub, dir, handle, status);
	canfs_end_metadata();
	return status;
}

static fsal_status_t read_symlink(
	struct fsal_obj_handle *handle, compat_link_content *content, bool refresh)
{
	return PASS(handle, readlink, content, refresh);
}

static fsal_status_t link_file(struct fsal_obj_handle *handle, struct fsal_obj_handle *dir,
	const char *name COMPAT_PARENT_PARAMS)
{
	struct canfs_file_change change;
	fsal_status_t status = canfs_begin_metadata();

	if (FSAL_IS_ERROR(status))
		return status;
	status = canfs_begin_change(handle, &change);
	if (FSAL_IS_ERROR(status))
		goto out;
	status = PASS(handle, link, canfs_sub(dir), name COMPAT_PARENT_ARGS);
	canfs_end_change(&change);
	status = canfs_commit_metadata(dir, status);
out:
	canfs_end_metadata();
	return status;
}

static fsal_status_t rename_file(struct fsal_obj_handle *handle, struct fsal_obj_handle *olddir,
	const char *old_name, struct fsal_obj_handle *newdir,
	const char *new_name COMPAT_RENAME_PARAMS)
{
	struct canfs_file_change change, replaced;
	fsal_status_t status = canfs_begin_metadata();

	if (FSAL_IS_ERROR(status))
		return status;
	status = canfs_begin_change(handle, &change);
	if (FSAL_IS_ERROR(status))
		goto out;
	status = canfs_begin_named_change(newdir, new_name, &replaced);
	if (FSAL_IS_ERROR(status))
		goto out_change;
	canfs_delete_named(newdir, new_name);
	status = PASS(handle, rename, canfs_sub(olddir), old_name, canfs_sub(newdir),
		new_name COMPAT_RENAME_ARGS);
	canfs_end_change(&replaced);
	status = canfs_commit_metadata(newdir, status);
out_change:
	canfs_end_change(&change);
out:
	canfs_end_metadata();
	return status;
}

static fsal_status_t unlink_file(struct fsal_obj_handle *dir, struct fsal_obj_handle *handle,
	const char *name COMPAT_PARENT_PARAMS)
{
	struct canfs_file_change change;
	fsal_status_t status = canfs_begin_metadata();

	if (FSAL_IS_ERROR(status))
		return status;
	status = canfs_begin_change(handle, &change);
	if (FSAL_IS_ERROR(status))
		goto out;
	canfs_delete_file(handle);
	status = PASS(dir, unlink, canfs_sub(handle), name COMPAT_PARENT_ARGS);
	canfs_end_change(&change);
	status = canfs_commit_metadata(dir, status);
out:
	canfs_end_metadata();
	return status;
}

uint64_t canfs_hash_bytes(const void *key, size_t bytes)
{
	uint64_t hash = 0;

	for (size_t at = 0; at < bytes; at += sizeof(hash)) {
		size_t rest = bytes - at;
		uint64_t part = 0;

		memcpy(&part, (const char *)key + at, rest < sizeof(part) ? rest : sizeof(part));
		hash = canfs_hash(hash ^ part);
	}
	return hash;
}

/* What a readdir of ours must remember while the sub-FSAL's calls back. */
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
	fsal_status_t status = canfs_check_delegations(handle, CANFS_LOOKS);

	if (FSAL_IS_ERROR(status) || canfs_stat_watched(handle, attrs_out))
		return status;
	return PASS(handle, getattrs, attrs_out);
}

static fsal_status_t set_attrs(struct fsal_obj_handle *handle, bool bypass, struct state_t *state,
	struct fsal_attrlist *attrs)
{
	bool resizes = FSAL_TEST_MASK(attrs->valid_mask, ATTR_SIZE);
	uint64_t size = attrs->filesize;
	struct canfs_file_change change;
	fsal_status_t status = canfs_begin_metadata();

	if (FSAL_IS_ERROR(status))
		return status;
	status = canfs_begin_change(handle, &change);
	if (FSAL_IS_ERROR(status))
		goto out;
	status = PASS(handle, setattr2, bypass, state, attrs);
	if (resizes)
		canfs_truncated(handle, size, status);
	canfs_end_change(&change);
	status = canfs_commit_metadata(handle, status);
out:
	canfs_end_metadata();
	return status;
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

uint64_t canfs_hash_key(struct fsal_obj_handle *handle)
{
	struct gsh_buffdesc key;

	PASS_VOID(handle, handle_to_key, &key);
	return canfs_hash_bytes(key.addr, key.len);
}

/* The two export operations that give handles live here, beside what they wrap. */

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
