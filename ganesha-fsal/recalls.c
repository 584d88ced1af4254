// SPDX-License-Identifier: LGPL-3.0-or-later
/* Recalls of delegations in Ganesha: the call, and Ganesha's state of the recall, under its lock. */
#include "ganesha-fsal/canfs_methods.h"

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

/* The call waits for a thread, and the export may be removed meanwhile. Up to here the holder's state, which the caller sees, keeps the export. */
void canfs_ask_back(const void *up_ops, const void *key, size_t key_bytes)
{
	struct gsh_buffdesc desc = { .addr = (void *)(uintptr_t)key, .len = key_bytes };
	struct gsh_export *gsh_export = ((const struct fsal_up_vector *)up_ops)->up_gsh_export;

	get_gsh_export_ref(gsh_export);
	if (FSAL_IS_ERROR(up_async_delegrecall(
		    general_fridge, up_ops, &desc, release_export, gsh_export))) {
		LogCrit(COMPONENT_FSAL, "CANFS: the delegation of a file could not be recalled");
		put_gsh_export(gsh_export); /* not the last reference: the caller sees the state */
	}
}

/* The server's view: it counts two leases, and holders.c has set the start back by one. */
bool canfs_recall_is_overdue(const struct state_t *state)
{
	time_t begun = state->state_data.deleg.sd_clfile_stats.cfd_r_time;

	return begun != 0 && time(NULL) - begun >= 2 * (time_t)nfs_param.nfsv4_param.lease_lifetime;
}

/* The last call of the back channel may be this recall. */
bool canfs_recall_was_answered(const struct state_t *state)
{
	return time(NULL) - state->state_data.deleg.sd_clfile_stats.cfd_rs_time <= 1;
}

/*
 * Tries the lock of all states of the file. Must not wait for it: its owner may wait for a lock of the caller. That lock of the caller keeps
 * the state, and so the file, until the caller is done.
 */
void *canfs_lock_state(void *arg)
{
	struct state_t *state = arg;
	struct fsal_obj_handle *object;

	if (pthread_mutex_trylock(&state->state_mutex) != 0)
		return NULL;
	object = state->state_obj;
	if (object && pthread_mutex_trylock(&object->state_hdl->st_lock) == 0)
		object->state_hdl->no_cleanup = true; /* as STATELOCK_lock() */
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
