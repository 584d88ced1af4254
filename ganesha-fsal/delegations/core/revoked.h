/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Write delegations that were revoked because their clients did not answer, for example during
 * suspend.
 *
 * Such a client may have closed the file before it sent all data. When the client resumes, it must
 * tell its user that the data is lost (RFC 8881 §10.5.1). Instead, Linux reopens the file and sends
 * the data, over what others have written since. The first open of a file that has changed is
 * therefore refused. Until that open, each WRITE without an open is refused as well: Linux sends
 * such WRITEs between the loss of the delegation and that open.
 *
 * The last CANFS_REVOKED_SLOTS revocations are remembered. From any thread.
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_REVOKED_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_REVOKED_H

#include <stdbool.h>
#include <stdint.h>

#define CANFS_REVOKED_SLOTS 4096 /* in 96 KiB; of two files in one slot, the later one counts */

struct canfs_revoked;

/* NULL: no memory. */
struct canfs_revoked *canfs_revoked_new(void);
void canfs_revoked_free(struct canfs_revoked *revoked); /* NULL allowed */

bool canfs_revoked_any(const struct canfs_revoked *revoked); /* one load */

/*
 * address: identifies the client's address, because the client ID changes after a lease. version:
 * of the file now.
 */
void canfs_revoked_add(
	struct canfs_revoked *revoked, uint64_t file, const void *address, uint64_t version);

/*
 * Returns true if this client lost the delegation, and sets the version that the file had then.
 * take() also forgets the revocation.
 */
bool canfs_revoked_find(
	struct canfs_revoked *revoked, uint64_t file, const void *address, uint64_t *version);
bool canfs_revoked_take(
	struct canfs_revoked *revoked, uint64_t file, const void *address, uint64_t *version);

#endif
