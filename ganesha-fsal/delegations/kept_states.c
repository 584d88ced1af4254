// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * NFS-Ganesha 4 crashes in dec_nfs4_state_ref(), which has no export, if two things coincide. The
 * reply to CB_RECALL arrives just as the delegation is returned, and the callback drops the last
 * reference to the state. NFS-Ganesha 4 also crashes if FREE_STATEID arrives beside the CLOSE that
 * ends the locks. This code therefore holds a reference to such states for one more second. Later
 * releases need no export there.
 */
#include "ganesha-fsal/delegations/delegations.h"

#include "common/clock.h"

#if COMPAT_FREE_STATE
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>
#include "sal_data.h"
#include "sal_functions.h"

#define KEEP_USEC 1000000

struct kept {
	struct state_t *state;
	struct gsh_export *gsh_export; /* a reference */
	uint64_t until_usec;
	STAILQ_ENTRY(kept) link;
};

static STAILQ_HEAD(, kept) all = STAILQ_HEAD_INITIALIZER(all);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void canfs_keep_state(struct state_t *state)
{
	struct kept *kept;

	/* A delegation that was not recalled gets no callback. */
	if (state->state_type == STATE_TYPE_DELEG &&
		state->state_data.deleg.sd_clfile_stats.cfd_r_time == 0)
		return;
	/* A call without a client's request may mean that the export is ending. */
	if (op_ctx->req_type == UNKNOWN_REQUEST)
		return;
	kept = malloc(sizeof(*kept));
	if (!kept)
		return;
	*kept = (struct kept) { .state = state,
		.gsh_export = op_ctx->ctx_export,
		.until_usec = canfs_now_usec() + KEEP_USEC };
	inc_state_t_ref(state);
	get_gsh_export_ref(kept->gsh_export);
	pthread_mutex_lock(&lock);
	STAILQ_INSERT_TAIL(&all, kept, link);
	pthread_mutex_unlock(&lock);
}

/* Returns NULL if no state is due. */
static struct kept *take(uint64_t now_usec)
{
	struct kept *kept;

	pthread_mutex_lock(&lock);
	kept = STAILQ_FIRST(&all);
	if (kept && kept->until_usec > now_usec)
		kept = NULL;
	if (kept)
		STAILQ_REMOVE_HEAD(&all, link);
	pthread_mutex_unlock(&lock);
	return kept;
}

/* Does the same as dec_nfs4_state_ref(), which a plugin cannot call. */
static void let_go(struct kept *kept)
{
	struct state_t *state = kept->state;
	struct req_op_context context;

	compat_init_op_context(
		&context, kept->gsh_export, kept->gsh_export->fsal_export, NULL, 0, 0);
	if (atomic_dec_int32_t(&state->state_refcount) == 0) {
		PTHREAD_MUTEX_destroy(&state->state_mutex);
		op_ctx->fsal_export->exp_ops.free_state(op_ctx->fsal_export, state);
	}
	release_op_context(); /* also drops the reference to the export */
	free(kept);
}

void canfs_let_states_go(uint64_t now_usec)
{
	struct kept *kept;

	while ((kept = take(now_usec)))
		let_go(kept);
}
#else
void canfs_keep_state(struct state_t *state)
{
	(void)state;
}

void canfs_let_states_go(uint64_t now_usec)
{
	(void)now_usec;
}
#endif
