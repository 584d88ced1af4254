// SPDX-License-Identifier: LGPL-3.0-or-later
/* The module, and the handles that wrap those of the sub-FSAL. */
#include "ganesha-fsal/stack/stack.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "common/hash.h"

/*
 * The abilities of a file system are asked of the sub-FSAL, per export. This struct allows all of
 * them.
 */
struct canfs_module CANFS = {
	.module.fs_info = {
		.maxfilesize = UINT64_MAX,
		.maxlink = _POSIX_LINK_MAX,
		.maxnamelen = 1024,
		.maxpathlen = 1024,
		.no_trunc = true,
		.chown_restricted = true,
		.case_insensitive = false,
		.case_preserving = true,
		.link_support = true,
		.symlink_support = true,
		.lock_support = true,
		.lock_support_async_block = false,
		.named_attr = true,
		.unique_handles = true,
		.acl_support = FSAL_ACLSUPPORT_ALLOW,
		.cansettime = true,
		.homogenous = true,
		.supported_attrs = ALL_ATTRIBUTES,
		.maxread = FSAL_MAXIOSIZE,
		.maxwrite = FSAL_MAXIOSIZE,
		.umask = 0,
		.auth_exportpath_xdev = false,
		.link_supports_permission_checks = true,
		.expire_time_parent = -1,
	},
};

fsal_status_t canfs_wrap(struct fsal_export *export, struct fsal_obj_handle *sub,
	struct fsal_obj_handle **handle, fsal_status_t status)
{
	struct canfs_handle *ours;

	*handle = NULL;
	if (FSAL_IS_ERROR(status))
		return status;
	/* The new handle may have the address of one that was released. */
	canfs_note_truncated(NULL);
	ours = gsh_calloc(1, sizeof(*ours));
	compat_obj_handle_init(&ours->handle, export, sub->type);
	ours->handle.obj_ops = &CANFS.handle_ops;
	ours->handle.fsid = sub->fsid;
	ours->handle.fileid = sub->fileid;
	ours->handle.fs = sub->fs;
	ours->handle.state_hdl = sub->state_hdl;
	ours->sub = sub;
	*handle = &ours->handle;
	return status;
}

void canfs_release_handle(struct fsal_obj_handle *handle)
{
	struct canfs_handle *ours = container_of(handle, struct canfs_handle, handle);

	ours->sub->obj_ops->release(ours->sub);
	compat_obj_handle_fini(handle);
	gsh_free(ours);
}

void canfs_name_thread(const char *name)
{
	SetNameFunction(name);
	pthread_setname_np(pthread_self(), name);
}

void canfs_log_event(const char *message)
{
	LogEvent(COMPONENT_FSAL, "CANFS: %s", message);
}

uint64_t canfs_name_file(const struct fsal_obj_handle *handle)
{
	return handle->fileid ^ canfs_hash(handle->fsid.major ^ canfs_hash(handle->fsid.minor));
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

uint64_t canfs_hash_key(struct fsal_obj_handle *handle)
{
	struct gsh_buffdesc key;

	PASS_VOID(handle, handle_to_key, &key);
	return canfs_hash_bytes(key.addr, key.len);
}

uint64_t canfs_bytes_of(const struct fsal_io_arg *io)
{
	uint64_t bytes = 0;

	for (int i = 0; i < io->iov_count; i++)
		bytes += io->iov[i].iov_len;
	return bytes;
}
