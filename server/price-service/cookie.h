/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Cookies prove that a client receives at its address. Without one, the server sends no reply
 * longer than the call, and no pushes. The server stores nothing per client for this.
 *
 *	cookie = first bytes of SHA-256(secret, address, port, period)
 *
 * The secret is random and belongs to this process. Without it nobody can compute the cookie of an
 * address at which they cannot receive. All inputs have a fixed length, so bytes of one input
 * cannot be shifted into another.
 */
#ifndef CANFS_SERVER_PRICE_SERVICE_COOKIE_H
#define CANFS_SERVER_PRICE_SERVICE_COOKIE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include "protocol/price_message.h"

/* A cookie is valid for one to two periods, which is longer than a lease. */
#define CANFS_COOKIE_PERIOD_USEC UINT64_C(120000000)

struct canfs_cookies {
	uint8_t secret[32];
};

/* Returns 0, or -errno if the kernel provides no random numbers. */
int canfs_cookies_init(struct canfs_cookies *cookies);

void canfs_cookie_make(const struct canfs_cookies *cookies, const struct sockaddr_in6 *client,
	uint64_t now_usec, uint8_t cookie[CANFS_COOKIE_BYTES]);
bool canfs_cookie_is_good(const struct canfs_cookies *cookies, const struct sockaddr_in6 *client,
	uint64_t now_usec, const uint8_t cookie[CANFS_COOKIE_BYTES]);

#endif
