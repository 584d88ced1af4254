/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Sends the pushes of a turn. A push that cannot be sent does not delay the others.
 *
 *	add --> | reachable subscribers  | -->     free     <-- | suspects |
 *	         sent first, from where the        sent last, while less than half
 *	         last turn stopped                 of the send buffer is in use
 *
 * The send buffer holds datagrams to a neighbour that does not answer ARP for some seconds, until
 * the kernel drops them.
 */
#ifndef CANFS_SERVER_PRICE_SERVICE_OUTBOX_H
#define CANFS_SERVER_PRICE_SERVICE_OUTBOX_H

#include "server/price-service/subscribers.h"
#include "server/price-service/udp.h"

/* How long a turn waits for space in the send buffer, which a slow link may fill. */
#define CANFS_OUTBOX_WAIT_MSEC 20

struct canfs_outbox;

/*
 * Returns NULL if out of memory. Holds one push per subscriber, CANFS_SUBSCRIBERS_MAX in all.
 * Unused memory is never touched.
 */
struct canfs_outbox *canfs_outbox_new(void);
void canfs_outbox_free(struct canfs_outbox *outbox); /* NULL allowed */

/* Adds a push to an outbox. The function has the type canfs_send_push. */
void canfs_outbox_add(void *outbox, const struct canfs_due *due);

/*
 * Sends all added pushes and empties the outbox. Blocks for at most CANFS_OUTBOX_WAIT_MSEC in
 * total. Calls unsent() for each push that the kernel did not accept. Returns how many the kernel
 * accepted.
 */
size_t canfs_outbox_send(struct canfs_outbox *outbox, const struct canfs_udp *udp,
	void (*unsent)(void *arg, const struct canfs_due *due), void *arg);

#endif
