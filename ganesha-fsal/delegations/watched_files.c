// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * In Ganesha: watches files with delegations for processes on the server that open them
 * (core/watch.h), and reads the attributes of such files without opening them.
 */
#include "ganesha-fsal/delegations/delegations.h"
#include "ganesha-fsal/delegations/core/watch.h"
#include "ganesha-fsal/stack/core/kernel_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "fsal_convert.h"

/* For all exports. */
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

/*
 * Opens a descriptor without triggering a watch. Returns it or -errno. dir: any directory of the
 * file system.
 */
static int open_path(int dir, struct fsal_obj_handle *handle)
{
	uint8_t wire[NFS4_FHSIZE];
	struct gsh_buffdesc desc = { .addr = wire, .len = sizeof(wire) };

	if (FSAL_IS_ERROR(PASS(handle, handle_to_wire, FSAL_DIGEST_NFSV4, &desc)))
		return -ESTALE;
	return canfs_open_kernel_handle(dir, wire, desc.len, O_PATH | O_CLOEXEC);
}

static dev_t dev_of(const struct fsal_obj_handle *handle)
{
	const struct fsal_dev__ *dev = &handle->fs->dev;

	return makedev((unsigned int)dev->major, (unsigned int)dev->minor);
}

/*
 * The kernel looks up the handle in the export's file system, even if the handle belongs to a file
 * system that is mounted below. The descriptor may therefore be of another file.
 */
static bool is_of(const struct stat *st, const struct fsal_obj_handle *handle)
{
	return handle->fs && st->st_ino == handle->fileid && st->st_dev == dev_of(handle);
}

/* Like open_path(), but fails with -ESTALE if it is another file. Fills in st. */
static int open_same(int dir, struct fsal_obj_handle *handle, struct stat *st)
{
	int fd = open_path(dir, handle);

	if (fd < 0)
		return fd;
	if (fstat(fd, st) == 0 && is_of(st, handle))
		return fd;
	close(fd);
	return -ESTALE;
}

int canfs_open_same(const struct canfs_export_delegations *own, struct fsal_obj_handle *handle)
{
	struct stat st;

	return open_same(own->dir, handle, &st);
}

static struct canfs_watched watched(dev_t dev, struct fsal_obj_handle *handle)
{
	return (struct canfs_watched) {
		.dev = dev, .ino = handle->fileid, .file = canfs_hash_key(handle)
	};
}

int canfs_watch_file(const struct canfs_export_delegations *own, struct fsal_obj_handle *handle)
{
	const struct canfs_watched file = watched(own->st_dev, handle);
	struct stat st;
	int fd = open_same(own->dir, handle, &st), ret;

	if (fd < 0)
		return fd;
	ret = canfs_watch_add(watch, fd, &file);
	close(fd);
	return ret;
}

/*
 * Another export of the file system may have granted the delegation, and this export may have no
 * watches.
 */
void canfs_unwatch_file(struct fsal_obj_handle *handle)
{
	const struct canfs_export_delegations *own = canfs_delegations_here();
	dev_t dev = handle->fs ? dev_of(handle) : own->st_dev;
	const struct canfs_watched file = watched(dev, handle);
	bool has_dir = !handle->fs || (own->dir >= 0 && own->st_dev == dev);
	int dir = has_dir ? own->dir : open(handle->fs->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	canfs_watch_remove(watch, open_path(dir, handle), &file);
	if (!has_dir && dir >= 0)
		close(dir);
}

bool canfs_any_file_settles(void)
{
	return watch && canfs_watch_any_settles(watch);
}

void canfs_forget_watched(const struct fsal_obj_handle *handle)
{
	if (watch && handle->fs)
		canfs_watch_forget(watch, dev_of(handle), handle->fileid);
}

/* Only the sub-FSAL knows attributes that struct stat lacks, such as an ACL. */
static bool stat_suffices(const struct fsal_attrlist *attrs)
{
	attrmask_t supported = op_ctx->fsal_export->exp_ops.fs_supported_attrs(op_ctx->fsal_export);
	attrmask_t wanted = attrs->request_mask & supported;

	return (wanted & ~((attrmask_t)ATTRS_POSIX | ATTR_RDATTR_ERR)) == 0;
}

bool canfs_stat_watched(struct fsal_obj_handle *handle, struct fsal_attrlist *attrs)
{
	const struct canfs_export_delegations *own = canfs_delegations_here();
	struct stat st;
	int fd;

	if (!canfs_any_delegations() || handle->type != REGULAR_FILE || own->dir < 0 ||
		!stat_suffices(attrs))
		return false;
	fd = open_same(own->dir, handle, &st);
	if (fd < 0)
		return false;
	close(fd);
	posix2fsal_attributes_all(&st, attrs);
	attrs->fsid = handle->fs->fsid;
	return true;
}
