/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Resolves names in a list of clients to their current addresses. Because the resolver may block
 * for long, only the thread that reads the configuration may call this. No client may wait for that
 * thread. Names that cannot be resolved are left out, with a log message for each.
 */
#ifndef CANFS_SERVER_CLASSES_NAMES_H
#define CANFS_SERVER_CLASSES_NAMES_H

#include "server/classes/classes.h"
#include "server/monitors/monitor.h"

/*
 * After this time no further name is looked up. Reading the configuration takes at most this long,
 * plus one lookup.
 */
#define CANFS_NAMES_USEC 5000000

struct canfs_names {
	canfs_say *say;
	const char *class_name; /* for the messages */
	uint64_t until_usec;
};

/* Starts the time limit. Call this once for each reading of the configuration. */
void canfs_names_begin(struct canfs_names *names, canfs_say *say);

/*
 * arg: a struct canfs_names. Entries of a netgroup without a host are ignored, because they would
 * match every client.
 */
canfs_find_name canfs_names_find;

#endif
