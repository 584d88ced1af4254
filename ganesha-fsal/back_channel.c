// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The back channel of an NFSv4.1 session (RFC 8881 §2.10.3.1), over which delegations are asked back. NFS-Ganesha waits three seconds for an
 * answer, and then uses the slot for the next call, with the next sequence number. Linux takes calls that have piled up last first: what comes
 * with a number too high it refuses (NFS4ERR_SEQ_MISORDERED), and so all that comes later, as the numbers only rise. So we go back through
 * the last ones until the client answers; one that it has had already does no harm. The first slot will do: it is used first.
 */
#include "ganesha-fsal/canfs_methods.h"

#include <pthread.h>
#include "sal_data.h"

#define CLIENTS                                                                                    \
	64 /* in a table by their numbers: of two in the same place the later one is looked at anew */
#define STEPS     16 /* back, then from the beginning */
#define REST_USEC 1500000

struct search {
	clientid4 client;
	uint64_t tick_usec; /* the last step */
	sequenceid4 from;
	unsigned int step;
};

/* Of the thread that ticks. */
static struct search searches[CLIENTS];

/* NULL: it has made its step in this tick. */
static struct search *find_search(clientid4 client, sequenceid4 sequence, uint64_t now_usec)
{
	struct search *search = &searches[client % CLIENTS];

	if (search->client != client || now_usec > search->tick_usec + REST_USEC)
		*search = (struct search) { .client = client, .from = sequence };
	else if (search->tick_usec == now_usec)
		return NULL;
	search->tick_usec = now_usec;
	return search;
}

static void step_back(nfs41_session_t *session, clientid4 client, uint64_t now_usec)
{
	nfs41_cb_session_slot_t *slot = &session->bc_slots[0];
	struct search *search;

	if (slot->in_use)
		return;
	search = find_search(client, slot->sequence, now_usec);
	if (!search)
		return;
	search->step = search->step % STEPS + 1;
	/* The next call has one more; and from itself was refused. */
	if (search->from > search->step)
		slot->sequence = search->from - search->step - 1;
}

void canfs_client_is_unheard(void *client_record, uint64_t now_usec)
{
	nfs_client_id_t *client = client_record;
	nfs41_session_t *session;

	/* Another thread that holds one of these locks may wait for a lock of the caller. */
	if (pthread_mutex_trylock(&client->cid_mutex) != 0)
		return;
	session = glist_first_entry(
		&client->cid_cb.v41.cb_session_list, nfs41_session_t, session_link);
	if (session && pthread_mutex_trylock(&session->cb_mutex) == 0) {
		step_back(session, client->cid_clientid, now_usec);
		pthread_mutex_unlock(&session->cb_mutex);
	}
	pthread_mutex_unlock(&client->cid_mutex);
}
