/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients may have which export's prices, where only the NFS server knows its lists of clients: those to which it has
 * answered for the file system's space there (FSSTAT, GETATTR) lately. An agent asks that anyhow.
 *
 *	address, export --hash--> set | 8 entries, the one that was seen least recently goes |
 *
 * A table of fixed size; one that is forgotten too soon is admitted again with its next question.
 */
#ifndef CANFS_SERVER_PRICE_SERVICE_ADMISSIONS_H
#define CANFS_SERVER_PRICE_SERVICE_ADMISSIONS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define CANFS_ADMISSION_SETS 4096
#define CANFS_ADMISSION_WAYS 8

/* Four times as long as an agent that is told of prices lets pass between two questions. */
#define CANFS_ADMISSION_USEC UINT64_C(120000000)

struct canfs_admissions;

/* NULL: no memory. 1.5 MiB, of which as much is used as there are clients. */
struct canfs_admissions *canfs_admissions_new(void);
void canfs_admissions_free(struct canfs_admissions *admissions); /* NULL allowed */

/*
 * The server has answered this client of an export (its address is all that is used of it). privileged: it demands a port
 * below 1024. address: IPv4, plain or mapped, or IPv6; of another family: nothing. From any thread.
 */
void canfs_admissions_note(struct canfs_admissions *admissions, const struct sockaddr *address,
	const void *export, bool privileged, uint64_t now_usec);

/* The export goes, or its list of clients may be another. From any thread. */
void canfs_admissions_forget(struct canfs_admissions *admissions, const void *export);

/* Is this client, with the port that it asks from, admitted? From any thread. */
bool canfs_admissions_has(struct canfs_admissions *admissions, const struct sockaddr *address,
	const void *export, uint64_t now_usec);

#endif
