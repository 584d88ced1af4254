// SPDX-License-Identifier: LGPL-3.0-or-later
/* Delegations (RFC 8881 §10.4) above an FSAL that grants none: NFS-Ganesha's, with what it does not look at itself (delegations/holders.h). */
#include "ganesha-fsal/canfs_methods.h"
#include "ganesha-fsal/delegations/holders.h"

#include <errno.h>
#include <string.h>
#include "fridgethr.h"
#include "fsal_up.h"
#include "gsh_config.h"
#include "nfs_exports.h"
#include "sal_data.h"

/* One for all exports; once there, it stays. */
static _Atomic(struct canfs_holders *) all_holders;

static struct canfs_holders *open_holders(void)
{
	struct canfs_holders *none = NULL, *new = atomic_load(&all_holders);

	if (new)
		return new;
	new = canfs_holders_new();
	if (new && !atomic_compare_exchange_strong(&all_holders, &none, new)) {
		canfs_holders_free(new);
		new = none;
	}
	return new;
}

void canfs_close_delegations(void)
{
	canfs_holders_free(atomic_exchange(&all_holders, NULL));
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
	bool possible = export->attributes_uncached && open_holders();

	if (wanted && !possible)
		LogWarn(COMPONENT_FSAL, "CANFS: no delegations of %s: %s", CTX_FULLPATH(op_ctx),
			export->attributes_uncached ? strerror(ENOMEM)
						    : "they need Attr_Expiration_Time = 0 in its "
						      "EXPORT block, from the start");
	atomic_store(&export->delegates, wanted && possible);
}

bool canfs_delegates(const struct fsal_export *export)
{
	return atomic_load(&container_of(export, struct canfs_export, export)->delegates) &&
	       op_ctx && op_ctx->export_perms.expire_time_attr == 0;
}

static struct canfs_nfs_client client_here(void)
{
	return (struct canfs_nfs_client) { .id = op_ctx->clientid ? *op_ctx->clientid : 0,
		.address = op_ctx->client };
}

fsal_status_t canfs_lease(
	struct fsal_obj_handle *handle, struct state_t *state, void *owner, fsal_deleg_t deleg)
{
	struct canfs_holders *holders = atomic_load(&all_holders);
	const struct state_owner_t *whose = owner;
	struct canfs_nfs_client client = { .id = whose->so_owner.so_nfs4_owner.so_clientid,
		.address = op_ctx->client };
	int ret;

	if (deleg == FSAL_DELEG_NONE) {
		canfs_holders_remove(holders, canfs_hash_key(handle), client.id);
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	}
	ret = canfs_holders_add(holders, canfs_hash_key(handle), client, deleg == FSAL_DELEG_WR,
		&state->state_data.deleg.sd_clfile_stats.cfd_r_time);
	return ret == 0 ? fsalstat(ERR_FSAL_NO_ERROR, 0) : fsalstat(posix2fsal_error(-ret), -ret);
}

bool canfs_has_leases(void)
{
	return atomic_load(&all_holders);
}

static void recall(struct fsal_obj_handle *handle)
{
	struct gsh_buffdesc key;

	PASS_VOID(handle, handle_to_key, &key);
	if (FSAL_IS_ERROR(up_async_delegrecall(
		    general_fridge, op_ctx->fsal_export->up_ops, &key, NULL, NULL)))
		LogCrit(COMPONENT_FSAL, "CANFS: %s: the delegation of a file could not be recalled",
			CTX_FULLPATH(op_ctx));
}

fsal_status_t canfs_check_delegations(struct fsal_obj_handle *handle, bool writes)
{
	struct canfs_holders *holders = atomic_load(&all_holders);
	struct canfs_recall ask;

	if (!holders || canfs_holders_count(holders) == 0 || handle->type != REGULAR_FILE)
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	ask = (struct canfs_recall) { .now_usec = canfs_now_usec(),
		.now_sec = time(NULL),
		.lease_sec = nfs_param.nfsv4_param.lease_lifetime };
	if (!canfs_holders_conflict(holders, canfs_hash_key(handle), client_here(), writes, &ask))
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	if (ask.is_due)
		recall(handle);
	return fsalstat(ERR_FSAL_DELAY, 0);
}
