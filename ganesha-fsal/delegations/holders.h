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

#define CANFS_HOLDERS_MAX 65536 /* delegations, about 6 MiB */

/* A client, as far as a request tells. */
struct canfs_nfs_client {
	uint64_t id;         /* of NFSv4; 0: not known, or of another version */
	const void *address; /* where it asks from, by any name; NULL: it is the server itself */
};

struct canfs_holders;

/* NULL: no memory. */
struct canfs_holders *canfs_holders_new(void);
void canfs_holders_free(struct canfs_holders *holders); /* NULL allowed */

/*
 * 0; -ENOSPC: there are too many; -ENOMEM; -EBUSY: it conflicts with another client's. recall_begun: where the server notes when it
 * has first asked for it back, 0 until then, in seconds; valid until it is removed. It waits for two leases from then on, where one will
 * do (RFC 8881 §10.4.6): canfs_holders_conflict() sets it back by one.
 */
int canfs_holders_add(struct canfs_holders *holders, uint64_t file, struct canfs_nfs_client client,
	bool writes, time_t *recall_begun);

/* One of them is returned, or taken away. False: it had none. */
bool canfs_holders_remove(struct canfs_holders *holders, uint64_t file, uint64_t client_id);

size_t canfs_holders_count(const struct canfs_holders *holders);

struct canfs_recall {
	uint64_t now_usec; /* of a clock that does not run backwards */
	time_t now_sec;    /* of time(2), as recall_begun */
	time_t lease_sec;
	bool is_due; /* out: nobody has asked for it back for a second */
};

/* Has another client than this one a delegation that its operation conflicts with? */
bool canfs_holders_conflict(struct canfs_holders *holders, uint64_t file,
	struct canfs_nfs_client client, bool writes, struct canfs_recall *recall);

#endif
