/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What other servers of the same back end say of it. Each sees what its own clients wait for, and no more: clients that write into the
 * memory of GlusterFS's bricks wait for nothing, while those of another server wait to read from the same disks.
 *
 *	price service of each peer --push--> price of a read-ahead there, if its bottleneck is the back end
 *	                                     --> utilization * CANFS_PEER_FADE
 *
 * What a peer says has in it what it has heard here. Each time round it fades, so that it is gone within some two seconds of the
 * last request that waited. (Not the price of a write: that of a peer that drains is its own affair.)
 *
 * Nothing blocks: a call sends what is due, and takes what has come.
 */
#ifndef CANFS_SERVER_MONITORS_PEERS_H
#define CANFS_SERVER_MONITORS_PEERS_H

#include <stdint.h>
#include "server/monitors/monitor.h"

#define CANFS_PEER_FADE 0.8

struct canfs_peers;

/* To ask those of setup for the export of its path. *peers is NULL if there are none. 0, -ENOMEM. */
int canfs_peers_open(struct canfs_peers **peers, const struct canfs_monitor_setup *setup);
void canfs_peers_close(struct canfs_peers *peers); /* NULL allowed */

/* The largest of what they say, in [0, 1]; 0: nothing, or NULL. To be called each interval; now_usec is CLOCK_MONOTONIC. */
double canfs_peers_utilization(struct canfs_peers *peers, uint64_t now_usec);

#endif
