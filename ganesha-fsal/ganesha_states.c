// SPDX-License-Identifier: LGPL-3.0-or-later
/* What NFS-Ganesha itself knows of a file and of a request, as far as delegations need it. */
#include "ganesha-fsal/canfs_methods.h"

#include "nfs_proto_data.h"
#include "sal_data.h"

/* With the file's state lock. Who asks may have opened it more than once, as several owners. */
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
 * NFS-Ganesha looks at this count before each operation. If there are any it takes a client's own read delegation for a conflict. With 0 it
 * leaves all of that to us (delegations/holders.h). A write delegation it may know: it finds its holder, and asks that for attributes. But if
 * the holder was refused a second one, nobody knows of the first one any more (state_del_locked()).
 */
void canfs_hide_granted(struct state_t *delegation, bool is_refused)
{
	uint32_t *count = &delegation->state_obj->state_hdl->file.fdeleg_stats.fds_curr_delegations;

	if (is_refused)
		*count = 0;
	else if (delegation->state_data.deleg.sd_type == OPEN_DELEGATE_READ)
		*count = UINT32_MAX; /* the caller adds one */
}

/* It counts without a lock, so that a number might be left for ever; and after a refusal it would not drop its reference to the client. */
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
