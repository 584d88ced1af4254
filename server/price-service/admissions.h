/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients may have an export's prices? This table is for servers whose client lists only the
 * NFS server knows. A client is admitted if the NFS server recently answered its request for the
 * export's free space (FSSTAT, GETATTR). Agents send such requests anyway.
 *
 *	address, export --hash--> set | 8 entries, the one that was seen least recently goes |
 *
 * The table has a fixed size. A client that was evicted is admitted again by its next request.
 */
#ifndef CANFS_SERVER_PRICE_SERVICE_ADMISSIONS_H
#define CANFS_SERVER_PRICE_SERVICE_ADMISSIONS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define CANFS_ADMISSION_SETS 4096
#define CANFS_ADMISSION_WAYS 8

/* Four times the longest time between two such requests of an agent that also gets pushes. */
#define CANFS_ADMISSION_USEC UINT64_C(120000000)

struct canfs_admissions;

/*
 * Returns NULL if out of memory. Reserves 1.5 MiB; memory is used only for as many clients as there
 * are.
 */
struct canfs_admissions *canfs_admissions_new(void);
void canfs_admissions_free(struct canfs_admissions *admissions); /* NULL allowed */

/*
 * Admits a client: the server has answered it for this export. Only the IP address is used.
 * privileged: the export requires a source port below 1024. address: IPv4, plain or mapped, or
 * IPv6; other families are ignored. From any thread.
 */
void canfs_admissions_note(struct canfs_admissions *admissions, const struct sockaddr *address,
	const void *export, bool privileged, uint64_t now_usec);

/*
 * Removes all clients of an export. Call this when the export is removed or its client list may
 * have changed. From any thread.
 */
void canfs_admissions_forget(struct canfs_admissions *admissions, const void *export);

/* True if the client is admitted and its source port is acceptable. From any thread. */
bool canfs_admissions_has(struct canfs_admissions *admissions, const struct sockaddr *address,
	const void *export, uint64_t now_usec);

#endif
