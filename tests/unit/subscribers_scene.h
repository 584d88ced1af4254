/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Clients of the price service by their addresses, and two exports. */
#ifndef CANFS_TESTS_SUBSCRIBERS_SCENE_H
#define CANFS_TESTS_SUBSCRIBERS_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <string.h>

#include "server/price-service/subscribers.h"

#define SECOND UINT64_C(1000000)

/* Never looked into. */
static char places[2];
static struct canfs_price_table *const export_a = (void *)&places[0], *const export_b =
									      (void *)&places[1];

static inline struct canfs_endpoint endpoint_of(uint32_t host, uint16_t port)
{
	struct canfs_endpoint endpoint = { .client = { .sin6_family = AF_INET6,
						   .sin6_port = htons(port) } };

	endpoint.client.sin6_addr.s6_addr[0] = 0xfd;
	host = htonl(host);
	memcpy(&endpoint.client.sin6_addr.s6_addr[12], &host, sizeof(host));
	return endpoint;
}

#endif
