/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A price service on this host's loopback that gives the answers a test demands. Include cmocka.h
 * first.
 */
#ifndef CANFS_TESTS_LIAR_H
#define CANFS_TESTS_LIAR_H

#include <string.h>
#include <unistd.h>

#include "protocol/price_message.h"
#include "tests/unit/datagrams.h"

struct liar {
	int fd;
	struct sockaddr_storage address; /* its own */
	struct sockaddr_storage client;  /* client and call: of the last call */
	struct canfs_price_call call;
};

static inline void liar_open(struct liar *liar)
{
	socklen_t len = sizeof(liar->address);

	liar->address = loopback(0);
	liar->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(liar->fd, (struct sockaddr *)&liar->address, sizeof(struct sockaddr_in)), 0);
	assert_int_equal(getsockname(liar->fd, (struct sockaddr *)&liar->address, &len), 0);
}

static inline uint16_t liar_port(const struct liar *liar)
{
	return ntohs(((const struct sockaddr_in *)&liar->address)->sin_port);
}

static inline void liar_hear_call(struct liar *liar)
{
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	socklen_t len = sizeof(liar->client);
	ssize_t got;

	assert_true(wait_for_datagram(liar->fd));
	got = recvfrom(
		liar->fd, datagram, sizeof(datagram), 0, (struct sockaddr *)&liar->client, &len);
	assert_int_equal(canfs_price_decode_call(datagram, (size_t)got, &liar->call), 0);
}

static inline void liar_send(struct liar *liar, const void *datagram, size_t bytes)
{
	assert_int_equal(sendto(liar->fd, datagram, bytes, 0, (struct sockaddr *)&liar->client,
				 sizeof(struct sockaddr_in)),
		bytes);
}

static inline void liar_answer(struct liar *liar, uint32_t xid, double price)
{
	struct canfs_price_result result = { .status = CANFS_STATUS_OK, .lease_sec = 60 };
	struct canfs_price_call call = liar->call;
	uint8_t datagram[CANFS_DATAGRAM_MAX];

	result.prices.quote[CANFS_WRITE].price = price;
	call.xid = xid;
	liar_send(liar, datagram, canfs_price_encode_reply(datagram, &call, &result));
}

static inline void liar_push(struct liar *liar, uint32_t number, double price)
{
	struct canfs_price_push push = { .number = number };
	uint8_t datagram[CANFS_DATAGRAM_MAX];

	push.prices.quote[CANFS_WRITE].price = price;
	memcpy(push.token, liar->call.request.token, sizeof(push.token));
	liar_send(liar, datagram, canfs_price_encode_push(datagram, 1, &push));
}

#endif
