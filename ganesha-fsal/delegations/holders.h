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
#include <time.h>

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
	const void *key; /* by which it is recalled; copied */
	size_t key_bytes;
	/*
	 * Where the server notes when it has first asked for it back, 0 until then, in seconds; valid until it is removed. The server
	 * waits for two leases from then on, where one will do (RFC 8881 §10.4.6): a conflict sets it back by one.
	 */
	time_t *recall_begun;
};

struct canfs_holders;

/* NULL: no memory. */
struct canfs_holders *canfs_holders_new(void);
void canfs_holders_free(struct canfs_holders *holders); /* NULL allowed */

/* 0; -ENOSPC: there are too many; -ENOMEM; -EINVAL: the key is too long; -EBUSY: it conflicts with another client's. */
int canfs_holders_add(struct canfs_holders *holders, const struct canfs_delegation *delegation);

/* One of them is returned, or taken away. False: it had none. */
bool canfs_holders_remove(struct canfs_holders *holders, uint64_t file, uint64_t client_id);

size_t canfs_holders_count(const struct canfs_holders *holders);

enum canfs_access {
	CANFS_LOOKS, /* at attributes */
	CANFS_READS,
	CANFS_WRITES
};

struct canfs_recall {
	uint64_t now_usec; /* of a clock that does not run backwards */
	time_t now_sec;    /* of time(2), as recall_begun */
	time_t lease_sec;
	/* Of each file of which delegations shall be asked back, once a second at most; with a lock: it may not wait. */
	void (*ask)(void *arg, const void *key, size_t key_bytes);
	void *arg;
};

/*
 * Has another client than this one a delegation that its operation conflicts with? Then it is asked back; and if somebody looks at one
 * file of a directory after the other, as who lists it does, all of that directory are.
 */
bool canfs_holders_conflict(struct canfs_holders *holders, uint64_t file,
	struct canfs_nfs_client client, enum canfs_access access,
	const struct canfs_recall *recall);

#endif
