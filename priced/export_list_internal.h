/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The inside of the list: for export_list.c, which makes it, and export_lookup.c, which finds an export in it. */
#ifndef CANFS_PRICED_EXPORT_LIST_INTERNAL_H
#define CANFS_PRICED_EXPORT_LIST_INTERNAL_H

#include <pthread.h>
#include <sys/queue.h>
#include "priced/export_list.h"
#include "priced/path_resolver.h"

/* What does not fit of a file is left out. Pages of the buffers that nothing is written to take no memory. */
#define CANFS_EXPORT_TEXT_MAX (1 << 20)

struct client {
	SLIST_ENTRY(client) link;
	bool insecure;
	char name[];
};

struct exported {
	LIST_ENTRY(exported) link;
	char *path;
	bool is_root; /* NFSv4 begins there */
	dev_t device; /* 0: none of this machine's disks */
	struct canfs_price_table *prices;
	SLIST_HEAD(, client) clients;
};

LIST_HEAD(exports, exported);

/* The files that make the list. Empty: not there. */
enum text { KERNEL, ETAB, MOUNTINFO, TEXTS };

struct canfs_export_list {
	struct canfs_export_list_config config; /* but for its etab */
	char *etab;
	char *text[TEXTS],
		*last_text[TEXTS];           /* as read now, and at the last change; of refresh() */
	bool too_many;                       /* was said; likewise */
	struct canfs_price_service *service; /* NULL: none is told of exports that go */

	struct canfs_path_resolver *resolver; /* NULL: names mean what they say */

	char *domains;         /* the kernel's auth.unix.ip; of use(), as the next two */
	uint64_t domains_usec; /* when it was read; 0: never */
	unsigned int lookups;  /* in it, since */

	pthread_mutex_t
		mutex; /* of what follows; the market's and the service's are taken within it */
	struct exports exports;
	bool has_names; /* among their clients */
};

#endif
