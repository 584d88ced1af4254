/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Internals of the list, shared by export_list.c (which builds it) and export_lookup.c (which
 * searches it).
 */
#ifndef CANFS_PRICED_EXPORT_LIST_INTERNAL_H
#define CANFS_PRICED_EXPORT_LIST_INTERNAL_H

#include <pthread.h>
#include <sys/queue.h>
#include "priced/export_list.h"
#include "priced/path_resolver.h"

/*
 * The part of a file beyond this size is ignored. Buffer pages that are never written use no
 * memory.
 */
#define CANFS_EXPORT_TEXT_MAX (1 << 20)

struct client {
	SLIST_ENTRY(client) link;
	bool insecure;
	char name[];
};

struct exported {
	LIST_ENTRY(exported) link;
	char *path;
	bool is_root; /* the root of NFSv4 */
	dev_t device; /* 0: not on a disk of this machine */
	struct canfs_price_table *prices;
	SLIST_HEAD(, client) clients;
};

LIST_HEAD(exports, exported);

/* The files that the list is built from. Empty: missing. */
enum text { KERNEL, ETAB, MOUNTINFO, TEXTS };

struct canfs_export_list {
	struct canfs_export_list_config config; /* without its etab */
	char *etab;
	char *text[TEXTS],
		*last_text[TEXTS]; /* as read now, and at the last change; used by refresh() */
	bool too_many;             /* too many paths: logged; used by refresh() */
	struct canfs_price_service *service; /* told of removed exports; NULL: none */

	struct canfs_path_resolver *resolver; /* NULL: names are taken literally */

	char *domains;         /* the kernel's auth.unix.ip; used by use(), like the next two */
	uint64_t domains_usec; /* when it was read; 0: never */
	unsigned int lookups;  /* since then */

	pthread_mutex_t
		mutex; /* protects the members below; locked before the mutexes of market and service */
	struct exports exports;
	bool has_names; /* some clients are names */
};

#endif
