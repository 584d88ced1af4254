// SPDX-License-Identifier: LGPL-3.0-or-later
/* NFS-Ganesha's own state of a file and of a request, as far as delegations need it. */
#include "ganesha-fsal/delegations/delegations.h"

#include "nfs_proto_data.h"
#include "sal_data.h"

/*
 * Call it with the file's state lock held. The client itself may have several opens, by several
 * owners.
 */
static bool others_opened(struct state_file *file, uint64_t client, bool to_write)
{
	struct glist_head *node;

	glist_for_each(node, &file->list_of_states)
	{
		const struct state_t *state = glist_entry(node, struct state_t, state_list);

		if (state->state_type == STATE_TYPE_SHARE && state->state_owner &&
			state->state_owner->so_owner.so_nfs4_owner.so_clientid != client &&
			(!to_write ||
				state->state_data.share.share_access & OPEN4_SHARE_ACCESS_WRITE))
			return true;
	}
	return !glist_empty(&file->nlm_share_list); /* DOS shares of NFSv3 */
}

bool canfs_opens_conflict(const struct state_t *delegation, uint64_t client, bool writes)
{
	return others_opened(&delegation->state_obj->state_hdl->file, client, !writes);
}

#if COMPAT_OWN_CONFLICTS
/*
 * NFS-Ganesha reads this count before each operation. If the count is not 0, a client's own read
 * delegation counts as a conflict. If the count is 0, NFS-Ganesha leaves all conflicts to us
 * (core/holders.h). A write delegation may be counted: NFS-Ganesha finds its holder and asks it for
 * attributes. But if the holder is refused a second delegation, NFS-Ganesha forgets the first one
 * (state_del_locked()).
 */
void canfs_hide_granted(struct state_t *delegation, bool is_refused)
{
	uint32_t *count = &delegation->state_obj->state_hdl->file.fdeleg_stats.fds_curr_delegations;

	if (is_refused)
		*count = 0;
	else if (delegation->state_data.deleg.sd_type == OPEN_DELEGATE_READ)
		*count = UINT32_MAX; /* the caller adds one */
}

/*
 * NFS-Ganesha counts without a lock, so the count might never return to 0. After a refusal,
 * NFS-Ganesha would not drop its reference to the client.
 */
void canfs_hide_returned(struct state_t *delegation, void *owner)
{
	struct state_file *file = &delegation->state_obj->state_hdl->file;

	file->fdeleg_stats.fds_curr_delegations = 0;
	if (delegation->state_data.deleg.sd_type == OPEN_DELEGATE_WRITE &&
		!file->write_deleg_client)
		file->write_deleg_client =
			((struct state_owner_t *)owner)->so_owner.so_nfs4_owner.so_clientrec;
}
#else
void canfs_hide_granted(struct state_t *delegation, bool is_refused)
{
	(void)delegation;
	(void)is_refused;
}

void canfs_hide_returned(struct state_t *delegation, void *owner)
{
	(void)delegation;
	(void)owner;
}
#endif

bool canfs_request_writes(void)
{
	return op_ctx->req_type == NFS_REQUEST &&
	       (container_of(op_ctx, struct nfs_request, op_context)->lookahead.flags &
		       NFS_LOOKAHEAD_WRITE) != 0;
}
