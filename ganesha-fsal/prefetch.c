// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Reads in Ganesha. One that is delayed (prefetch/prefetcher.h: its pages are being fetched) leaves its worker free at
 * once. When the pages are there, a thread of the device's worker pool asks the sub-FSAL, in the name of the client, as
 * the worker would have; so locks, share reservations and permissions are where they always were. Every other read is
 * the worker's own, as without us.
 *
 *	worker: read2 --> delayed? --yes--> free                      pool: context of its own --> read2 of the sub-FSAL
 *	                     `-no-> read2 of the sub-FSAL                                           `-> caller's callback
 */
#include "ganesha-fsal/canfs_methods.h"
#include "ganesha-fsal/prefetch/remote.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/sysmacros.h>
#include "common/hash.h"

/* A read of a client as the worker has it, and as it waits: then with what the worker's context says of it. */
struct delayed {
	struct canfs_io io;
	struct gsh_export
		*gsh_export; /* with a reference, which the context of the pool takes over */
	struct fsal_export *sub_export;
	struct user_cred creds; /* the groups are the request's own: there until the callback */
	struct export_perms export_perms;
	sockaddr_t *caller_addr;
	struct gsh_client *client;
	uint32_t nfs_vers, nfs_minorvers;
};

static struct canfs_read *delay(struct canfs_read *read)
{
	struct delayed *delayed = gsh_malloc(sizeof(*delayed));

	get_gsh_export_ref(op_ctx->ctx_export);
	*delayed = (struct delayed) { .io = *container_of(read, struct canfs_io, read),
		.gsh_export = op_ctx->ctx_export,
		.sub_export = op_ctx->fsal_export->sub_export,
		.creds = op_ctx->creds,
		.export_perms = op_ctx->export_perms,
		.caller_addr = op_ctx->caller_addr,
		.client = op_ctx->client,
		.nfs_vers = op_ctx->nfs_vers,
		.nfs_minorvers = op_ctx->nfs_minorvers };
	return &delayed->io.read;
}

/* In the pool. The read is completed last of all: until then neither the export nor we may be unloaded. */
static void answer(struct canfs_read *read)
{
	struct delayed *delayed = container_of(read, struct delayed, io.read);
	const struct canfs_io *io = &delayed->io;
	struct req_op_context context;

	compat_init_op_context(&context, delayed->gsh_export, delayed->sub_export,
		delayed->caller_addr, delayed->nfs_vers, delayed->nfs_minorvers);
	context.creds = delayed->creds;
	context.export_perms = delayed->export_perms;
	context.client = delayed->client;
	io->answer(io, canfs_export_fs_is_draining(read->export_fs));
	/* The request may be gone: of the context nothing is used any more but what release knows. */
	release_op_context();
	canfs_prefetch_complete(read);
	gsh_free(delayed);
}

static bool is_of_export_fs(
	const struct canfs_export_fs *export_fs, const struct fsal_obj_handle *handle)
{
	const struct fsal_filesystem *fs = canfs_sub(handle)->fs;

	return !fs || makedev((unsigned int)fs->dev.major, (unsigned int)fs->dev.minor) ==
			      canfs_export_fs_st_dev(export_fs);
}

/* The object's descriptor; opened, if it is not. NULL: it has none. */
static struct canfs_open_file *find_file(
	struct canfs_export_fs *export_fs, struct fsal_obj_handle *handle)
{
	struct canfs_open_file *file = canfs_fd_cache_find(export_fs, handle);
	uint8_t wire[NFS4_FHSIZE];
	struct gsh_buffdesc desc = { .addr = wire, .len = sizeof(wire) };
	const char *off;

	if (file || canfs_export_fs_off(export_fs) || !is_of_export_fs(export_fs, handle))
		return file;
	if (FSAL_IS_ERROR(PASS(handle, handle_to_wire, FSAL_DIGEST_NFSV4, &desc)))
		return NULL;
	file = canfs_fd_cache_open(
		export_fs, handle, canfs_name_file(handle), handle->fileid, wire, desc.len);
	off = canfs_export_fs_off(export_fs);
	if (off && !file)
		LogWarn(COMPONENT_FSAL, "CANFS: nothing of %s is prefetched: %s",
			CTX_FULLPATH(op_ctx), off);
	return file;
}

uint64_t canfs_bytes_of(const struct fsal_io_arg *io)
{
	uint64_t bytes = 0;

	for (int i = 0; i < io->iov_count; i++)
		bytes += io->iov[i].iov_len;
	return bytes;
}

/* Names the connection it came by. 0: not known. */
static uint32_t client_here(void)
{
	const struct sockaddr *from = (const struct sockaddr *)op_ctx->caller_addr;
	uint64_t address, port;

	if (from && from->sa_family == AF_INET) {
		address = ((const struct sockaddr_in *)from)->sin_addr.s_addr;
		port = ((const struct sockaddr_in *)from)->sin_port;
	} else if (from && from->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;

		memcpy(&address, &in6->sin6_addr.s6_addr[8], sizeof(address));
		port = in6->sin6_port;
	} else {
		return 0;
	}
	return (uint32_t)canfs_hash(address ^ port << 48) | 1;
}

bool canfs_submit_read(struct canfs_io *io)
{
	struct canfs_export *export =
		container_of(op_ctx->fsal_export, struct canfs_export, export);
	struct canfs_export_fs *export_fs = export->export_fs;
	uint64_t offset = io->read_arg->offset, bytes = canfs_bytes_of(io->read_arg);
	struct canfs_open_file *file;
	bool delayed;

	io->read.way = CANFS_READ_AT_ONCE;
	io->read.ahead_bytes = 0;
	if (!export_fs)
		canfs_read_ahead_remotely(export, io->caller.handle, offset, bytes);
	if (!export_fs || !atomic_load_explicit(&export->prefetches, memory_order_relaxed) ||
		canfs_export_fs_is_draining(export_fs) || io->read_arg->info)
		return false;
	if (bytes == 0 || bytes > FSAL_MAXIOSIZE || offset > INT64_MAX - bytes)
		return false;
	file = find_file(export_fs, io->caller.handle);
	if (!file)
		return false;
	io->read = (struct canfs_read) { .file = file,
		.offset = offset,
		.bytes = bytes,
		.scale = canfs_readahead_scale(export),
		.client = client_here(),
		.steps_aside = canfs_client_steps_aside,
		.delay = delay,
		.answer = answer };
	delayed = canfs_prefetch_submit(&io->read);
	if (io->read.ahead_bytes > 0 && io->caller.timer.load)
		canfs_client_note_ahead(io->caller.timer.load, io->read.ahead_bytes);
	canfs_fd_cache_put(file);
	return delayed;
}

void canfs_complete_read(struct canfs_io *io)
{
	canfs_prefetch_complete(&io->read);
}

static struct canfs_export *export_here(void)
{
	return container_of(op_ctx->fsal_export, struct canfs_export, export);
}

void canfs_invalidate(struct fsal_obj_handle *handle, uint64_t offset, uint64_t bytes)
{
	struct canfs_export *export = export_here();

	if (export->export_fs)
		canfs_prefetch_invalidate(export->export_fs, handle, offset, bytes);
	else
		canfs_remote_file_changed(export, handle, offset);
}

bool canfs_object_gone(struct fsal_obj_handle *handle)
{
	if (!CANFS.prefetcher || handle->type != REGULAR_FILE)
		return false;
	canfs_prefetch_forget(CANFS.prefetcher, handle, false);
	return canfs_remote_forget(canfs_prefetcher_remotes(CANFS.prefetcher), handle);
}

/* The part that cannot be found by the object. */
static void let_go(const struct fsal_obj_handle *handle)
{
	struct timespec until = canfs_in_msec(CANFS_CLOSE_TIMEOUT_MSEC);

	canfs_forget_watched(handle);
	if (CANFS.prefetcher)
		canfs_remote_let_go(canfs_prefetcher_remotes(CANFS.prefetcher),
			canfs_name_file(handle), &until);
}

void canfs_delete_file(struct fsal_obj_handle *handle)
{
	if (handle->type != REGULAR_FILE)
		return;
	if (CANFS.prefetcher)
		canfs_prefetch_forget(CANFS.prefetcher, handle, true);
	let_go(handle);
}

static bool is_read_ahead_remotely(void)
{
	return CANFS.prefetcher &&
	       atomic_load(&canfs_prefetcher_remotes(CANFS.prefetcher)->pieces) > 0;
}

/* The object is released before the reply, and our local descriptor is closed then. */
void canfs_delete_named(struct fsal_obj_handle *dir, const char *name)
{
	struct fsal_obj_handle *sub = NULL;

	if ((!is_read_ahead_remotely() && !canfs_any_file_settles()) ||
		FSAL_IS_ERROR(PASS(dir, lookup, name, &sub, NULL)))
		return;
	if (sub->type == REGULAR_FILE)
		let_go(sub);
	BELOW_VOID(op_ctx->fsal_export, sub->obj_ops->release(sub));
}

void canfs_file_closed(const struct fsal_obj_handle *handle)
{
	struct canfs_export *export = export_here();

	if (export->export_fs && handle->type == REGULAR_FILE)
		canfs_prefetch_closed(export->export_fs, handle);
}

static bool is_vfs(const struct fsal_export *export)
{
	return strcmp(canfs_bottom(export)->fsal->name, "VFS") == 0;
}

void canfs_set_prefetch(struct canfs_export *export, enum canfs_prefetch_wish wish)
{
	const char *path = CTX_FULLPATH(op_ctx);
	int ret = 0;

	atomic_store(&export->prefetches, wish != CANFS_PREFETCH_OFF && CANFS.config.prefetch);
	if (wish == CANFS_PREFETCH_ALWAYS && CANFS.prefetcher && !export->export_fs &&
		!atomic_load(&export->remote) && !is_vfs(&export->export))
		ret = canfs_open_remote(export, path);
	if (ret != 0)
		LogWarn(COMPONENT_FSAL, "CANFS: nothing of %s is prefetched: %s", path,
			strerror(-ret));
}

void canfs_open_prefetch(struct canfs_export *export, enum canfs_prefetch_wish wish)
{
	const char *path = CTX_FULLPATH(op_ctx);
	int ret;

	canfs_set_prefetch(export, wish);
	if (!CANFS.prefetcher || !is_vfs(&export->export))
		return;
	ret = canfs_prefetcher_open(&export->export_fs, CANFS.prefetcher, path);
	if (ret == -ENODATA)
		LogEvent(COMPONENT_FSAL, "CANFS: nothing of %s is prefetched: it is on no disk",
			path);
	else if (ret != 0)
		LogWarn(COMPONENT_FSAL, "CANFS: nothing of %s is prefetched: %s", path,
			strerror(-ret));
}

/* The server may close us, but what is left behind returns to our code. */
static void stay_loaded(void)
{
	Dl_info us = { 0 };

	if (dladdr((void *)stay_loaded, &us) != 0)
		(void)dlopen(us.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void canfs_drain_prefetch(struct canfs_export *export)
{
	struct canfs_remote *remote = atomic_load(&export->remote);

	if ((!export->export_fs || canfs_prefetcher_drain(export->export_fs)) &&
		(!remote || canfs_remote_drain(remote)))
		return;
	stay_loaded();
	LogCrit(COMPONENT_FSAL,
		"CANFS: the disk of %s does not answer: what is being read there is left behind",
		op_ctx ? CTX_FULLPATH(op_ctx) : "an export");
}

void canfs_start_prefetcher(const struct canfs_fsal_config *config)
{
	struct canfs_prefetcher_config wanted = config->prefetcher;
	int ret;

	if (!config->prefetch)
		return;
	wanted.root = "";
	wanted.thread_begins = canfs_name_thread;
	ret = canfs_prefetcher_new(&CANFS.prefetcher, &wanted);
	if (ret != 0)
		LogCrit(COMPONENT_FSAL, "CANFS prefetches nothing: %s", strerror(-ret));
}

bool canfs_reload_prefetcher(
	const struct canfs_fsal_config *before, const struct canfs_fsal_config *now)
{
	const struct canfs_prefetcher_config *old = &before->prefetcher, *new = &now->prefetcher;
	const char *policy = new->policy[0] != '\0' ? new->policy : "auto";

	if (!CANFS.prefetcher)
		return !now->prefetch;
	if (strcmp(old->policy, new->policy) != 0) {
		canfs_prefetcher_set_policy(CANFS.prefetcher, policy);
		LogEvent(COMPONENT_FSAL, "CANFS: the scheduler is %s now", policy);
	}
	return old->files == new->files && old->open_max == new->open_max &&
	       old->depth == new->depth && old->lag_bytes == new->lag_bytes;
}

/*
 * A server that ends in a hurry (exit(3) in the middle of its work) has exports that were not drained: then all of it
 * stays. One that ends in order has drained them, but need not have released them: a request that was not answered any
 * more keeps its export.
 */
void canfs_stop_prefetcher(void)
{
	if (!CANFS.prefetcher || canfs_prefetcher_open_count(CANFS.prefetcher) != 0)
		return;
	canfs_prefetcher_free(CANFS.prefetcher);
	CANFS.prefetcher = NULL;
}
