/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The exports of the kernel's NFS server, each with its price table, and which client may have its prices.
 *
 *	kernel's list, etab --refresh--> exports: path, clients, price table <--use-- price service
 *	mountinfo: the device ---'
 *
 * An export's device is that of the mount its path is on, found by name: nothing below the path is accessed. export_path.h resolves the name
 * that a client uses.
 */
#ifndef CANFS_PRICED_EXPORT_LIST_H
#define CANFS_PRICED_EXPORT_LIST_H

#include "server/market/sampler.h"
#include "server/price-service/price_service.h"

/* Those of more paths have no prices. With its history, an export takes about 20 KiB. */
#define CANFS_EXPORTS_MAX 512

struct canfs_export_list_config {
	const char *root; /* put before every path of a file that is read; "" but for tests */
	const char *etab; /* exportfs's list; "": the kernel's only */
	struct canfs_sampler *sampler;
	canfs_say *say;
};

struct canfs_export_list;

/* 0 or -ENOMEM. config and its etab are copied; root and sampler must stay. The list is empty. */
int canfs_export_list_new(
	struct canfs_export_list **list, const struct canfs_export_list_config *config);

/* After the service has stopped, and before the sampler goes. NULL allowed. */
void canfs_export_list_free(struct canfs_export_list *list);

/* The service that is to forget exports that go: before the first refresh, and until the last. */
void canfs_export_list_serve(struct canfs_export_list *list, struct canfs_price_service *service);

/*
 * Reads the lists again. Exports that stay, on the same device, keep their price tables. 1: something has changed; 0;
 * -errno: nothing could be read, or there is no memory, and all is as it was. By one thread only, which may have to
 * wait for a file system (canfs_price_table_open()); nobody else waits for that.
 */
int canfs_export_list_refresh(struct canfs_export_list *list);

/* For the price service, with the list as its host. For one thread only. Reads /proc. Waits for path_resolver.h, but never for a file system. */
canfs_with_export canfs_export_list_use;

#endif
