/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What other servers of the same back end say of it. Each sees what its own clients wait for, and no more: clients that write into the
 * memory of GlusterFS's bricks wait for nothing, while those of another server wait to read from the same disks.
 *
 *	price service of each peer --push--> price of a read-ahead there, if its bottleneck is the back end --> utilization
 *
 * What a server has heard from its peers it publishes with CANFS_PEER as the bottleneck, which they do not take up: a price that went
 * round between them would stay. (Not the price of a write: that of a peer that drains is its own affair.) While something else is
 * more expensive at a peer, nothing is heard of it.
 *
 * Nothing blocks: a call sends what is due, and takes what has come. The log says of each peer when it is heard, and when it has not been
 * for 10 s, and why.
 */
#ifndef CANFS_SERVER_MONITORS_PEERS_H
#define CANFS_SERVER_MONITORS_PEERS_H

#include <stdint.h>
#include "server/monitors/monitor.h"

struct canfs_peers;

/* Starts asking the peers in setup for the export of that name. The name must stay valid. *peers is NULL if there are none. 0, -ENOMEM. */
int canfs_peers_open(struct canfs_peers **peers, const struct canfs_monitor_setup *setup);
void canfs_peers_close(struct canfs_peers *peers); /* NULL allowed */

/* Asks the peers for that export from now on. The name must stay valid until close() or the next rename. NULL allowed. */
void canfs_peers_rename(struct canfs_peers *peers, const char *name);

/* The largest of what they say, in [0, 1]; 0: nothing, or NULL. To be called each interval; now_usec is CLOCK_MONOTONIC. */
double canfs_peers_utilization(struct canfs_peers *peers, uint64_t now_usec);

#endif
