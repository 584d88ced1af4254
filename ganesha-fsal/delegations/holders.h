/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients have delegations of which files (RFC 8881 §10.4), and whose operations these conflict with.
 *
 * NFS-Ganesha looks for that itself, but where a request is of NFSv3, or for attributes that are cached, it does not; and it takes two
 * clients behind one address for the same. From any thread. While there is no delegation, a look costs one load.
 */
#ifndef CANFS_GANESHA_FSAL_HOLDERS_H
#define CANFS_GANESHA_FSAL_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ganesha-fsal/delegations/recall.h"

#define CANFS_HOLDERS_MAX     65536 /* delegations, in 20 MiB */
#define CANFS_HOLDERS_KEY_MAX 128

/* A client, as far as a request tells. */
struct canfs_nfs_client {
	uint64_t
		id; /* of NFSv4.1; 0: not known; CANFS_NO_HOLDER: none that can have a delegation */
	const void *address; /* where it asks from, by any name */
};
#define CANFS_NO_HOLDER UINT64_MAX

struct canfs_delegation {
	uint64_t file, parent; /* numbers of the file and its directory; parent 0: not known */
	struct canfs_nfs_client client;
	bool writes;
	bool is_opened;         /* another client has a conflicting open */
	const void *recall_arg; /* with the key, for canfs_recall.ask() */
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
 * 0; -ENOSPC: too many delegations; -ENOMEM; -EINVAL: the key is too long; -EBUSY: the client already has one of that file, it conflicts
 * with another client's delegation or open, there was such a conflict in the last 30 s, the file is being changed, or its directory is being
 * listed.
 */
int canfs_holders_add(struct canfs_holders *holders, const struct canfs_delegation *delegation);

struct canfs_returned {
	struct canfs_nfs_client whose;
	bool was_overtaken;
};

/*
 * The delegation is returned or revoked. False: it was not there.
 *
 * A client may send its WRITEs, and return the delegation without waiting for their replies, as Linux does when asked back: the server may
 * come to them later, or be at them still. So the file then settles: it conflicts as before, for 0.1 s, and for who looks or reads until
 * no change of it is under way, 5 s at most. A WRITE that was refused and has not been sent again (below) keeps it from settling as well: for 5 s
 * at most, and for writers too.
 */
bool canfs_holders_remove(struct canfs_holders *holders, uint64_t file,
	struct canfs_server_state server, uint64_t now_usec, struct canfs_returned *returned);
bool canfs_holders_settles(struct canfs_holders *holders, uint64_t file, uint64_t now_usec);

/*
 * A WRITE that the server begins after the return names a delegation that no longer exists. The server refuses it before the FSAL sees it,
 * and the client resends it with the stateid of its open. So if the holder, or the last one, names the file in a request with a WRITE, the
 * request counts as missing until it reaches the FSAL. If it never does, it counts until a WRITE arrives that was named after the return.
 * (A WRITE that was refused for another reason less than 1 s before the return makes others wait for 5 s, too.)
 *
 *	PUTFH: named() --+-- an operation of the FSAL: arrived() --- a WRITE, if CANFS_NAMED_AFTER: at its end arrived() once more
 *	                 +-- refused: still missing
 */
enum canfs_named {
	CANFS_NOT_COUNTED,
	CANFS_NAMED_BEFORE, /* the delegation was returned */
	CANFS_NAMED_AFTER
};

enum canfs_named canfs_holders_named(struct canfs_holders *holders, uint64_t file,
	struct canfs_nfs_client client, uint64_t now_usec);
void canfs_holders_arrived(struct canfs_holders *holders, uint64_t file);

/*
 * It has lost one since it did not answer for a lease. Until an operation of it is seen, it is not waited for so long again, but 5 s: a
 * server that asks a client for something takes that for a sign of life (NFS-Ganesha renews its lease), and would wait for a lease with each
 * file.
 */
void canfs_holders_gone(struct canfs_holders *holders, struct canfs_nfs_client client);

/* With those that settle. */
size_t canfs_holders_count(const struct canfs_holders *holders);

struct canfs_holders_counters {
	uint64_t held; /* now, with those that settle */
	uint64_t granted, refused, recalled;
};

struct canfs_holders_counters canfs_holders_counters(const struct canfs_holders *holders);

enum canfs_access {
	CANFS_LOOKS, /* at attributes */
	CANFS_READS,
	CANFS_WRITES
};

struct canfs_recall {
	uint64_t now_usec; /* of a clock that does not run backwards */
	/* Of each file of which delegations shall be asked back, once a second at most; with a lock: it may not wait. */
	void (*ask)(const void *recall_arg, const void *key, size_t key_bytes);
};

/*
 * Has another client than this one a delegation that its operation conflicts with? Then it is asked back; and if somebody looks at one
 * file of a directory after the other, as who lists it does, all of that directory are.
 */
bool canfs_holders_conflict(struct canfs_holders *holders, uint64_t file,
	struct canfs_nfs_client client, enum canfs_access access,
	const struct canfs_recall *recall);

/*
 * A process of this machine truncates the file and no longer waits for its holders. WRITEs of the holders are refused until all delegations
 * of the file are revoked, at the next tick. Their unsent data would have been truncated anyway. False: a change of the file is in progress,
 * and nothing was done.
 */
bool canfs_holders_overtake(struct canfs_holders *holders, uint64_t file);

/* Between these, about an operation that was found not to conflict, none is granted: the client would not see what it changes. */
void canfs_holders_begin_change(struct canfs_holders *holders, uint64_t file);
void canfs_holders_end_change(struct canfs_holders *holders, uint64_t file);

/* Once a second: forgets files that have settled, and runs recall.h for delegations that the server has recalled. */
void canfs_holders_tick(
	struct canfs_holders *holders, uint64_t now_usec, const struct canfs_server *server);

#endif
