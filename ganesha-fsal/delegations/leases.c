// SPDX-License-Identifier: LGPL-3.0-or-later
/* Delegations are granted, returned and revoked here. NFS-Ganesha calls them leases. */
#include "ganesha-fsal/delegations/delegations.h"
#include "ganesha-fsal/delegations/core/revoked.h"

#include <errno.h>

#include "common/clock.h"
#include "sal_data.h"

/*
 * The file that this thread created last, and its directory. If the client is granted a delegation
 * of that file, the grant is the next thing that this thread does.
 */
static __thread struct {
	uint64_t file, parent;
} made;

void canfs_note_made(struct fsal_obj_handle *handle, struct fsal_obj_handle *dir)
{
	if (canfs_export_delegates(op_ctx->fsal_export)) {
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
	ret = canfs_holders_add(canfs_all_holders(), delegation);
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
	if (canfs_export_delegates(&export->export) && whose->so_clientrec->cid_minorversion > 0)
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
	struct canfs_holders *holders = canfs_all_holders();
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
		canfs_revoked_add(canfs_all_revoked(), file, returned.whose.address,
			returned.was_overtaken ? NO_VERSION : version_of(handle));
	canfs_unwatch_file(handle);
}

static bool was_revoked(struct fsal_obj_handle *handle,
	bool find(struct canfs_revoked *, uint64_t, const void *, uint64_t *))
{
	struct canfs_revoked *revoked = canfs_all_revoked();
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

bool canfs_lease(struct fsal_obj_handle *handle, struct state_t *state, void *owner,
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
