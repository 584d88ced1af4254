// SPDX-License-Identifier: LGPL-3.0-or-later
/* Delegations (RFC 8881 §10.4) above an FSAL that grants none: NFS-Ganesha's, with what it does not look at itself (delegations/holders.h). */
#include "ganesha-fsal/canfs_methods.h"
#include "ganesha-fsal/delegations/holders.h"
#include "ganesha-fsal/delegations/revoked.h"
#include "ganesha-fsal/delegations/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "gsh_config.h"
#include "nfs_exports.h"
#include "sal_data.h"

#define WAIT_MORE_SEC 5 /* than the server waits for an answer */

/*
 * While a truncating open(2) waits, the file system cannot be frozen. A freeze that was requested meanwhile blocks the WRITEs that the recall
 * needs. A reachable client has answered by then, even if one call is lost: NFS-Ganesha waits 3 s for the answer, and retries after 1 s.
 */
#define BRIEF_MSEC 5000

/* Of all exports. Made with the first of them that wants delegations, by the one thread that makes exports; then they stay. */
static _Atomic(struct canfs_holders *) all_holders;
static _Atomic(struct canfs_revoked *) all_revoked;
static _Atomic unsigned int delegating_exports;

static bool conflicts(uint64_t file, struct canfs_nfs_client client, enum canfs_access access)
{
	const struct canfs_recall recall = { .now_usec = canfs_now_usec(), .ask = canfs_ask_back };

	return canfs_holders_conflict(atomic_load(&all_holders), file, client, access, &recall);
}

/* Another process of this machine has opened the file, or there is too little space for its holder's data. */
static void recall(uint64_t file)
{
	(void)conflicts(file, (struct canfs_nfs_client) { .id = CANFS_NO_HOLDER }, CANFS_WRITES);
}

static void tick(void)
{
	const struct canfs_server server = { .lease_sec = nfs_param.nfsv4_param.lease_lifetime,
		.granted = DELEG_GRANTED,
		.recalled = DELEG_RECALL_WIP,
		.lock = canfs_lock_state,
		.unlock = canfs_unlock_state,
		.unheard = canfs_client_is_unheard };

	canfs_measure_clients();
	canfs_let_states_go(canfs_now_usec());
	canfs_holders_tick(atomic_load(&all_holders), canfs_now_usec(), &server);
}

static bool settles(uint64_t file)
{
	return canfs_holders_settles(atomic_load(&all_holders), file, canfs_now_usec());
}

static bool overtake(uint64_t file)
{
	return canfs_holders_overtake(atomic_load(&all_holders), file);
}

static int open_all(void)
{
	const struct canfs_watch_config config = { .opened = recall,
		.tick = tick,
		.settles = settles,
		.overtake = overtake,
		.brief_msec = BRIEF_MSEC,
		.thread_begins = canfs_name_thread,
		.wait_sec = nfs_param.nfsv4_param.lease_lifetime + WAIT_MORE_SEC };

	if (!atomic_load(&all_holders))
		atomic_store(&all_holders, canfs_holders_new());
	if (!atomic_load(&all_revoked))
		atomic_store(&all_revoked, canfs_revoked_new());
	if (!atomic_load(&all_holders) || !atomic_load(&all_revoked))
		return -ENOMEM;
	if (canfs_open_space(recall) != 0)
		return -ENOMEM;
	return canfs_start_watching(&config);
}

void canfs_close_delegations(void)
{
	canfs_stop_watching();
	canfs_close_space();
	canfs_holders_free(atomic_exchange(&all_holders, NULL));
	canfs_revoked_free(atomic_exchange(&all_revoked, NULL));
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

/* File systems of which some export of ours has cached attributes; never fewer. */
#define CACHED_MAX 256
static dev_t cached[CACHED_MAX];
static _Atomic unsigned int cached_count;

static bool is_cached(dev_t dev)
{
	unsigned int count = atomic_load(&cached_count);

	for (unsigned int i = 0; i < count; i++) {
		if (cached[i] == dev)
			return true;
	}
	return count == CACHED_MAX; /* not known */
}

/*
 * The metadata cache answers for a file with a delegation what it knew before, to anybody; but with Attr_Expiration_Time = 0 it asks
 * us, who know who asks. It remembers that number with each file, whichever export it was found by, so that a new one is no use.
 */
static void note_caching(const struct canfs_export *export)
{
	const struct export_perms *perms = &op_ctx->ctx_export->export_perms;
	dev_t dev = canfs_local_device(&export->export);

	if (((perms->set & EXPORT_OPTION_EXPIRE_SET) == 0 || perms->expire_time_attr != 0) &&
		dev != 0 && !is_cached(dev)) {
		cached[atomic_load(&cached_count)] = dev;
		atomic_fetch_add(&cached_count, 1);
	}
}

static void note_delegating(struct canfs_export *export, bool delegates)
{
	if (atomic_exchange(&export->delegates, delegates) == delegates)
		return;
	if (delegates)
		atomic_fetch_add(&delegating_exports, 1);
	else
		atomic_fetch_sub(&delegating_exports, 1);
}

void canfs_set_delegations(struct canfs_export *export, bool wanted)
{
	bool possible;
	int ret = 0;

	if (wanted && !COMPAT_DELEGATIONS) {
		LogWarn(COMPONENT_FSAL,
			"CANFS: no delegations of %s: this release of NFS-Ganesha gives others "
			"wrong attributes of such files",
			CTX_FULLPATH(op_ctx));
		return;
	}
	note_caching(export);
	possible = wanted && !is_cached(canfs_local_device(&export->export));
	if (wanted && !possible)
		LogWarn(COMPONENT_FSAL,
			"CANFS: no delegations of %s: they need Attr_Expiration_Time = 0 in its "
			"EXPORT block, and in those of its file system, "
			"from the start",
			CTX_FULLPATH(op_ctx));
	if (possible)
		ret = open_export(export);
	if (ret != 0)
		LogCrit(COMPONENT_FSAL, "CANFS: no delegations of %s: %s", CTX_FULLPATH(op_ctx),
			strerror(-ret));
	note_delegating(export, possible && ret == 0);
}

void canfs_close_export_delegations(struct canfs_export *export)
{
	note_delegating(export, false);
	if (export->dir >= 0)
		close(export->dir);
}

struct canfs_delegation_counters canfs_count_delegations(void)
{
	const struct canfs_holders *holders = atomic_load(&all_holders);
	struct canfs_delegation_counters counters = { .exports = atomic_load(&delegating_exports) };

	if (holders)
		counters.now = canfs_holders_counters(holders);
	counters.now.refused += canfs_count_not_afforded();
	return counters;
}

static bool delegates(const struct fsal_export *export)
{
	const struct canfs_export *ours = container_of(export, struct canfs_export, export);

	return atomic_load(&ours->delegates) && op_ctx->export_perms.expire_time_attr == 0 &&
	       !is_cached(ours->st_dev);
}

/* While some are held, their holders must be able to open what they have opened themselves. */
bool canfs_delegates(const struct fsal_export *export)
{
	const struct canfs_holders *holders = atomic_load(&all_holders);

	return (holders && canfs_holders_count(holders) != 0) || (op_ctx && delegates(export));
}

/* Of NFSv4.0, which has no sessions, an operation does not tell whose it is: such clients are given none. */
struct canfs_nfs_client canfs_client_here(void)
{
	struct canfs_nfs_client client = { .id = op_ctx->clientid ? *op_ctx->clientid : 0,
		.address = op_ctx->client };

	if (op_ctx->req_type != UNKNOWN_REQUEST &&
		(op_ctx->nfs_vers != NFS_V4 || op_ctx->nfs_minorvers == 0))
		client.id = CANFS_NO_HOLDER;
	return client;
}

/* The file that this thread has made last, and where: to be known if it is given a delegation of it, as the next thing that it does. */
static __thread struct {
	uint64_t file, parent;
} made;

void canfs_note_made(struct fsal_obj_handle *handle, struct fsal_obj_handle *dir)
{
	if (delegates(op_ctx->fsal_export)) {
		made.file = canfs_hash_key(handle);
		made.parent = canfs_hash_key(dir);
	}
}

/* The watch first: who opens it meanwhile waits, until it is clear that there is none, or there was one, and is no more. */
static int grant(struct canfs_export *export, struct fsal_obj_handle *handle,
	const struct canfs_delegation *delegation)
{
	int ret = canfs_watch_file(export, handle);

	if (ret != 0)
		return ret;
	ret = canfs_holders_add(atomic_load(&all_holders), delegation);
	if (ret != 0)
		canfs_unwatch_file(handle);
	return ret;
}

static struct canfs_server_state server_state(struct state_t *state)
{
	return (struct canfs_server_state) {
		.recall_begun = &state->state_data.deleg.sd_clfile_stats.cfd_r_time,
		.recall_answered = &state->state_data.deleg.sd_clfile_stats.cfd_rs_time,
		.stage = (uint32_t *)&state->state_data.deleg.sd_state,
		.state = state
	};
}
_Static_assert(sizeof(enum deleg_state) == sizeof(uint32_t), "as it is looked at");

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
		.is_opened = canfs_opens_conflict(state, whose->so_clientid, writes),
		.recall_arg = export->export.up_ops,
		.server = server_state(state),
		.now_usec = canfs_now_usec() };
	struct gsh_buffdesc key;
	int ret = -EOPNOTSUPP;

	if (!canfs_delegates(&export->export))
		return false;
	delegation.server.channel_down = &whose->so_clientrec->cid_cb.v40.cb_chan_down;
	delegation.server.client_record = whose->so_clientrec;
	PASS_VOID(handle, handle_to_key, &key);
	delegation.key = key.addr;
	delegation.key_bytes = key.len;
	delegation.parent = made.file == delegation.file ? made.parent : 0;
	if (delegates(&export->export) && whose->so_clientrec->cid_minorversion > 0)
		ret = writes ? canfs_afford_write_delegation(export, handle, state) : 0;
	if (ret == 0)
		ret = grant(export, handle, &delegation);
	if (ret != 0 && writes)
		canfs_end_write_delegation(state);
	canfs_hide_granted(state, ret != 0);
	*status =
		ret == 0 ? fsalstat(ERR_FSAL_NO_ERROR, 0) : fsalstat(posix2fsal_error(-ret), -ret);
	return true;
}

/* When it was last changed. */
#define NO_VERSION 0 /* not known, or another client had changed the file */
static uint64_t version_of(struct fsal_obj_handle *handle)
{
	struct fsal_attrlist attrs;
	uint64_t version = NO_VERSION;

	fsal_prepare_attrs(&attrs, ATTR_CTIME);
	if (!FSAL_IS_ERROR(PASS(handle, getattrs, &attrs)))
		version = (uint64_t)attrs.ctime.tv_sec * UINT64_C(1000000000) +
			  (uint64_t)attrs.ctime.tv_nsec;
	fsal_release_attrs(&attrs);
	return version;
}

void canfs_return_lease(struct fsal_obj_handle *handle, struct state_t *state, void *owner)
{
	struct canfs_holders *holders = atomic_load(&all_holders);
	uint64_t file;
	struct canfs_returned returned;

	if (!holders)
		return;
	canfs_note_arrived(handle);
	if (state->state_type == STATE_TYPE_LOCK)
		canfs_keep_state(state);
	if (state->state_type != STATE_TYPE_DELEG)
		return;
	file = canfs_hash_key(handle);
	if (!canfs_holders_remove(holders, file, server_state(state), canfs_now_usec(), &returned))
		return;
	canfs_end_write_delegation(state);
	if (owner && canfs_recall_was_answered(state))
		canfs_client_has_answered(
			((struct state_owner_t *)owner)->so_owner.so_nfs4_owner.so_clientrec);
	canfs_keep_state(state);
	if (op_ctx->req_type == UNKNOWN_REQUEST && canfs_recall_is_overdue(state) &&
		!returned.was_overtaken)
		canfs_holders_gone(holders, returned.whose);
	/* Not by a request of its client. */
	if (op_ctx->req_type == UNKNOWN_REQUEST &&
		state->state_data.deleg.sd_type == OPEN_DELEGATE_WRITE)
		canfs_revoked_add(atomic_load(&all_revoked), file, returned.whose.address,
			returned.was_overtaken ? NO_VERSION : version_of(handle));
	canfs_unwatch_file(handle);
}

static bool was_revoked(struct fsal_obj_handle *handle,
	bool find(struct canfs_revoked *, uint64_t, const void *, uint64_t *))
{
	struct canfs_revoked *revoked = atomic_load(&all_revoked);
	uint64_t version;

	return revoked && canfs_revoked_any(revoked) && handle->type == REGULAR_FILE &&
	       canfs_client_here().id != CANFS_NO_HOLDER &&
	       find(revoked, canfs_hash_key(handle), op_ctx->client, &version) &&
	       version_of(handle) != version;
}

bool canfs_open_was_revoked(struct fsal_obj_handle *handle)
{
	return was_revoked(handle, canfs_revoked_take);
}

bool canfs_write_was_revoked(struct fsal_obj_handle *handle, const struct fsal_io_arg *io)
{
	return !io->state && was_revoked(handle, canfs_revoked_find);
}

struct canfs_holders *canfs_all_holders(void)
{
	return atomic_load(&all_holders);
}

bool canfs_any_delegations(void)
{
	const struct canfs_holders *holders = atomic_load(&all_holders);

	return holders && canfs_holders_count(holders) != 0;
}

fsal_status_t canfs_check_conflicts(uint64_t file, enum canfs_access access)
{
	return conflicts(file, canfs_client_here(), access) ? fsalstat(ERR_FSAL_DELAY, 0)
							    : fsalstat(ERR_FSAL_NO_ERROR, 0);
}
