/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a server does with a delegation that it has asked back, looked at once a second.
 *
 * It waits for two leases, where one will do (RFC 8881 §10.4.6): recall_begun is set back by one. And NFS-Ganesha 4 may mark one
 * (stage == recalled) without asking, as of a client whose lease is just over: then nobody can take it away any more. That is undone
 * (stage = granted) if it has not begun after two seconds. A client that did not answer one recall within 3 s, as over a link that its own
 * writes fill, it takes for one that never will, and gives it none any more; but NFSv4.1 asks and answers over the same connection. That is
 * undone, too. Who really never answers has its delegations revoked, and Ganesha counts that.
 */
#ifndef CANFS_GANESHA_FSAL_RECALL_H
#define CANFS_GANESHA_FSAL_RECALL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Of the server's own state of a delegation; as long as that is there. The pointers are its name. The server has a lock of begun and stage
 * (canfs_server.lock); of the others it has none: each is read and written at once.
 */
struct canfs_server_state {
	time_t *recall_begun; /* when the server first asked for it back, 0: not yet; in seconds */
	time_t *recall_answered; /* when the client said that it had heard that; likewise; not of the name */
	uint32_t *stage;     /* what it is about */
	bool *channel_down;  /* its client did not answer once; not of the name */
	void *client_record; /* for canfs_server.unheard(); not of the name */
	void *state;         /* for canfs_server.lock(); not of the name */
};

struct canfs_server {
	time_t lease_sec;
	uint32_t granted, recalled; /* stages */
	/* What the server holds while it changes a state, for unlock(); it may not wait. NULL: another thread has it, and the next tick is soon enough. */
	void *(*lock)(void *state);
	void (*unlock)(void *locked);
	/* Of each delegation that is asked back and whose client has not answered that for some seconds; with a lock: it may not wait. */
	void (*unheard)(void *client_record);
};

/* Of one delegation; begins as 0. */
struct canfs_recall_ticks {
	unsigned int recalled, stuck;
	unsigned int leases; /* by which it was set back */
};

/* is_over: its client is not waited for any more; is_gone: but for a few seconds (holders.h). */
void canfs_recall_tick(struct canfs_recall_ticks *ticks, const struct canfs_server_state *state,
	const struct canfs_server *server, bool is_over, bool is_gone);

void canfs_note_channel_up(const struct canfs_server_state *state);

#endif
