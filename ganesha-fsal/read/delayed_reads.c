// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * READs in Ganesha. A READ that is delayed (prefetch/prefetcher.h: its pages are being fetched)
 * leaves its worker free at once. When the pages are there, a thread of the device's worker pool
 * asks the sub-FSAL in the client's name, as the worker would have. Locks, share reservations and
 * permissions are thus checked where they always were. The worker performs every other READ itself,
 * as without canfs.
 *
 *	worker: read2 --> delayed? --yes--> free                      pool: context of its own --> read2 of the sub-FSAL
 *	                     `-no-> read2 of the sub-FSAL                                           `-> caller's callback
 */
#include "ganesha-fsal/read/read.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/hash.h"

/* A client's READ, while its worker has it. */
struct at_worker {
	struct canfs_read read;
	struct canfs_io_call *call;
};

/* A READ that waits, with a copy of its worker's context. */
struct delayed {
	struct canfs_read read;
	struct canfs_io_call call;
	struct gsh_export
		*gsh_export; /* with a reference, which the context of the pool takes over */
	struct fsal_export *sub_export;
	struct user_cred creds; /* the groups belong to the request, and exist until the callback */
	struct export_perms export_perms;
	sockaddr_t *caller_addr;
	struct gsh_client *client;
	uint32_t nfs_vers, nfs_minorvers;
};

static struct canfs_read *delay(struct canfs_read *read)
{
	struct delayed *delayed = gsh_malloc(sizeof(*delayed));

	get_gsh_export_ref(op_ctx->ctx_export);
	*delayed = (struct delayed) { .read = *read,
		.call = *container_of(read, struct at_worker, read)->call,
		.gsh_export = op_ctx->ctx_export,
		.sub_export = op_ctx->fsal_export->sub_export,
		.creds = op_ctx->creds,
		.export_perms = op_ctx->export_perms,
		.caller_addr = op_ctx->caller_addr,
		.client = op_ctx->client,
		.nfs_vers = op_ctx->nfs_vers,
		.nfs_minorvers = op_ctx->nfs_minorvers };
	return &delayed->read;
}

/*
 * Runs in the pool. The READ is completed last of all: until then, neither the export nor the
 * plugin may be unloaded.
 */
static void answer(struct canfs_read *read)
{
	struct delayed *delayed = container_of(read, struct delayed, read);
	struct req_op_context context;

	compat_init_op_context(&context, delayed->gsh_export, delayed->sub_export,
		delayed->caller_addr, delayed->nfs_vers, delayed->nfs_minorvers);
	context.creds = delayed->creds;
	context.export_perms = delayed->export_perms;
	context.client = delayed->client;
	canfs_answer_read(&delayed->call, canfs_export_fs_is_draining(read->export_fs));
	/* The request may have been freed. Only release_op_context() may still use the context. */
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

/* Returns the object's open file, and opens it if it is not open. NULL: it cannot be opened. */
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
		LogWarn(COMPONENT_FSAL, "CANFS: prefetching is off for %s: %s",
			CTX_FULLPATH(op_ctx), off);
	return file;
}

/* Returns a number for the client's connection. 0: not known. */
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

/* Returns the file with a user added. NULL: the READ is not for the prefetcher. */
static struct canfs_open_file *file_of(
	const struct canfs_export_reads *reads, const struct canfs_op *op, uint64_t bytes)
{
	if (!atomic_load_explicit(&reads->prefetches, memory_order_relaxed) ||
		canfs_export_fs_is_draining(reads->export_fs) || op->io->info)
		return NULL;
	if (bytes == 0 || bytes > FSAL_MAXIOSIZE || op->io->offset > INT64_MAX - bytes)
		return NULL;
	return find_file(reads->export_fs, op->handle);
}

/* True: the READ will be answered, or was. */
static bool submit(struct at_worker *mine, struct canfs_open_file *file, uint64_t bytes)
{
	struct canfs_op *op = &mine->call->op;
	bool delayed;

	mine->read = (struct canfs_read) { .file = file,
		.offset = op->io->offset,
		.bytes = bytes,
		.scale = canfs_load()->readahead_scale(canfs_export_here()),
		.client = client_here(),
		.steps_aside = canfs_load()->steps_aside,
		.delay = delay,
		.answer = answer };
	delayed = canfs_prefetch_submit(&mine->read);
	if (mine->read.ahead_bytes > 0)
		canfs_load()->fetched_ahead(op, mine->read.ahead_bytes);
	canfs_fd_cache_put(file);
	return delayed;
}

void canfs_make_read(struct canfs_io_call *call)
{
	struct canfs_export_reads *reads = canfs_reads_here();
	struct canfs_open_file *file = NULL;
	struct at_worker mine;
	uint64_t bytes = canfs_bytes_of(call->op.io);

	if (reads->export_fs)
		file = file_of(reads, &call->op, bytes);
	else
		canfs_read_ahead_remotely(reads, call->op.handle, call->op.io->offset, bytes);
	if (!file) {
		canfs_pass_read(call);
		return;
	}
	mine.call = call;
	if (submit(&mine, file, bytes))
		return;
	canfs_pass_read(call);
	canfs_prefetch_complete(&mine.read);
}
