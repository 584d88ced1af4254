// SPDX-License-Identifier: LGPL-3.0-or-later
/* Commit_Metadata: names and attributes that a client is told of are on the disk (RFC 1813 §4.8), as of the kernel's server. */
#include "ganesha-fsal/canfs_methods.h"
#include "ganesha-fsal/fs-journal/fs_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "gsh_config.h"

/* Of names and attributes, that are in progress: each has a thread of the server. Of all exports. */
static _Atomic unsigned int changes;

/* 0; -errno, which was said. */
static int open_journal(struct canfs_export *export)
{
	const char *path = CTX_FULLPATH(op_ctx);
	struct canfs_fs_journal *journal;
	int ret;

	export->journal_dev = canfs_local_device(&export->export);
	ret = export->journal_dev == 0 ? -EOPNOTSUPP : canfs_fs_journal_open(&journal, path);
	if (ret == 0)
		atomic_store(&export->journal, journal);
	else if (ret == -EOPNOTSUPP)
		LogWarn(COMPONENT_FSAL,
			"CANFS: Commit_Metadata is for exports over VFS or XFS, not for %s", path);
	else
		LogCrit(COMPONENT_FSAL, "CANFS: names and attributes of %s are not committed: %s",
			path, strerror(-ret));
	return ret;
}

void canfs_set_commit_metadata(struct canfs_export *export)
{
	bool wanted = CANFS.config.commit_metadata;

	if (wanted == atomic_load(&export->commits_metadata))
		return;
	if (wanted && !atomic_load(&export->journal) && open_journal(export) != 0)
		return;
	atomic_store(&export->commits_metadata, wanted);
	LogEvent(COMPONENT_FSAL, "CANFS: names and attributes of %s are %s from now on%s",
		CTX_FULLPATH(op_ctx), wanted ? "committed" : "not committed",
		wanted && canfs_fs_journal_syncs_all(atomic_load(&export->journal))
			? ", and with them all data of its file system"
			: "");
}

/* A file system that is mounted below the export: there may be many, and they come and go. */
static int sync_other(const struct fsal_filesystem *fs)
{
	int fd = open(fs->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (syncfs(fd) != 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* The root_fs of FSAL VFS may be one above that of the export. */
static bool is_other(const struct canfs_export *export, const struct fsal_filesystem *fs)
{
	return fs && (fs->dev.major != major(export->journal_dev) ||
			     fs->dev.minor != minor(export->journal_dev));
}

static int commit(struct canfs_export *export, const struct fsal_obj_handle *handle)
{
	const struct fsal_filesystem *fs = canfs_sub(handle)->fs;

	return is_other(export, fs) ? sync_other(fs)
				    : canfs_fs_journal_commit(atomic_load(&export->journal));
}

fsal_status_t canfs_begin_metadata(void)
{
	const struct canfs_export *export =
		container_of(op_ctx->fsal_export, struct canfs_export, export);
	unsigned int others = atomic_fetch_add(&changes, 1);

	if (!atomic_load(&export->commits_metadata) ||
		others < nfs_param.core_param.rpc.ioq_thrd_max / 2)
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	canfs_end_metadata();
	return fsalstat(ERR_FSAL_DELAY, 0);
}

void canfs_end_metadata(void)
{
	atomic_fetch_sub(&changes, 1);
}

fsal_status_t canfs_commit_metadata(const struct fsal_obj_handle *handle, fsal_status_t status)
{
	struct canfs_export *export =
		container_of(op_ctx->fsal_export, struct canfs_export, export);
	int ret;

	if (FSAL_IS_ERROR(status) || !atomic_load(&export->commits_metadata))
		return status;
	ret = commit(export, handle);
	/* Never one that makes a client ask again: it has been done. */
	return ret == 0 ? status : fsalstat(ERR_FSAL_IO, -ret);
}
