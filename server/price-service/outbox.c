// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/price-service/outbox.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/clock.h"

#define BATCH_MAX 64
/*
 * Pushes to suspects per batch. Before each batch, less than half of the send buffer must be in
 * use.
 */
#define SUSPECTS_MAX 8

struct canfs_outbox {
	size_t reachable, suspects; /* counts, from the front and from the back of the array */
	size_t first; /* index of the reachable subscriber that the next turn starts with */
	uint32_t xid;
	struct canfs_due due[CANFS_SUBSCRIBERS_MAX];

	/* In the format of sendmmsg(2). */
	uint8_t datagram[BATCH_MAX][CANFS_DATAGRAM_MAX];
	struct canfs_message message[BATCH_MAX];
	struct mmsghdr header[BATCH_MAX];
};

struct canfs_outbox *canfs_outbox_new(void)
{
	return calloc(1, sizeof(struct canfs_outbox));
}

void canfs_outbox_free(struct canfs_outbox *outbox)
{
	free(outbox);
}

void canfs_outbox_add(void *arg, const struct canfs_due *due)
{
	struct canfs_outbox *outbox = arg;

	if (outbox->reachable + outbox->suspects == CANFS_SUBSCRIBERS_MAX)
		return;
	if (due->is_suspect)
		outbox->due[CANFS_SUBSCRIBERS_MAX - ++outbox->suspects] = *due;
	else
		outbox->due[outbox->reachable++] = *due;
}

/* The i-th push, in the order of sending. */
static const struct canfs_due *due_at(const struct canfs_outbox *outbox, size_t i)
{
	if (i < outbox->reachable)
		return &outbox->due[(outbox->first + i) % outbox->reachable];
	return &outbox->due[CANFS_SUBSCRIBERS_MAX - outbox->suspects + (i - outbox->reachable)];
}

/* One call of canfs_outbox_send(). */
struct turn {
	struct canfs_outbox *outbox;
	const struct canfs_udp *udp;
	uint64_t deadline_usec;
	void (*unsent)(void *arg, const struct canfs_due *due);
	void *arg;
	size_t taken;
};

static unsigned int fill_batch(
	struct canfs_outbox *outbox, const struct canfs_udp *udp, size_t from, size_t to)
{
	unsigned int count = 0;

	for (; count < BATCH_MAX && from + count < to; count++) {
		const struct canfs_due *due = due_at(outbox, from + count);
		size_t bytes =
			canfs_price_encode_push(outbox->datagram[count], ++outbox->xid, &due->push);

		canfs_message_address(udp, &outbox->message[count], &due->endpoint,
			outbox->datagram[count], bytes);
		outbox->header[count] = (struct mmsghdr) { .msg_hdr = outbox->message[count].head };
	}
	return count;
}

/* Does not wait in poll(2), which returns at once while errors are pending. */
static bool await_room(const struct canfs_udp *udp, uint64_t deadline_usec)
{
	while (!canfs_udp_has_room(udp)) {
		if (canfs_now_usec() >= deadline_usec)
			return false;
		poll(NULL, 0, 1);
	}
	return true;
}

/* The error may have been caused by an earlier datagram to another address, so try once more. */
static int send_some(const struct canfs_udp *udp, struct mmsghdr *header, unsigned int count)
{
	int sent = sendmmsg(udp->fd, header, count, MSG_DONTWAIT);

	return sent < 0 && errno != EAGAIN ? sendmmsg(udp->fd, header, count, MSG_DONTWAIT) : sent;
}

/*
 * Sends pushes from ... to - 1 while the socket has space. Calls unsent() for each push that the
 * kernel refuses. Returns how many were handled.
 */
static unsigned int send_batch(struct turn *turn, size_t from, size_t to)
{
	struct mmsghdr *header = turn->outbox->header;
	unsigned int count = fill_batch(turn->outbox, turn->udp, from, to), done = 0;

	while (done < count) {
		int sent = send_some(turn->udp, header + done, count - done);

		if (sent > 0) {
			done += (unsigned int)sent;
			turn->taken += (size_t)sent;
		} else if (errno != EAGAIN) {
			turn->unsent(turn->arg, due_at(turn->outbox, from + done++));
		} else if (!await_room(turn->udp, turn->deadline_usec)) {
			break;
		}
	}
	return done;
}

/* Returns how many pushes were handled, in order. The socket has no space for the others. */
static size_t send_all(struct turn *turn)
{
	const size_t reachable = turn->outbox->reachable;
	const size_t all = reachable + turn->outbox->suspects;
	size_t next = 0;

	while (next < all) {
		size_t to = next < reachable ? reachable : next + SUSPECTS_MAX;
		size_t done;

		if (next >= reachable && !canfs_udp_has_room(turn->udp))
			break;
		done = send_batch(turn, next, to < all ? to : all);
		if (done == 0)
			break;
		next += done;
	}
	return next;
}

size_t canfs_outbox_send(struct canfs_outbox *outbox, const struct canfs_udp *udp,
	void (*unsent)(void *arg, const struct canfs_due *due), void *arg)
{
	struct turn turn = { .outbox = outbox,
		.udp = udp,
		.deadline_usec = canfs_now_usec() + CANFS_OUTBOX_WAIT_MSEC * 1000,
		.unsent = unsent,
		.arg = arg };
	const size_t all = outbox->reachable + outbox->suspects, done = send_all(&turn);

	for (size_t i = done; i < all; i++)
		unsent(arg, due_at(outbox, i));
	outbox->first = done < outbox->reachable ? (outbox->first + done) % outbox->reachable : 0;
	outbox->reachable = outbox->suspects = 0;
	return turn.taken;
}
