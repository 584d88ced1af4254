// SPDX-License-Identifier: LGPL-3.0-or-later
/* The read feature: the life of the prefetcher, and the changes that it must know of. */
#include "ganesha-fsal/read/read.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "ganesha-fsal/read/control/prefetch.h"

struct canfs_prefetcher *canfs_prefetcher;
static const struct canfs_read_options *options; /* NULL: before the start */

static void invalidate(struct fsal_obj_handle *handle, uint64_t offset, uint64_t bytes)
{
	struct canfs_export_reads *reads = canfs_reads_here();

	if (reads->export_fs)
		canfs_prefetch_invalidate(reads->export_fs, handle, offset, bytes);
	else
		canfs_remote_file_changed(reads, handle, offset);
}

static void truncated(struct fsal_obj_handle *handle, uint64_t bytes, fsal_status_t status)
{
	(void)status;
	invalidate(handle, bytes, UINT64_MAX);
}

/*
 * Invalidates after the write: if it came before, a read in between would bring the old bytes back.
 */
static fsal_status_t after_write(struct canfs_op *op, fsal_status_t status)
{
	if (op->passed)
		invalidate(op->handle, op->io->offset, canfs_bytes_of(op->io));
	return status;
}

static fsal_status_t after_allocate(struct canfs_op *op, fsal_status_t status)
{
	if (op->passed)
		invalidate(op->handle, op->offset, UINT64_MAX);
	return status;
}

static bool takes_object(struct fsal_obj_handle *handle)
{
	struct timespec until;

	if (!canfs_prefetcher || handle->type != REGULAR_FILE)
		return false;
	until = canfs_in_msec(CANFS_CLOSE_TIMEOUT_MSEC);
	canfs_prefetch_forget(canfs_prefetcher, handle, false, &until);
	return canfs_remote_forget(canfs_prefetcher_remotes(canfs_prefetcher), handle);
}

/* Lets go of the remote's pieces, which are found by file and not by object. */
static void let_go(const struct fsal_obj_handle *handle, const struct timespec *until)
{
	canfs_remote_let_go(
		canfs_prefetcher_remotes(canfs_prefetcher), canfs_name_file(handle), until);
}

/*
 * Waits for the file's fetches, so that its space is free before the reply
 * (CANFS_CLOSE_TIMEOUT_MSEC in prefetcher.h).
 */
static fsal_status_t before_unlink(struct canfs_op *op)
{
	struct timespec until;

	if (canfs_prefetcher && op->handle->type == REGULAR_FILE) {
		until = canfs_in_msec(CANFS_CLOSE_TIMEOUT_MSEC);
		canfs_prefetch_forget(canfs_prefetcher, op->handle, true, &until);
		let_go(op->handle, &until);
	}
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static bool is_read_ahead_remotely(void)
{
	return canfs_prefetcher &&
	       atomic_load(&canfs_prefetcher_remotes(canfs_prefetcher)->pieces) > 0;
}

/*
 * Likewise, for the file that is replaced. Its object is released before the reply, and our local
 * descriptor is closed then.
 */
static fsal_status_t before_rename(struct canfs_op *op)
{
	struct fsal_obj_handle *sub = NULL;
	struct timespec until;

	if (is_read_ahead_remotely() &&
		!FSAL_IS_ERROR(PASS(op->dir, lookup, op->name, &sub, NULL))) {
		until = canfs_in_msec(CANFS_CLOSE_TIMEOUT_MSEC);
		if (sub->type == REGULAR_FILE)
			let_go(sub, &until);
		BELOW_VOID(op_ctx->fsal_export, sub->obj_ops->release(sub));
	}
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

/*
 * A descriptor of the FSAL below is about to be closed. If its file was deleted meanwhile, closes
 * our descriptor, too.
 */
static fsal_status_t before_close(struct canfs_op *op)
{
	const struct canfs_export_reads *reads = canfs_reads_here();

	if (reads->export_fs && op->handle->type == REGULAR_FILE)
		canfs_prefetch_closed(reads->export_fs, op->handle);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static bool is_vfs(const struct fsal_export *export)
{
	return strcmp(canfs_bottom(export)->fsal->name, "VFS") == 0;
}

/*
 * Applies an export's options. Without an explicit option, an export that is not on a local disk is
 * not prefetched. own NULL: the options are wrong.
 */
static void set(struct canfs_export *export, const struct canfs_read_export_options *own)
{
	struct canfs_export_reads *reads = export->part[CANFS_FEATURE_READ];
	bool is_off = own && own->prefetch_given && !own->prefetch;
	bool is_wanted = own && own->prefetch_given && own->prefetch;
	const char *path = CTX_FULLPATH(op_ctx);
	int ret = 0;

	atomic_store(&reads->prefetches, !is_off && options && options->prefetch);
	if (is_wanted && canfs_prefetcher && !reads->export_fs && !atomic_load(&reads->remote) &&
		!is_vfs(&export->export))
		ret = canfs_open_remote(reads, path, options->prefetcher.files);
	if (ret != 0)
		LogWarn(COMPONENT_FSAL, "CANFS: prefetching is off for %s: %s", path,
			strerror(-ret));
}

static void export_begins(struct canfs_export *export, const void *own)
{
	const char *path = CTX_FULLPATH(op_ctx);
	struct canfs_export_reads *reads = gsh_calloc(1, sizeof(*reads));
	int ret;

	export->part[CANFS_FEATURE_READ] = reads;
	set(export, own);
	if (!canfs_prefetcher || !is_vfs(&export->export))
		return;
	ret = canfs_prefetcher_open(&reads->export_fs, canfs_prefetcher, path);
	if (ret == -ENODATA)
		LogEvent(COMPONENT_FSAL, "CANFS: prefetching is off for %s: it is not on a disk",
			path);
	else if (ret != 0)
		LogWarn(COMPONENT_FSAL, "CANFS: prefetching is off for %s: %s", path,
			strerror(-ret));
}

static void export_changes(struct canfs_export *export, const void *own)
{
	if (own)
		set(export, own);
}

static void export_ends(struct canfs_export *export)
{
	struct canfs_export_reads *reads = export->part[CANFS_FEATURE_READ];

	canfs_prefetcher_close(reads->export_fs);
	canfs_remote_close(atomic_load(&reads->remote));
	gsh_free(reads);
}

/* The server may dlclose() the plugin, but I/O that is left behind returns to its code. */
static void stay_loaded(void)
{
	Dl_info us = { 0 };

	if (dladdr((void *)stay_loaded, &us) != 0)
		(void)dlopen(us.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/*
 * Waits until nothing of the export is in flight. If a disk does not answer, its I/O is left
 * behind, and the plugin stays loaded for it.
 */
static void drain(struct canfs_export *export)
{
	struct canfs_export_reads *reads = export->part[CANFS_FEATURE_READ];
	struct canfs_remote *remote = atomic_load(&reads->remote);

	if ((!reads->export_fs || canfs_prefetcher_drain(reads->export_fs)) &&
		(!remote || canfs_remote_drain(remote)))
		return;
	stay_loaded();
	LogCrit(COMPONENT_FSAL,
		"CANFS: the disk of %s does not answer: its pending reads are abandoned",
		op_ctx ? CTX_FULLPATH(op_ctx) : "an export");
}

static void start(void *own, bool is_wrong)
{
	struct canfs_prefetcher_config wanted;
	int ret;

	options = own;
	if (is_wrong || !options->prefetch)
		return;
	wanted = options->prefetcher;
	wanted.root = "";
	wanted.thread_begins = canfs_name_thread;
	ret = canfs_prefetcher_new(&canfs_prefetcher, &wanted);
	if (ret != 0)
		LogCrit(COMPONENT_FSAL, "CANFS does not prefetch: %s", strerror(-ret));
}

static bool takes_effect(
	const struct canfs_read_options *before, const struct canfs_read_options *now)
{
	const struct canfs_prefetcher_config *old = &before->prefetcher, *new = &now->prefetcher;
	const char *policy = new->policy[0] != '\0' ? new->policy : "auto";

	if (!canfs_prefetcher)
		return !now->prefetch;
	if (strcmp(old->policy, new->policy) != 0) {
		canfs_prefetcher_set_policy(canfs_prefetcher, policy);
		LogEvent(COMPONENT_FSAL, "CANFS: the scheduler is now %s", policy);
	}
	return old->files == new->files && old->lag_bytes == new->lag_bytes;
}

static bool reload(void *before, void *now, bool names)
{
	bool holds = takes_effect(before, now);

	(void)names;
	options = now;
	if (!holds)
		LogWarn(COMPONENT_FSAL,
			"CANFS: a new Lag_Kib or Prefetch_Files, and the first Prefetch, need a "
			"restart");
	return holds;
}

/*
 * A server that calls exit(3) in the middle of its work has exports that were not drained. Then the
 * whole prefetcher stays. A server that ends in order has drained its exports, but need not have
 * released them: a request that was never answered keeps its export.
 */
static void stop(void)
{
	if (!canfs_prefetcher || canfs_prefetcher_open_count(canfs_prefetcher) != 0)
		return;
	canfs_prefetcher_free(canfs_prefetcher);
	canfs_prefetcher = NULL;
}

static bool is_busy(void)
{
	return canfs_prefetcher;
}

static void *command_host(void)
{
	return canfs_prefetcher;
}

const struct canfs_feature canfs_feature_read = {
	.options = { canfs_read_items, sizeof(struct canfs_read_options) },
	.export_options = { canfs_read_export_items, sizeof(struct canfs_read_export_options) },
	.retired = canfs_read_retired,
	.settle = canfs_read_settle,
	.start = start,
	.stop = stop,
	.is_busy = is_busy,
	.reload = reload,
	.export_begins = export_begins,
	.export_changes = export_changes,
	.drain = drain,
	.export_ends = export_ends,
	.before = { [CANFS_OP_UNLINK] = before_unlink,
		[CANFS_OP_RENAME] = before_rename,
		[CANFS_OP_CLOSE] = before_close },
	.after = { [CANFS_OP_WRITE] = after_write, [CANFS_OP_ALLOCATE] = after_allocate },
	.read = canfs_make_read,
	.truncated = truncated,
	.takes_object = takes_object,
	.commands = canfs_prefetch_commands,
	.command_host = command_host,
};
