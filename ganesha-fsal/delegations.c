// SPDX-License-Identifier: LGPL-3.0-or-later
/* Delegations (RFC 8881 §10.4) above an FSAL that grants none: NFS-Ganesha's, with what it does not look at itself (delegations/holders.h). */
#include "ganesha-fsal/canfs_methods.h"
#include "ganesha-fsal/delegations/holders.h"
#include "ganesha-fsal/delegations/watch.h"
#include "ganesha-fsal/prefetch/kernel_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fridgethr.h"
#include "fsal_up.h"
#include "gsh_config.h"
#include "nfs_exports.h"
#include "sal_data.h"

#define WAIT_MORE_SEC 5 /* than the server waits for an answer */

/* Of all exports. Made with the first of them that wants delegations, by the one thread that makes exports; then they stay. */
static _Atomic(struct canfs_holders *) all_holders;
static struct canfs_watch *all_watch;

static void ask(void *up_ops, const void *key, size_t key_bytes)
{
	struct gsh_buffdesc desc = { .addr = (void *)(uintptr_t)key, .len = key_bytes };

	if (FSAL_IS_ERROR(up_async_delegrecall(general_fridge, up_ops, &desc, NULL, NULL)))
		LogCrit(COMPONENT_FSAL, "CANFS: the delegation of a file could not be recalled");
}

static bool conflicts(const struct fsal_up_vector *up_ops, uint64_t file,
	struct canfs_nfs_client client, enum canfs_access access)
{
	const struct canfs_recall recall = { .now_usec = canfs_now_usec(),
		.now_sec = time(NULL),
		.lease_sec = nfs_param.nfsv4_param.lease_lifetime,
		.ask = ask,
		.arg = (void *)(uintptr_t)up_ops };

	return canfs_holders_conflict(atomic_load(&all_holders), file, client, access, &recall);
}

/* Of this machine another process has opened it, for reading or writing. */
static void opened(const void *up_ops, void *key, size_t key_bytes)
{
	(void)conflicts(up_ops, canfs_hash_bytes(key, key_bytes),
		(struct canfs_nfs_client) { .id = CANFS_NO_HOLDER }, CANFS_WRITES);
}

static int open_all(void)
{
	const struct canfs_watch_config config = { .opened = opened,
		.thread_begins = canfs_name_thread,
		.wait_sec = nfs_param.nfsv4_param.lease_lifetime + WAIT_MORE_SEC };
	int ret = 0;

	if (!atomic_load(&all_holders))
		atomic_store(&all_holders, canfs_holders_new());
	if (!atomic_load(&all_holders))
		return -ENOMEM;
	if (!all_watch)
		ret = canfs_watch_new(&all_watch, &config);
	return ret;
}

void canfs_close_delegations(void)
{
	canfs_watch_free(all_watch);
	all_watch = NULL;
	canfs_holders_free(atomic_exchange(&all_holders, NULL));
}

static int open_export(struct canfs_export *export)
{
	const char *path = CTX_FULLPATH(op_ctx);
	int ret = open_all();
	struct stat st;

	if (ret != 0)
		return ret;
	if (canfs_local_device(&export->export) == 0)
		return -EOPNOTSUPP;
	if (export->dir < 0)
		export->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (export->dir < 0 || fstat(export->dir, &st) != 0)
		return -errno;
	export->st_dev = st.st_dev;
	return 0;
}

/*
 * The metadata cache answers for a file with a delegation what it knew before, to anybody; but with Attr_Expiration_Time = 0 it asks
 * us, who know who asks. It remembers that number with each file, so that a new one is no use.
 */
void canfs_open_delegations(struct canfs_export *export, bool wanted)
{
	const struct export_perms *perms = &op_ctx->ctx_export->export_perms;

	export->attributes_uncached =
		(perms->set & EXPORT_OPTION_EXPIRE_SET) != 0 && perms->expire_time_attr == 0;
	canfs_set_delegations(export, wanted);
}

void canfs_set_delegations(struct canfs_export *export, bool wanted)
{
	int ret = 0;

	if (wanted && !export->attributes_uncached) {
		LogWarn(COMPONENT_FSAL,
			"CANFS: no delegations of %s: they need Attr_Expiration_Time = 0 in its "
			"EXPORT block, from the start",
			CTX_FULLPATH(op_ctx));
		wanted = false;
	}
	if (wanted)
		ret = open_export(export);
	if (ret != 0)
		LogCrit(COMPONENT_FSAL, "CANFS: no delegations of %s: %s", CTX_FULLPATH(op_ctx),
			strerror(-ret));
	atomic_store(&export->delegates, wanted && ret == 0);
}

bool canfs_delegates(const struct fsal_export *export)
{
	return atomic_load(&container_of(export, struct canfs_export, export)->delegates) &&
	       op_ctx && op_ctx->export_perms.expire_time_attr == 0;
}

/* Of NFSv4.0, which has no sessions, an operation does not tell whose it is: such clients are given none. */
static struct canfs_nfs_client client_here(void)
{
	struct canfs_nfs_client client = { .id = op_ctx->clientid ? *op_ctx->clientid : 0,
		.address = op_ctx->client };

	if (client.address && (op_ctx->nfs_vers != NFS_V4 || op_ctx->nfs_minorvers == 0))
		client.id = CANFS_NO_HOLDER;
	return client;
}

/* The file that this thread has made last, and where: to be known if it is given a delegation of it, as the next thing that it does. */
static __thread struct {
	uint64_t file, parent;
} made;

void canfs_note_made(struct fsal_obj_handle *handle, struct fsal_obj_handle *dir)
{
	if (canfs_delegates(op_ctx->fsal_export)) {
		made.file = canfs_hash_key(handle);
		made.parent = canfs_hash_key(dir);
	}
}

/* Processes on the server that open it from now on. */
static int watch_file(struct canfs_export *export, struct fsal_obj_handle *handle)
{
	struct canfs_watched file = {
		.dev = export->st_dev, .ino = handle->fileid, .whose = export->export.up_ops
	};
	uint8_t wire[NFS4_FHSIZE];
	struct gsh_buffdesc desc = { .addr = wire, .len = sizeof(wire) }, key;
	struct stat st;
	int fd, ret = -ESTALE;

	if (FSAL_IS_ERROR(PASS(handle, handle_to_wire, FSAL_DIGEST_NFSV4, &desc)))
		return ret;
	fd = canfs_open_kernel_handle(export->dir, wire, desc.len, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return fd;
	PASS_VOID(handle, handle_to_key, &key);
	file.key = key.addr;
	file.key_bytes = key.len;
	/* Not one of a file system that is mounted below. */
	if (fstat(fd, &st) == 0 && st.st_dev == file.dev && st.st_ino == file.ino)
		ret = canfs_watch_add(all_watch, fd, &file);
	close(fd);
	return ret;
}

/* The watch first: who opens it meanwhile waits, until it is clear that there is none, or there was one, and is no more. */
static int grant(struct canfs_export *export, struct fsal_obj_handle *handle,
	const struct canfs_delegation *delegation)
{
	int ret = watch_file(export, handle);

	if (ret != 0)
		return ret;
	ret = canfs_holders_add(atomic_load(&all_holders), delegation);
	if (ret != 0)
		canfs_watch_remove(all_watch, export->st_dev, handle->fileid);
	return ret;
}

bool canfs_grant_lease(struct fsal_obj_handle *handle, struct state_t *state, void *owner,
	bool writes, fsal_status_t *status)
{
	struct canfs_export *export =
		container_of(op_ctx->fsal_export, struct canfs_export, export);
	const struct state_nfs4_owner_t *whose =
		&((struct state_owner_t *)owner)->so_owner.so_nfs4_owner;
	struct canfs_delegation delegation = { .file = canfs_hash_key(handle),
		.client = { .id = whose->so_clientid, .address = op_ctx->client },
		.writes = writes,
		.recall_begun = &state->state_data.deleg.sd_clfile_stats.cfd_r_time };
	struct gsh_buffdesc key;
	int ret = -EOPNOTSUPP;

	if (!canfs_delegates(&export->export))
		return false;
	PASS_VOID(handle, handle_to_key, &key);
	delegation.key = key.addr;
	delegation.key_bytes = key.len;
	delegation.parent = made.file == delegation.file ? made.parent : 0;
	if (whose->so_clientrec->cid_minorversion > 0)
		ret = grant(export, handle, &delegation);
	*status =
		ret == 0 ? fsalstat(ERR_FSAL_NO_ERROR, 0) : fsalstat(posix2fsal_error(-ret), -ret);
	return true;
}

bool canfs_return_lease(struct fsal_obj_handle *handle, void *owner)
{
	const struct canfs_export *export =
		container_of(op_ctx->fsal_export, struct canfs_export, export);
	const struct state_owner_t *whose = owner;
	struct canfs_holders *holders = atomic_load(&all_holders);

	if (!holders || !canfs_holders_remove(holders, canfs_hash_key(handle),
				whose->so_owner.so_nfs4_owner.so_clientid))
		return false;
	canfs_watch_remove(all_watch, export->st_dev, handle->fileid);
	return true;
}

fsal_status_t canfs_check_delegations(struct fsal_obj_handle *handle, enum canfs_access access)
{
	const struct canfs_holders *holders = atomic_load(&all_holders);

	if (holders && canfs_holders_count(holders) != 0 && handle->type == REGULAR_FILE &&
		conflicts(
			op_ctx->fsal_export->up_ops, canfs_hash_key(handle), client_here(), access))
		return fsalstat(ERR_FSAL_DELAY, 0);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}
