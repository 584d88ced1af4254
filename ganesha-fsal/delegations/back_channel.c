// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The back channel of an NFSv4.1 session (RFC 8881 §2.10.3.1), over which delegations are recalled.
 *
 * NFS-Ganesha waits three seconds for an answer. Then it uses the slot for the next call, with the
 * next sequence number. Linux processes queued calls last first. It refuses a call whose number is
 * too high (NFS4ERR_SEQ_MISORDERED). It also refuses all later calls, because the numbers only
 * rise.
 *
 * This code searches for the number that the client expects (core/sequence.h). A number that the
 * client has already seen does no harm. Only the first slot is corrected, because NFS-Ganesha uses
 * it first.
 */
#include "ganesha-fsal/delegations/delegations.h"
#include "ganesha-fsal/delegations/core/sequence.h"

#include <pthread.h>
#include <string.h>
#include "sal_data.h"

#define SESSIONS 64 /* indexed by client; of two in one slot, the later one starts anew */

static struct known {
	char session[NFS4_SESSIONID_SIZE];
	struct canfs_sequence sequence;
} table[SESSIONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Call it with the lock held. */
static struct canfs_sequence *find(const nfs41_session_t *session)
{
	struct known *known = &table[session->clientid % SESSIONS];

	if (memcmp(known->session, session->session_id, sizeof(known->session)) != 0) {
		*known = (struct known) { 0 };
		memcpy(known->session, session->session_id, sizeof(known->session));
	}
	return &known->sequence;
}

static void search(struct canfs_sequence *sequence, nfs41_cb_session_slot_t *slot)
{
	if (!slot->in_use)
		slot->sequence = canfs_sequence_search(sequence, slot->sequence);
}

/* The call that is in flight may not be answered yet. */
static void note_answer(struct canfs_sequence *sequence, nfs41_cb_session_slot_t *slot)
{
	canfs_sequence_answered(sequence, slot->sequence - (slot->in_use ? 1 : 0));
}

/* Returns the session that NFS-Ganesha uses, or NULL. Call it with the client's lock held. */
static nfs41_session_t *find_session(nfs_client_id_t *client)
{
	struct glist_head *node;

	glist_for_each(node, &client->cid_cb.v41.cb_session_list)
	{
		nfs41_session_t *session = glist_entry(node, nfs41_session_t, session_link);

		if (atomic_fetch_uint32_t(&session->flags) & session_bc_up)
			return session;
	}
	return NULL;
}

/* Gives up if a lock is held: its holder may wait for a lock of the caller. */
static void at_first_slot(nfs_client_id_t *client,
	void (*note)(struct canfs_sequence *sequence, nfs41_cb_session_slot_t *slot))
{
	nfs41_session_t *session;

	if (pthread_mutex_trylock(&client->cid_mutex) != 0)
		return;
	session = find_session(client);
	if (session && pthread_mutex_trylock(&session->cb_mutex) == 0) {
		pthread_mutex_lock(&lock);
		note(find(session), &session->bc_slots[0]);
		pthread_mutex_unlock(&lock);
		pthread_mutex_unlock(&session->cb_mutex);
	}
	pthread_mutex_unlock(&client->cid_mutex);
}

void canfs_client_is_unheard(void *client_record)
{
	at_first_slot(client_record, search);
}

void canfs_client_has_answered(void *client_record)
{
	at_first_slot(client_record, note_answer);
}
