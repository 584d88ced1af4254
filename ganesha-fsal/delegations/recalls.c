// SPDX-License-Identifier: LGPL-3.0-or-later
/* Recalls delegations in Ganesha. Reads Ganesha's state of the recall, and takes its lock. */
#include "ganesha-fsal/delegations/delegations.h"

#include <pthread.h>
#include "fridgethr.h"
#include "fsal_up.h"
#include "gsh_config.h"
#include "sal_data.h"
#include "sal_functions.h"

static void release_export(void *gsh_export, state_status_t status)
{
	(void)status;
	put_gsh_export((struct gsh_export *)gsh_export);
}

/*
 * The recall waits for a thread, and the export may be removed meanwhile, so it holds a reference.
 * Until the reference is taken, the holder's state keeps the export.
 */
void canfs_ask_back(const void *up_ops, const void *key, size_t key_bytes)
{
	struct gsh_buffdesc desc = { .addr = (void *)(uintptr_t)key, .len = key_bytes };
	struct gsh_export *gsh_export = ((const struct fsal_up_vector *)up_ops)->up_gsh_export;

	get_gsh_export_ref(gsh_export);
	if (FSAL_IS_ERROR(up_async_delegrecall(
		    general_fridge, up_ops, &desc, release_export, gsh_export))) {
		LogCrit(COMPONENT_FSAL, "CANFS: a delegation could not be recalled");
		put_gsh_export(gsh_export); /* not the last reference: the caller sees the state */
	}
}

/* The server counts two leases, and core/recall.c has set the start back by one. */
bool canfs_recall_is_overdue(const struct state_t *state)
{
	time_t begun = state->state_data.deleg.sd_clfile_stats.cfd_r_time;

	return begun != 0 && time(NULL) - begun >= 2 * (time_t)nfs_param.nfsv4_param.lease_lifetime;
}

/* If the answer is recent, this recall may be the last call of the back channel. */
bool canfs_recall_was_answered(const struct state_t *state)
{
	return time(NULL) - state->state_data.deleg.sd_clfile_stats.cfd_rs_time <= 1;
}

/*
 * Tries to take the lock of all states of the file. Must not block: the owner of that lock may wait
 * for a lock of the caller. The caller's lock keeps the state, and thereby the file, until the
 * caller is done.
 */
void *canfs_lock_state(void *arg)
{
	struct state_t *state = arg;
	struct fsal_obj_handle *object;

	if (pthread_mutex_trylock(&state->state_mutex) != 0)
		return NULL;
	object = state->state_obj;
	if (object && pthread_mutex_trylock(&object->state_hdl->st_lock) == 0)
		object->state_hdl->no_cleanup = true; /* like STATELOCK_lock() */
	else
		object = NULL;
	pthread_mutex_unlock(&state->state_mutex);
	return object;
}

void canfs_unlock_state(void *locked)
{
	struct fsal_obj_handle *object = locked;

	STATELOCK_unlock(object);
}
