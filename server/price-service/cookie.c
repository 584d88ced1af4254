// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/price-service/cookie.h"

#include <errno.h>
#include <sha2.h>
#include <string.h>
#include <sys/random.h>
#include "common/address.h"

int canfs_cookies_init(struct canfs_cookies *cookies)
{
	ssize_t got = getrandom(cookies->secret, sizeof(cookies->secret), 0);

	if (got < 0)
		return -errno;
	return got == (ssize_t)sizeof(cookies->secret) ? 0 : -EIO;
}

static void make(const struct canfs_cookies *cookies, const struct sockaddr_in6 *client,
	uint64_t period, uint8_t cookie[CANFS_COOKIE_BYTES])
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	struct in6_addr address;
	SHA2_CTX sha;

	(void)canfs_read_address((const struct sockaddr *)client, &address);
	SHA256Init(&sha);
	SHA256Update(&sha, cookies->secret, sizeof(cookies->secret));
	SHA256Update(&sha, address.s6_addr, sizeof(address.s6_addr));
	SHA256Update(&sha, (const uint8_t *)&client->sin6_port, sizeof(client->sin6_port));
	SHA256Update(&sha, (const uint8_t *)&period, sizeof(period));
	SHA256Final(digest, &sha);
	memcpy(cookie, digest, CANFS_COOKIE_BYTES);
}

void canfs_cookie_make(const struct canfs_cookies *cookies, const struct sockaddr_in6 *client,
	uint64_t now_usec, uint8_t cookie[CANFS_COOKIE_BYTES])
{
	make(cookies, client, now_usec / CANFS_COOKIE_PERIOD_USEC, cookie);
}

/* Takes constant time, wherever they differ. */
static bool is_equal(const uint8_t *a, const uint8_t *b, size_t count)
{
	uint8_t differs = 0;

	for (size_t i = 0; i < count; i++)
		differs = (uint8_t)(differs | (a[i] ^ b[i]));
	return differs == 0;
}

bool canfs_cookie_is_good(const struct canfs_cookies *cookies, const struct sockaddr_in6 *client,
	uint64_t now_usec, const uint8_t cookie[CANFS_COOKIE_BYTES])
{
	uint64_t period = now_usec / CANFS_COOKIE_PERIOD_USEC;

	for (uint64_t age = 0; age <= 1 && age <= period; age++) {
		uint8_t good[CANFS_COOKIE_BYTES];

		make(cookies, client, period - age, good);
		if (is_equal(good, cookie, sizeof(good)))
			return true;
	}
	return false;
}
