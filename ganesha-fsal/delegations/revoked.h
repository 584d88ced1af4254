/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Delegations that were taken away from clients that did not answer, as one whose machine sleeps.
 *
 * A client may have closed the file, and not have sent all. When it goes on, it must tell its user that this is lost (RFC 8881 §10.5.1).
 * Linux opens the file anew and sends it, over what others have written since. So the first open of a file that has changed is refused, and
 * until then each WRITE without an open, as Linux sends between the loss of the delegation and that open.
 *
 * The last ones are remembered, CANFS_REVOKED_SLOTS at most. From any thread.
 */
#ifndef CANFS_GANESHA_FSAL_REVOKED_H
#define CANFS_GANESHA_FSAL_REVOKED_H

#include <stdbool.h>
#include <stdint.h>

#define CANFS_REVOKED_SLOTS 4096 /* in 128 KiB; of two files in the same one the later counts */

struct canfs_revoked;

/* NULL: no memory. */
struct canfs_revoked *canfs_revoked_new(void);
void canfs_revoked_free(struct canfs_revoked *revoked); /* NULL allowed */

bool canfs_revoked_any(const struct canfs_revoked *revoked); /* one load */

/* address: where the client asks from, by any name; after a lease it has another number. version: of the file, as it is now. */
void canfs_revoked_add(
	struct canfs_revoked *revoked, uint64_t file, const void *address, uint64_t version);

/* Did this client lose the delegation? Sets the version that the file had then. take() forgets it. */
bool canfs_revoked_find(
	struct canfs_revoked *revoked, uint64_t file, const void *address, uint64_t *version);
bool canfs_revoked_take(
	struct canfs_revoked *revoked, uint64_t file, const void *address, uint64_t *version);

#endif
