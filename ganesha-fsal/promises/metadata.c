// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Commit_Metadata: changes of names and attributes are on disk before the reply (RFC 1813 §4.8), as
 * with the kernel's server.
 */
#include "ganesha-fsal/promises/promises.h"
#include "ganesha-fsal/promises/core/fs_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "gsh_config.h"

/*
 * Changes of names and attributes that are in progress, on all exports. Each change occupies a
 * thread of the server.
 */
static _Atomic unsigned int changes;

/* This feature's part of an export. */
struct journaled {
	_Atomic bool commits;
	_Atomic(struct canfs_fs_journal *) journal; /* NULL: not needed yet */
	dev_t dev;                                  /* of the export's file system */
};

/* Never NULL: set when the export begins. */
static struct journaled *journaled_here(void)
{
	return canfs_export_here()->part[CANFS_FEATURE_PROMISES];
}

/* Returns 0, or -errno after logging it. */
static int open_journal(struct canfs_export *export, struct journaled *own)
{
	const char *path = CTX_FULLPATH(op_ctx);
	struct canfs_fs_journal *journal;
	int ret;

	own->dev = canfs_local_device(&export->export);
	ret = own->dev == 0 ? -EOPNOTSUPP : canfs_fs_journal_open(&journal, path);
	if (ret == 0)
		atomic_store(&own->journal, journal);
	else if (ret == -EOPNOTSUPP)
		LogWarn(COMPONENT_FSAL,
			"CANFS: Commit_Metadata works only for exports over VFS or XFS, not for %s",
			path);
	else
		LogCrit(COMPONENT_FSAL, "CANFS: names and attributes of %s are not committed: %s",
			path, strerror(-ret));
	return ret;
}

void canfs_set_commit_metadata(struct canfs_export *export, bool wanted)
{
	struct journaled *own = export->part[CANFS_FEATURE_PROMISES];

	if (!own)
		export->part[CANFS_FEATURE_PROMISES] = own = gsh_calloc(1, sizeof(*own));
	if (wanted == atomic_load(&own->commits))
		return;
	if (wanted && !atomic_load(&own->journal) && open_journal(export, own) != 0)
		return;
	atomic_store(&own->commits, wanted);
	LogEvent(COMPONENT_FSAL, "CANFS: names and attributes of %s are %s from now on%s",
		CTX_FULLPATH(op_ctx), wanted ? "committed" : "not committed",
		wanted && canfs_fs_journal_syncs_all(atomic_load(&own->journal))
			? ", together with all data of its file system"
			: "");
}

void canfs_end_commit_metadata(struct canfs_export *export)
{
	struct journaled *own = export->part[CANFS_FEATURE_PROMISES];

	canfs_fs_journal_close(atomic_load(&own->journal));
	gsh_free(own);
}

/*
 * For a file system that is mounted below the export. There may be many of them, and they come and
 * go.
 */
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

/* The root_fs of FSAL VFS may be a file system above the export's. */
static bool is_other(const struct journaled *own, const struct fsal_filesystem *fs)
{
	return fs && (fs->dev.major != major(own->dev) || fs->dev.minor != minor(own->dev));
}

static int commit(struct journaled *own, const struct fsal_obj_handle *handle)
{
	const struct fsal_filesystem *fs = canfs_sub(handle)->fs;

	return is_other(own, fs) ? sync_other(fs)
				 : canfs_fs_journal_commit(atomic_load(&own->journal));
}

fsal_status_t canfs_begin_metadata(struct canfs_op *op)
{
	unsigned int others = atomic_fetch_add(&changes, 1);

	(void)op;
	if (!atomic_load(&journaled_here()->commits) ||
		others < nfs_param.core_param.rpc.ioq_thrd_max / 2)
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	atomic_fetch_sub(&changes, 1);
	return fsalstat(ERR_FSAL_DELAY, 0);
}

/* Never returns an error that makes a client retry, because the change has been made. */
fsal_status_t canfs_commit_metadata(struct canfs_op *op, fsal_status_t status)
{
	struct journaled *own = journaled_here();
	int ret = 0;

	if (op->passed && !FSAL_IS_ERROR(status) && atomic_load(&own->commits))
		ret = commit(own, op->dir ? op->dir : op->handle);
	atomic_fetch_sub(&changes, 1);
	return ret == 0 ? status : fsalstat(ERR_FSAL_IO, -ret);
}
