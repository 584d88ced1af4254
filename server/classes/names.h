/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Names in a list of clients, as addresses: those that they have now. The resolver may take long, so that this is for the thread that
 * reads the configuration, and for none that a client waits for. What is not found is said in a line, and left out.
 */
#ifndef CANFS_SERVER_CLASSES_NAMES_H
#define CANFS_SERVER_CLASSES_NAMES_H

#include "server/classes/classes.h"
#include "server/monitors/monitor.h"

/* After so long nothing more is looked up: it is at most this, and one name more. */
#define CANFS_NAMES_USEC 5000000

struct canfs_names {
	canfs_say *say;
	const char *class_name; /* for the messages */
	uint64_t until_usec;
};

/* For one reading of the configuration: the time runs from now on. */
void canfs_names_begin(struct canfs_names *names, canfs_say *say);

/* arg: a struct canfs_names. Of a netgroup, entries without a host are left out: they would be everybody. */
canfs_find_name canfs_names_find;

#endif
