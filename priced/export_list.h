/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The exports of the kernel's NFS server, with their price tables and with the clients that may get
 * their prices.
 *
 *	kernel's list, etab --refresh--> exports: path, clients, price table <--use-- price service
 *	mountinfo: the device ---'
 *
 * An export's device is the device of the mount that its path is on, found by name: nothing below
 * the path is accessed. export_path.h resolves the name that a client uses.
 */
#ifndef CANFS_PRICED_EXPORT_LIST_H
#define CANFS_PRICED_EXPORT_LIST_H

#include "server/market/sampler.h"
#include "server/price-service/price_service.h"

/* Exports of further paths have no prices. An export takes about 20 KiB, including its history. */
#define CANFS_EXPORTS_MAX 512

struct canfs_export_list_config {
	const char *root; /* prefix of every path that is read; "" except in tests */
	const char *etab; /* exportfs's list; "": use only the kernel's */
	struct canfs_sampler *sampler;
	canfs_say *say;
};

struct canfs_export_list;

/*
 * Creates an empty list. Returns 0 or -ENOMEM. config and its etab are copied. root and sampler
 * must outlive the list.
 */
int canfs_export_list_new(
	struct canfs_export_list **list, const struct canfs_export_list_config *config);

/* Call this after the service has stopped and before the sampler is freed. NULL allowed. */
void canfs_export_list_free(struct canfs_export_list *list);

/*
 * Sets the service that is told of removed exports. Call this before the first refresh. The service
 * must stay valid until the last refresh.
 */
void canfs_export_list_serve(struct canfs_export_list *list, struct canfs_price_service *service);

/*
 * Rereads the lists. Exports that remain on the same device keep their price tables. Returns 1 if
 * something changed, 0 if nothing did, or -errno if the lists could not be read or memory is short.
 * On an error, the list is unchanged. Only one thread may call this. It may block on a file system
 * (canfs_price_table_open()), but no other thread waits for it.
 */
int canfs_export_list_refresh(struct canfs_export_list *list);

/*
 * The price service's callback, with the list as its host. Only one thread may call it. Reads
 * /proc. May wait for path_resolver.h, but never for a file system.
 */
canfs_with_export canfs_export_list_use;

#endif
