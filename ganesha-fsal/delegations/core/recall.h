/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Corrects, once a second, how NFS-Ganesha recalls a delegation:
 *
 * NFS-Ganesha waits for two leases, where one suffices (RFC 8881 §10.4.6). recall_begun is set back
 * by one lease.
 *
 * NFS-Ganesha 4 may mark a delegation (stage == recalled) without sending the recall, for example
 * if the client's lease has just expired. Then nothing can revoke the delegation any more. The mark
 * is undone (stage = granted) if the recall has not begun after two seconds.
 *
 * If a client does not answer one recall within 3 s, NFS-Ganesha marks its back channel as down and
 * grants it no more delegations. The client's own writes may have filled the link. NFSv4.1 sends
 * calls and replies over the same connection, so this mark is undone, too. A client that never
 * answers has its delegations revoked, and Ganesha counts the revocations.
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_RECALL_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_RECALL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Members of the server's own state of a delegation. They are valid as long as that state exists.
 * The pointers identify the state. canfs_server.lock protects recall_begun and stage. The other
 * members have no lock: each is read and written atomically.
 */
struct canfs_server_state {
	time_t *recall_begun;    /* when the server first recalled it, in seconds; 0: not yet */
	time_t *recall_answered; /* likewise for the client's answer; not part of the identity */
	uint32_t *stage;         /* granted, recalled ... */
	bool *channel_down;      /* the client did not answer once; not part of the identity */
	void *client_record;     /* for canfs_server.unheard(); not part of the identity */
	void *state;             /* for canfs_server.lock(); not part of the identity */
};

struct canfs_server {
	time_t lease_sec;
	uint32_t granted, recalled; /* stages */
	/*
	 * Takes the server's lock of a state without blocking, and returns it for unlock(). Returns
	 * NULL if another thread holds it; the next tick retries.
	 */
	void *(*lock)(void *state);
	void (*unlock)(void *locked);
	/*
	 * Called for each recalled delegation whose client has not answered for some seconds. Runs
	 * under a lock: must not block.
	 */
	void (*unheard)(void *client_record);
};

/* State of one delegation; starts zeroed. */
struct canfs_recall_ticks {
	unsigned int recalled, stuck;
	unsigned int leases; /* by which recall_begun was set back */
};

/*
 * is_over: nobody waits for the client any more. is_gone: others wait only a few seconds for it
 * (holders.h).
 */
void canfs_recall_tick(struct canfs_recall_ticks *ticks, const struct canfs_server_state *state,
	const struct canfs_server *server, bool is_over, bool is_gone);

void canfs_note_channel_up(const struct canfs_server_state *state);

#endif
