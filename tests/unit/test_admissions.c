// SPDX-License-Identifier: LGPL-3.0-or-later
/* Who may subscribe to prices: a client that shows its cookie, or that the server has answered. */
#include "tests/unit/subscribers_scene.h"

#include "server/price-service/admissions.h"
#include "server/price-service/cookie.h"

static void a_cookie_is_for_one_address_and_a_while(void **state)
{
	struct canfs_endpoint here = endpoint_of(1, 700), port = endpoint_of(1, 701),
			      host = endpoint_of(2, 700);
	uint64_t begin = 10 * CANFS_COOKIE_PERIOD_USEC;
	uint8_t cookie[CANFS_COOKIE_BYTES], zeroes[CANFS_COOKIE_BYTES] = { 0 };
	struct canfs_cookies cookies, others;

	(void)state;
	assert_int_equal(canfs_cookies_init(&cookies), 0);
	assert_int_equal(canfs_cookies_init(&others), 0);
	canfs_cookie_make(&cookies, &here.client, begin, cookie);
	assert_true(canfs_cookie_is_good(&cookies, &here.client, begin, cookie));
	assert_true(canfs_cookie_is_good(
		&cookies, &here.client, begin + 2 * CANFS_COOKIE_PERIOD_USEC - 1, cookie));
	assert_false(canfs_cookie_is_good(
		&cookies, &here.client, begin + 2 * CANFS_COOKIE_PERIOD_USEC, cookie));
	assert_false(canfs_cookie_is_good(&cookies, &here.client, begin - 1, cookie));
	assert_false(canfs_cookie_is_good(&cookies, &port.client, begin, cookie));
	assert_false(canfs_cookie_is_good(&cookies, &host.client, begin, cookie));
	assert_false(canfs_cookie_is_good(&others, &here.client, begin, cookie));
	assert_false(canfs_cookie_is_good(&cookies, &here.client, begin, zeroes));
	cookie[CANFS_COOKIE_BYTES - 1] ^= 1;
	assert_false(canfs_cookie_is_good(&cookies, &here.client, begin, cookie));
}

static const struct sockaddr *ipv4_of(struct sockaddr_in *address, uint8_t host, uint16_t port)
{
	*address = (struct sockaddr_in) { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(0x0a000000u + host) };
	return (const struct sockaddr *)address;
}

static void whom_the_server_has_answered_is_admitted(void **state)
{
	struct canfs_admissions *admissions = canfs_admissions_new();
	struct sockaddr_in ipv4;
	struct sockaddr_in6 mapped = { .sin6_family = AF_INET6, .sin6_port = htons(700) };
	uint8_t mapped_1[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 };
	uint64_t end_usec = SECOND + CANFS_ADMISSION_USEC;

	(void)state;
	memcpy(&mapped.sin6_addr, mapped_1, sizeof(mapped_1));
	assert_false(canfs_admissions_has(admissions, ipv4_of(&ipv4, 1, 700), export_a, SECOND));
	canfs_admissions_note(admissions, ipv4_of(&ipv4, 1, 700), export_a, false, SECOND);
	assert_true(canfs_admissions_has(admissions, ipv4_of(&ipv4, 1, 4000), export_a, SECOND));
	assert_true(canfs_admissions_has(admissions, (struct sockaddr *)&mapped, export_a, SECOND));
	assert_true(
		canfs_admissions_has(admissions, ipv4_of(&ipv4, 1, 700), export_a, end_usec - 1));
	assert_false(canfs_admissions_has(admissions, ipv4_of(&ipv4, 1, 700), export_a, end_usec));
	assert_false(canfs_admissions_has(admissions, ipv4_of(&ipv4, 1, 700), export_b, SECOND));
	assert_false(canfs_admissions_has(admissions, ipv4_of(&ipv4, 2, 700), export_a, SECOND));

	canfs_admissions_note(admissions, ipv4_of(&ipv4, 1, 700), export_a, true, SECOND);
	assert_true(canfs_admissions_has(admissions, ipv4_of(&ipv4, 1, 1023), export_a, SECOND));
	assert_false(canfs_admissions_has(admissions, ipv4_of(&ipv4, 1, 1024), export_a, SECOND));
	canfs_admissions_forget(admissions, export_b);
	assert_true(canfs_admissions_has(admissions, ipv4_of(&ipv4, 1, 700), export_a, SECOND));
	canfs_admissions_forget(admissions, export_a);
	assert_false(canfs_admissions_has(admissions, ipv4_of(&ipv4, 1, 700), export_a, SECOND));
	mapped.sin6_family = AF_UNIX;
	canfs_admissions_note(admissions, (struct sockaddr *)&mapped, export_a, false, SECOND);
	assert_false(
		canfs_admissions_has(admissions, (struct sockaddr *)&mapped, export_a, SECOND));
	canfs_admissions_free(admissions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cookie_is_for_one_address_and_a_while),
		cmocka_unit_test(whom_the_server_has_answered_is_admitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
