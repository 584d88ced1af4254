/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Sends the pushes of a turn. A push that cannot be sent does not delay others.
 *
 *	add --> | those that are reachable | -->     free     <-- | suspects |
 *	         sent first, from where the        sent last, while the socket has
 *	         last turn stopped                 more than half of its room
 *
 * Datagrams to a neighbour that does not answer ARP occupy the send buffer for some seconds, until the kernel drops them.
 */
#ifndef CANFS_SERVER_PRICE_SERVICE_OUTBOX_H
#define CANFS_SERVER_PRICE_SERVICE_OUTBOX_H

#include "server/price-service/subscribers.h"
#include "server/price-service/udp.h"

/* How long a turn waits for room in the socket, which a slow link may have filled. */
#define CANFS_OUTBOX_WAIT_MSEC 20

struct canfs_outbox;

/* NULL: no memory. Holds a push to each of CANFS_SUBSCRIBERS_MAX; unused memory is never touched. */
struct canfs_outbox *canfs_outbox_new(void);
void canfs_outbox_free(struct canfs_outbox *outbox); /* NULL allowed */

/* A canfs_send_push. */
void canfs_outbox_add(void *outbox, const struct canfs_due *due);

/*
 * Sends and forgets all added pushes; waits for at most CANFS_OUTBOX_WAIT_MSEC altogether. Calls unsent() for each push that the kernel did
 * not take. Returns how many it took.
 */
size_t canfs_outbox_send(struct canfs_outbox *outbox, const struct canfs_udp *udp,
	void (*unsent)(void *arg, const struct canfs_due *due), void *arg);

#endif
