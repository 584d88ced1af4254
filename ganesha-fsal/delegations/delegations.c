// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Delegations (RFC 8881 §10.4) above an FSAL that grants none. NFS-Ganesha implements them;
 * core/holders.h finds the conflicts that NFS-Ganesha does not check.
 */
#include "ganesha-fsal/delegations/delegations.h"
#include "ganesha-fsal/delegations/core/revoked.h"
#include "ganesha-fsal/delegations/core/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "common/clock.h"
#include "gsh_config.h"
#include "nfs_exports.h"
#include "sal_data.h"

#define WAIT_MORE_SEC 5 /* longer than the server waits for an answer */

/*
 * While a truncating open(2) waits, the file system cannot be frozen. A freeze that was requested
 * meanwhile blocks the WRITEs that the recall needs. A reachable client has answered within this
 * time, even if one call is lost: NFS-Ganesha waits 3 s for the answer, and retries after 1 s.
 */
#define BRIEF_MSEC 5000

/*
 * For all exports. The one thread that makes exports creates them with the first export that wants
 * delegations. They are freed by end().
 */
static _Atomic(struct canfs_holders *) all_holders;
static _Atomic(struct canfs_revoked *) all_revoked;
static _Atomic unsigned int delegating_exports;

static bool conflicts(uint64_t file, struct canfs_nfs_client client, enum canfs_access access)
{
	const struct canfs_recall recall = { .now_usec = canfs_now_usec(), .ask = canfs_ask_back };

	return canfs_holders_conflict(atomic_load(&all_holders), file, client, access, &recall);
}

/*
 * Another process of this machine has opened the file, or there is too little space for its
 * holder's data.
 */
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

	canfs_load()->measure_others();
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

static void end(void)
{
	canfs_stop_watching();
	canfs_close_space();
	canfs_holders_free(atomic_exchange(&all_holders, NULL));
	canfs_revoked_free(atomic_exchange(&all_revoked, NULL));
}

static int open_export(const struct canfs_export *export)
{
	struct canfs_export_delegations *own = canfs_delegations_of(export);
	const char *path = CTX_FULLPATH(op_ctx);
	int ret = open_all();
	struct stat st;

	if (ret != 0)
		return ret;
	if (canfs_local_device(&export->export) == 0)
		return -EOPNOTSUPP;
	if (own->dir < 0)
		own->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (own->dir < 0 || fstat(own->dir, &st) != 0)
		return -errno;
	own->st_dev = st.st_dev;
	return 0;
}

/* File systems with an export of ours that caches attributes. Entries are never removed. */
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
	return count == CACHED_MAX; /* the table is full, so assume it */
}

/*
 * The metadata cache answers any client from memory, even if a file has a delegation. With
 * Attr_Expiration_Time = 0 it asks us, and we know which client asks. The cache stores that time
 * with each file, whichever export found the file. A new value therefore has no effect on files
 * that are cached already.
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

static void note_delegating(struct canfs_export_delegations *own, bool delegates)
{
	if (atomic_exchange(&own->delegates, delegates) == delegates)
		return;
	if (delegates)
		atomic_fetch_add(&delegating_exports, 1);
	else
		atomic_fetch_sub(&delegating_exports, 1);
}

/* Options of an export's FSAL block. */
struct options {
	bool delegations;
};

static struct config_item export_items[] = {
	CONF_ITEM_BOOL("Delegations", false, options, delegations),
	CONFIG_EOL,
};

static void set(struct canfs_export *export, bool wanted)
{
	bool possible;
	int ret = 0;

	if (wanted && !COMPAT_DELEGATIONS) {
		LogWarn(COMPONENT_FSAL,
			"CANFS: no delegations for %s: this release of NFS-Ganesha gives other "
			"clients wrong attributes of delegated files",
			CTX_FULLPATH(op_ctx));
		return;
	}
	note_caching(export);
	possible = wanted && !is_cached(canfs_local_device(&export->export));
	if (wanted && !possible)
		LogWarn(COMPONENT_FSAL,
			"CANFS: no delegations for %s: all EXPORT blocks of its file system need "
			"Attr_Expiration_Time = 0 when the server starts",
			CTX_FULLPATH(op_ctx));
	if (possible)
		ret = open_export(export);
	if (ret != 0)
		LogCrit(COMPONENT_FSAL, "CANFS: no delegations for %s: %s", CTX_FULLPATH(op_ctx),
			strerror(-ret));
	note_delegating(canfs_delegations_of(export), possible && ret == 0);
}

static void export_begins(struct canfs_export *export, const void *own)
{
	struct canfs_export_delegations *delegations = gsh_calloc(1, sizeof(*delegations));

	export->part[CANFS_FEATURE_DELEGATIONS] = delegations;
	delegations->dir = -1;
	set(export, own && ((const struct options *)own)->delegations);
}

static void export_changes(struct canfs_export *export, const void *own)
{
	if (own)
		set(export, ((const struct options *)own)->delegations);
}

static void export_ends(struct canfs_export *export)
{
	struct canfs_export_delegations *own = canfs_delegations_of(export);

	note_delegating(own, false);
	if (own->dir >= 0)
		close(own->dir);
	gsh_free(own);
}

static void drain(struct canfs_export *export)
{
	(void)export;
	canfs_let_states_go(UINT64_MAX);
}

/* For the control socket; from any thread. */
static void count(json_t *counters)
{
	const struct canfs_holders *holders = atomic_load(&all_holders);
	struct canfs_holders_counters now = { .held = 0 };

	if (holders)
		now = canfs_holders_counters(holders);
	json_object_update_new(
		counters, json_pack("{s:I, s:I, s:I, s:I, s:I}", "delegating_exports",
				  (json_int_t)atomic_load(&delegating_exports), "delegations",
				  (json_int_t)now.held, "delegations_granted",
				  (json_int_t)now.granted, "delegations_refused",
				  (json_int_t)(now.refused + canfs_count_not_afforded()),
				  "delegations_recalled", (json_int_t)now.recalled));
}

static bool delegates(const struct fsal_export *export)
{
	const struct canfs_export_delegations *own =
		canfs_delegations_of(container_of(export, struct canfs_export, export));

	return atomic_load(&own->delegates) && op_ctx->export_perms.expire_time_attr == 0 &&
	       !is_cached(own->st_dev);
}

bool canfs_delegates(const struct fsal_export *export)
{
	const struct canfs_holders *holders = atomic_load(&all_holders);

	return (holders && canfs_holders_count(holders) != 0) || (op_ctx && delegates(export));
}

/*
 * NFSv4.0 has no sessions, so an operation does not identify its client. Such clients get no
 * delegations.
 */
struct canfs_nfs_client canfs_client_here(void)
{
	struct canfs_nfs_client client = { .id = op_ctx->clientid ? *op_ctx->clientid : 0,
		.address = op_ctx->client };

	if (op_ctx->req_type != UNKNOWN_REQUEST &&
		(op_ctx->nfs_vers != NFS_V4 || op_ctx->nfs_minorvers == 0))
		client.id = CANFS_NO_HOLDER;
	return client;
}

/*
 * The file that this thread created last, and its directory. If the client is granted a delegation
 * of that file, the grant is the next thing that this thread does.
 */
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

/*
 * Watches the file first. A process that opens the file meanwhile waits until the grant has failed
 * or the delegation has ended.
 */
static int grant(const struct canfs_export *export, struct fsal_obj_handle *handle,
	const struct canfs_delegation *delegation)
{
	int ret = canfs_watch_file(canfs_delegations_of(export), handle);

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

/* False: the sub-FSAL must handle the lease. */
static bool grant_lease(struct fsal_obj_handle *handle, struct state_t *state, void *owner,
	bool writes, fsal_status_t *status)
{
	struct canfs_export *export = canfs_export_here();
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

/* A file's version is the time of its last change. */
#define NO_VERSION 0 /* unknown, or a process of this machine truncated the file */
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
	/* Revoked: not returned by a request of its client. */
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

static bool lease(struct fsal_obj_handle *handle, struct state_t *state, void *owner,
	fsal_deleg_t deleg, fsal_status_t *status)
{
	if (deleg != FSAL_DELEG_NONE)
		return grant_lease(handle, state, owner, deleg == FSAL_DELEG_WR, status);
	canfs_return_lease(handle, state, owner);
	/* A client that reclaims a delegation gets it even if we refuse, and returns it. */
	if (PASS_EXPORT(op_ctx->fsal_export, fs_supports, fso_delegations_r))
		return false;
	canfs_hide_returned(state, owner);
	return true;
}

static bool supports(const struct fsal_export *export, fsal_fsinfo_options_t option)
{
	return (option == fso_delegations_r || option == fso_delegations_w) &&
	       canfs_delegates(export);
}

/* lease_op2 does not report every end of a delegation, for example when its export is removed. */
static fsal_status_t before_close(struct canfs_op *op)
{
	if (op->state)
		canfs_return_lease(op->handle, op->state, NULL);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

const struct canfs_feature canfs_feature_delegations = {
	.export_options = { export_items, sizeof(struct options) },
	.end = end,
	.export_begins = export_begins,
	.export_changes = export_changes,
	.before_update = canfs_recall_before_change,
	.drain = drain,
	.export_ends = export_ends,
	.before = { [CANFS_OP_LOOK] = canfs_check_look,
		[CANFS_OP_SET_ATTRS] = canfs_begin_change,
		[CANFS_OP_LINK] = canfs_begin_change,
		[CANFS_OP_RENAME] = canfs_begin_rename,
		[CANFS_OP_UNLINK] = canfs_begin_unlink,
		[CANFS_OP_OPEN] = canfs_begin_open,
		[CANFS_OP_REOPEN] = canfs_begin_open,
		[CANFS_OP_READ] = canfs_check_read,
		[CANFS_OP_WRITE] = canfs_begin_write_change,
		[CANFS_OP_COMMIT] = canfs_note_commit,
		[CANFS_OP_ALLOCATE] = canfs_begin_change,
		[CANFS_OP_SEEK] = canfs_check_read,
		[CANFS_OP_LOCK] = canfs_check_lock,
		[CANFS_OP_CLOSE] = before_close },
	.after = { [CANFS_OP_SET_ATTRS] = canfs_end_change,
		[CANFS_OP_LINK] = canfs_end_change,
		[CANFS_OP_RENAME] = canfs_end_change,
		[CANFS_OP_UNLINK] = canfs_end_change,
		[CANFS_OP_OPEN] = canfs_end_open,
		[CANFS_OP_REOPEN] = canfs_end_change,
		[CANFS_OP_WRITE] = canfs_end_change,
		[CANFS_OP_ALLOCATE] = canfs_end_change },
	.retries = canfs_retries_write,
	.get_attrs = canfs_stat_watched,
	.lease = lease,
	.supports = supports,
	.named = canfs_note_named,
	.count = count,
};
