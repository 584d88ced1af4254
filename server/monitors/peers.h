/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The utilization of a back end according to other servers of the same back end (peers). Each
 * server sees only the waits of its own clients. For example, clients that write into the memory of
 * GlusterFS's bricks wait for nothing, while clients of another server wait for reads from the same
 * disks.
 *
 *	price service of each peer --push--> price of a read-ahead there, if its bottleneck is the back end --> utilization
 *
 * A price learned from peers is published with CANFS_PEER as the bottleneck, and peers ignore such
 * a price. Otherwise a price would circulate between the peers forever. The price of a write is not
 * used, because a peer that drains raises only its own. While another resource is more expensive at
 * a peer, nothing is learned from that peer.
 *
 * Nothing blocks: a call sends what is due and receives what has arrived. The log says when a peer
 * is heard, and, with the reason, when it has not been heard for 10 s.
 */
#ifndef CANFS_SERVER_MONITORS_PEERS_H
#define CANFS_SERVER_MONITORS_PEERS_H

#include <stdint.h>
#include "server/monitors/monitor.h"

struct canfs_peers;

/*
 * Subscribes at the peers in setup to the export setup->name, which must stay valid. *peers is NULL
 * if there are no peers. Returns 0 or -ENOMEM.
 */
int canfs_peers_open(struct canfs_peers **peers, const struct canfs_monitor_setup *setup);
void canfs_peers_close(struct canfs_peers *peers); /* NULL allowed */

/*
 * Subscribes to the export of that name instead. name must stay valid until close() or the next
 * rename. peers NULL allowed.
 */
void canfs_peers_rename(struct canfs_peers *peers, const char *name);

/*
 * The highest utilization that a peer reports, in [0, 1]. 0: none, or peers is NULL. Call this once
 * per interval. now_usec is CLOCK_MONOTONIC.
 */
double canfs_peers_utilization(struct canfs_peers *peers, uint64_t now_usec);

#endif
