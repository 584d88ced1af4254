/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Cookies: what a client must have received at its address before anything longer than its call, or unasked, is sent
 * there. Nothing is remembered of a client for it.
 *
 *	cookie = first octets of SHA-256(secret, address, port, period)
 *
 * The secret is random, of this process, and short of it nobody can tell the cookie of an address that he cannot
 * receive at. All inputs have fixed lengths, so that none can be moved into another.
 */
#ifndef CANFS_SERVER_PRICE_SERVICE_COOKIE_H
#define CANFS_SERVER_PRICE_SERVICE_COOKIE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include "protocol/price_message.h"

/* A cookie is good for one period at least, and for two at most; longer than a lease. */
#define CANFS_COOKIE_PERIOD_USEC UINT64_C(120000000)

struct canfs_cookies {
	uint8_t secret[32];
};

/* 0, or -errno: the kernel gives no random numbers. */
int canfs_cookies_init(struct canfs_cookies *cookies);

void canfs_cookie_make(const struct canfs_cookies *cookies, const struct sockaddr_in6 *client,
	uint64_t now_usec, uint8_t cookie[CANFS_COOKIE_BYTES]);
bool canfs_cookie_is_good(const struct canfs_cookies *cookies, const struct sockaddr_in6 *client,
	uint64_t now_usec, const uint8_t cookie[CANFS_COOKIE_BYTES]);

#endif
