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

bool canfs_export_delegates(const struct fsal_export *export)
{
	const struct canfs_export_delegations *own =
		canfs_delegations_of(container_of(export, struct canfs_export, export));

	return atomic_load(&own->delegates) && op_ctx->export_perms.expire_time_attr == 0 &&
	       !is_cached(own->st_dev);
}

bool canfs_delegates(const struct fsal_export *export)
{
	const struct canfs_holders *holders = atomic_load(&all_holders);

	return (holders && canfs_holders_count(holders) != 0) ||
	       (op_ctx && canfs_export_delegates(export));
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

struct canfs_holders *canfs_all_holders(void)
{
	return atomic_load(&all_holders);
}

struct canfs_revoked *canfs_all_revoked(void)
{
	return atomic_load(&all_revoked);
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
	.lease = canfs_lease,
	.supports = supports,
	.named = canfs_note_named,
	.count = count,
};
