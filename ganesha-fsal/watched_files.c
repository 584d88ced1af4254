// SPDX-License-Identifier: LGPL-3.0-or-later
/* Files with delegations, in Ganesha: processes on the server that open them (delegations/watch.h); and their attributes, without opening them. */
#include "ganesha-fsal/canfs_methods.h"
#include "ganesha-fsal/delegations/watch.h"
#include "ganesha-fsal/prefetch/kernel_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "fsal_convert.h"

/* Of all exports. */
static struct canfs_watch *watch;

int canfs_start_watching(const struct canfs_watch_config *config)
{
	return watch ? 0 : canfs_watch_new(&watch, config);
}

void canfs_stop_watching(void)
{
	canfs_watch_free(watch);
	watch = NULL;
}

/* A descriptor whose open(2) wakes no watch, or -errno. */
static int open_path(const struct canfs_export *export, struct fsal_obj_handle *handle)
{
	uint8_t wire[NFS4_FHSIZE];
	struct gsh_buffdesc desc = { .addr = wire, .len = sizeof(wire) };

	if (FSAL_IS_ERROR(PASS(handle, handle_to_wire, FSAL_DIGEST_NFSV4, &desc)))
		return -ESTALE;
	return canfs_open_kernel_handle(export->dir, wire, desc.len, O_PATH | O_CLOEXEC);
}

/* The kernel looks for the handle in the export's file system, also where it is of one that is mounted below. */
static bool is_of(const struct stat *st, const struct fsal_obj_handle *handle)
{
	return handle->fs && st->st_ino == handle->fileid &&
	       major(st->st_dev) == handle->fs->dev.major &&
	       minor(st->st_dev) == handle->fs->dev.minor;
}

/* Likewise, with its status, of that file and no other. */
static int open_same(
	const struct canfs_export *export, struct fsal_obj_handle *handle, struct stat *st)
{
	int fd = open_path(export, handle);

	if (fd < 0)
		return fd;
	if (fstat(fd, st) == 0 && is_of(st, handle))
		return fd;
	close(fd);
	return -ESTALE;
}

int canfs_open_same(const struct canfs_export *export, struct fsal_obj_handle *handle)
{
	struct stat st;

	return open_same(export, handle, &st);
}

int canfs_watch_file(const struct canfs_export *export, struct fsal_obj_handle *handle)
{
	const struct canfs_watched file = {
		.dev = export->st_dev, .ino = handle->fileid, .file = canfs_hash_key(handle)
	};
	struct stat st;
	int fd = open_same(export, handle, &st), ret;

	if (fd < 0)
		return fd;
	ret = canfs_watch_add(watch, fd, &file);
	close(fd);
	return ret;
}

void canfs_unwatch_file(const struct canfs_export *export, struct fsal_obj_handle *handle)
{
	canfs_watch_remove(watch, open_path(export, handle), export->st_dev, handle->fileid);
}

/* What struct stat does not tell (an ACL, for one), the sub-FSAL alone knows. */
static bool stat_suffices(const struct fsal_attrlist *attrs)
{
	attrmask_t supported = op_ctx->fsal_export->exp_ops.fs_supported_attrs(op_ctx->fsal_export);
	attrmask_t wanted = attrs->request_mask & supported;

	return (wanted & ~((attrmask_t)ATTRS_POSIX | ATTR_RDATTR_ERR)) == 0;
}

bool canfs_stat_watched(struct fsal_obj_handle *handle, struct fsal_attrlist *attrs)
{
	const struct canfs_export *export =
		container_of(op_ctx->fsal_export, struct canfs_export, export);
	struct stat st;
	int fd;

	if (!canfs_any_delegations() || handle->type != REGULAR_FILE || export->dir < 0 ||
		!stat_suffices(attrs))
		return false;
	fd = open_same(export, handle, &st);
	if (fd < 0)
		return false;
	close(fd);
	posix2fsal_attributes_all(&st, attrs);
	attrs->fsid = handle->fs->fsid;
	return true;
}
