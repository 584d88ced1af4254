/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients hold delegations of which files (RFC 8881 §10.4), and which operations conflict
 * with them.
 *
 * NFS-Ganesha searches for conflicts itself, but not for NFSv3 requests and not for cached
 * attributes. It also takes two clients behind one address for the same client. All functions may
 * be called from any thread. While there is no delegation, a check costs one load.
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_HOLDERS_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ganesha-fsal/delegations/core/recall.h"

#define CANFS_HOLDERS_MAX     65536 /* delegations, in 20 MiB */
#define CANFS_HOLDERS_KEY_MAX 128

/* A client, as far as a request identifies it. */
struct canfs_nfs_client {
	uint64_t id;         /* of NFSv4.1; 0: unknown; CANFS_NO_HOLDER: cannot hold a delegation */
	const void *address; /* identifies the address that it asks from */
};
#define CANFS_NO_HOLDER UINT64_MAX

struct canfs_delegation {
	uint64_t file, parent; /* IDs of the file and its directory; parent 0: unknown */
	struct canfs_nfs_client client;
	bool writes;
	bool is_opened;         /* another client has a conflicting open */
	const void *recall_arg; /* for canfs_recall.ask(), with the key */
	const void *key;        /* copied */
	size_t key_bytes;
	struct canfs_server_state server;
	uint64_t now_usec;
};

struct canfs_holders;

/* NULL: no memory. */
struct canfs_holders *canfs_holders_new(void);
void canfs_holders_free(struct canfs_holders *holders); /* NULL allowed */

/*
 * Returns 0 or
 *
 *	-ENOSPC  too many delegations
 *	-ENOMEM
 *	-EINVAL  the key is too long
 *	-EBUSY   the client already has a delegation of the file; the file settles (below), is being
 *	         changed, or its directory is being listed; or another client's delegation or open
 *	         conflicts, or did in the last 30 s
 */
int canfs_holders_add(struct canfs_holders *holders, const struct canfs_delegation *delegation);

struct canfs_returned {
	struct canfs_nfs_client whose;
	bool was_overtaken;
};

/*
 * The delegation is returned or revoked. Returns false if there was none.
 *
 * A client may send its WRITEs and return the delegation without waiting for the replies. Linux
 * does so on a recall. The server may process these WRITEs after the return. When the last holder
 * has returned a write delegation, the file therefore settles. For 0.1 s, it conflicts as before.
 * It conflicts with looks and reads until no change of the file is in progress, 5 s at most. A
 * WRITE that was refused and not resent yet (below) also keeps the file settling, for 5 s at most.
 * Writers wait for that, too.
 */
bool canfs_holders_remove(struct canfs_holders *holders, uint64_t file,
	struct canfs_server_state server, uint64_t now_usec, struct canfs_returned *returned);
bool canfs_holders_settles(struct canfs_holders *holders, uint64_t file, uint64_t now_usec);

/*
 * A WRITE that the server begins after the return names a delegation that no longer exists. The
 * server refuses it before the FSAL sees it, and the client resends it with the stateid of its
 * open. So if the holder, or the last one, names the file in a request with a WRITE, the request
 * counts as missing until it reaches the FSAL. If the request never does, it counts until the
 * arrival of a WRITE that was named after the return. If a WRITE was refused for another reason
 * less than 1 s before the return, others also wait up to 5 s.
 *
 *	PUTFH: named() --+-- an operation of the FSAL: arrived() --- a WRITE, if CANFS_NAMED_AFTER: at its end arrived() once more
 *	                 +-- refused: still missing
 */
enum canfs_named {
	CANFS_NOT_COUNTED,
	CANFS_NAMED_BEFORE, /* before the delegation was returned */
	CANFS_NAMED_AFTER
};

enum canfs_named canfs_holders_named(struct canfs_holders *holders, uint64_t file,
	struct canfs_nfs_client client, uint64_t now_usec);
void canfs_holders_arrived(struct canfs_holders *holders, uint64_t file);

/*
 * The client lost a delegation because it did not answer for a lease. Until the client sends an
 * operation, others wait for it only 5 s instead of a lease. This is needed because NFS-Ganesha
 * renews a client's lease when it sends the client a recall. Others would otherwise wait for a
 * lease at each file.
 */
void canfs_holders_gone(struct canfs_holders *holders, struct canfs_nfs_client client);

/* Includes files that settle. */
size_t canfs_holders_count(const struct canfs_holders *holders);

struct canfs_holders_counters {
	uint64_t held; /* now, including files that settle */
	uint64_t granted, refused, recalled;
};

struct canfs_holders_counters canfs_holders_counters(const struct canfs_holders *holders);

enum canfs_access {
	CANFS_LOOKS, /* reads attributes */
	CANFS_READS,
	CANFS_WRITES
};

struct canfs_recall {
	uint64_t now_usec; /* of a monotonic clock */
	/*
	 * Called for each file whose delegations must be recalled, at most once a second per file.
	 * Runs under a lock: must not block.
	 */
	void (*ask)(const void *recall_arg, const void *key, size_t key_bytes);
};

/*
 * Returns true if another client holds a delegation that the operation conflicts with, and recalls
 * that delegation. If clients look at one file of a directory after the other, as a listing does,
 * all write delegations in that directory are recalled.
 */
bool canfs_holders_conflict(struct canfs_holders *holders, uint64_t file,
	struct canfs_nfs_client client, enum canfs_access access,
	const struct canfs_recall *recall);

/*
 * A process of this machine truncates the file and no longer waits for its holders. WRITEs of the
 * holders are refused until all delegations of the file are revoked, at the next tick. Their unsent
 * data would have been truncated anyway. Returns false and does nothing if a change of the file is
 * in progress.
 */
bool canfs_holders_overtake(struct canfs_holders *holders, uint64_t file);

/*
 * Bracket a change of the file. Call begin before canfs_holders_conflict(). No delegation is
 * granted in between, because its holder would not see the change.
 */
void canfs_holders_begin_change(struct canfs_holders *holders, uint64_t file);
void canfs_holders_end_change(struct canfs_holders *holders, uint64_t file);

/*
 * Call this once a second. Forgets files that have settled, and calls canfs_recall_tick() for each
 * delegation.
 */
void canfs_holders_tick(
	struct canfs_holders *holders, uint64_t now_usec, const struct canfs_server *server);

#endif
