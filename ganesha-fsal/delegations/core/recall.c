// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/core/recall.h"

#define STUCK_TICKS   2
#define UNHEARD_TICKS 4
#define GONE_TICKS    5 /* a reachable client has answered or written by then */

void canfs_note_channel_up(const struct canfs_server_state *state)
{
	__atomic_store_n(state->channel_down, false, __ATOMIC_RELAXED);
}

static bool was_answered(const struct canfs_server_state *state)
{
	return __atomic_load_n(state->recall_answered, __ATOMIC_RELAXED) != 0;
}

/* Call it with the server's lock held. */
static void tick_begun(struct canfs_recall_ticks *ticks, const struct canfs_server_state *state,
	const struct canfs_server *server, unsigned int leases)
{
	for (; ticks->leases < leases; ticks->leases++)
		*state->recall_begun -= server->lease_sec;
	ticks->recalled++;
	ticks->stuck = 0;
	if (ticks->recalled >= UNHEARD_TICKS && !was_answered(state))
		server->unheard(state->client_record);
}

static void tick_stuck(struct canfs_recall_ticks *ticks, const struct canfs_server_state *state,
	const struct canfs_server *server)
{
	ticks->stuck++;
	if (ticks->stuck < STUCK_TICKS)
		return;
	__atomic_store_n(state->stage, server->granted, __ATOMIC_RELAXED);
	ticks->stuck = 0;
}

/* Returns the locked state, or NULL. Only recalled delegations need the lock. */
static void *lock(const struct canfs_server_state *state, const struct canfs_server *server)
{
	return __atomic_load_n(state->stage, __ATOMIC_RELAXED) == server->recalled
		       ? server->lock(state->state)
		       : NULL;
}

void canfs_recall_tick(struct canfs_recall_ticks *ticks, const struct canfs_server_state *state,
	const struct canfs_server *server, bool is_over, bool is_gone)
{
	bool is_last = is_over || (is_gone && ticks->recalled + 1 >= GONE_TICKS);
	void *locked = lock(state, server);

	if (locked && *state->recall_begun != 0)
		tick_begun(ticks, state, server, is_last ? 2 : 1);
	else if (locked && *state->stage == server->recalled)
		tick_stuck(ticks, state, server);
	else if (locked)
		ticks->stuck = 0;
	if (locked)
		server->unlock(locked);
	canfs_note_channel_up(state);
}
