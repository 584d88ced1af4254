// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Exports whose sub-FSAL has no descriptor here (prefetch/remote.h), in Ganesha. A read ahead of a
 * client is made in the client's name. It calls the sub-FSAL's read2 with a context of its own and
 * without any state. Only MDCACHE counts the users of an object, and MDCACHE does not know of these
 * reads. An object that is released while it is being read is therefore freed at the end of that
 * read.
 */
#include "ganesha-fsal/read/read.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

/* A piece to read, with a copy of the worker's context, which the worker takes with it. */
struct ahead {
	struct canfs_remote_piece piece;
	struct fsal_obj_handle *handle;
	struct gsh_export *gsh_export; /* with a reference, which the context takes over */
	struct fsal_export *sub_export;
	struct export_perms export_perms;
	sockaddr_t caller_addr;
	uint32_t nfs_vers, nfs_minorvers;
	struct req_op_context context;
	bool begun; /* the context */
	struct user_cred creds;
	gid_t groups[];
};

static struct ahead *ahead_new(
	struct fsal_obj_handle *handle, uint64_t offset, uint32_t bytes, uint32_t cursor)
{
	size_t groups_bytes = op_ctx->creds.caller_glen * sizeof(gid_t);
	struct ahead *ahead = gsh_calloc(1, sizeof(*ahead) + groups_bytes);

	get_gsh_export_ref(op_ctx->ctx_export);
	ahead->piece.object = handle;
	ahead->piece.file = canfs_name_file(handle);
	ahead->piece.offset = offset;
	ahead->piece.bytes = bytes;
	ahead->piece.cursor = cursor;
	ahead->handle = handle;
	ahead->gsh_export = op_ctx->ctx_export;
	ahead->sub_export = op_ctx->fsal_export->sub_export;
	ahead->export_perms = op_ctx->export_perms;
	if (op_ctx->caller_addr)
		ahead->caller_addr = *op_ctx->caller_addr;
	ahead->nfs_vers = op_ctx->nfs_vers;
	ahead->nfs_minorvers = op_ctx->nfs_minorvers;
	ahead->creds = op_ctx->creds;
	ahead->creds.caller_garray = ahead->groups;
	if (groups_bytes > 0)
		memcpy(ahead->groups, op_ctx->creds.caller_garray, groups_bytes);
	return ahead;
}

static void begin_context(struct ahead *ahead)
{
	if (ahead->begun)
		return;
	ahead->begun = true;
	compat_init_op_context(&ahead->context, ahead->gsh_export, ahead->sub_export,
		&ahead->caller_addr, ahead->nfs_vers, ahead->nfs_minorvers);
	ahead->context.creds = ahead->creds;
	ahead->context.export_perms = ahead->export_perms;
}

/* The sub-FSAL may answer in another thread, before or after read2 returns. */
struct answer {
	pthread_mutex_t mutex;
	pthread_cond_t came;
	bool there;
	fsal_status_t status;
};

static void answered(
	struct fsal_obj_handle *sub, fsal_status_t status, void *io_arg, void *caller_arg)
{
	struct answer *answer = caller_arg;

	(void)sub;
	(void)io_arg;
	pthread_mutex_lock(&answer->mutex);
	answer->status = status;
	answer->there = true;
	pthread_cond_signal(&answer->came);
	pthread_mutex_unlock(&answer->mutex);
}

static int64_t read_ahead(struct canfs_remote_piece *piece, void *buffer)
{
	struct ahead *ahead = container_of(piece, struct ahead, piece);
	struct fsal_obj_handle *sub = canfs_sub(ahead->handle);
	struct iovec one = { .iov_base = buffer, .iov_len = piece->bytes };
	struct answer answer = { .mutex = PTHREAD_MUTEX_INITIALIZER,
		.came = PTHREAD_COND_INITIALIZER };
	struct fsal_io_arg *io = gsh_calloc(1, sizeof(*io) + sizeof(one));
	int64_t bytes;

	begin_context(ahead);
	io->offset = piece->offset;
	io->iov_count = 1;
	compat_set_iov(io, &one);
	sub->obj_ops->read2(sub, false, answered, io, &answer);
	pthread_mutex_lock(&answer.mutex);
	while (!answer.there)
		pthread_cond_wait(&answer.came, &answer.mutex);
	pthread_mutex_unlock(&answer.mutex);
	piece->at_end = io->end_of_file;
	bytes = (int64_t)io->io_amount;
	gsh_free(io);
	return FSAL_IS_ERROR(answer.status) ? -EIO : bytes;
}

static void end(struct canfs_remote_piece *piece, bool keeps_object)
{
	struct ahead *ahead = container_of(piece, struct ahead, piece);

	begin_context(ahead);
	if (keeps_object) {
		/*
		 * MDCACHE closed the object before it released it, but our read may have opened it
		 * again.
		 */
		compat_close_left(canfs_sub(ahead->handle));
		canfs_release_handle(ahead->handle);
	}
	release_op_context();
	gsh_free(ahead);
}

int canfs_open_remote(struct canfs_export_reads *reads, const char *path, uint32_t files)
{
	struct canfs_remote_config config = { .files = files,
		.name = path,
		.read = read_ahead,
		.end = end,
		.thread_begins = canfs_name_thread };
	struct canfs_remote *remote;
	int ret = canfs_remote_open(&remote, canfs_prefetcher_remotes(canfs_prefetcher), &config);

	if (ret == 0)
		atomic_store(&reads->remote, remote);
	return ret;
}

/* No larger than the FSAL below says that it reads. */
static uint32_t piece_bytes_of(struct fsal_export *export)
{
	uint32_t bytes = PASS_EXPORT(export, fs_maxread);

	return bytes != 0 && bytes < CANFS_REMOTE_PIECE_BYTES ? bytes : CANFS_REMOTE_PIECE_BYTES;
}

static bool add(struct canfs_remote *remote, struct fsal_obj_handle *handle,
	const struct canfs_advice *advice)
{
	uint32_t bytes = piece_bytes_of(op_ctx->fsal_export);

	for (uint64_t at = 0; at < advice->bytes; at += bytes) {
		uint64_t left = advice->bytes - at;
		struct ahead *ahead = ahead_new(handle, advice->offset + at,
			left < bytes ? (uint32_t)left : bytes, advice->cursor);

		if (canfs_remote_add(remote, &ahead->piece))
			continue;
		end(&ahead->piece, false);
		return false;
	}
	return true;
}

void canfs_read_ahead_remotely(struct canfs_export_reads *reads, struct fsal_obj_handle *handle,
	uint64_t offset, uint64_t bytes)
{
	struct canfs_remote *remote = atomic_load(&reads->remote);
	struct canfs_advice advice[CANFS_ADVICE_MAX];
	size_t count;

	if (!remote || !atomic_load_explicit(&reads->prefetches, memory_order_relaxed) ||
		bytes == 0 || bytes > FSAL_MAXIOSIZE || offset > INT64_MAX - bytes)
		return;
	count = canfs_remote_advise(remote, canfs_name_file(handle), offset, (uint32_t)bytes,
		canfs_load()->readahead_scale(canfs_export_here()), advice);
	for (size_t i = 0; i < count && add(remote, handle, &advice[i]); i++)
		continue;
}

void canfs_remote_file_changed(
	struct canfs_export_reads *reads, struct fsal_obj_handle *handle, uint64_t from_offset)
{
	struct canfs_remote *remote = atomic_load(&reads->remote);

	if (remote)
		canfs_remote_changed(remote, canfs_name_file(handle), from_offset);
}
