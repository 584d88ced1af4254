// SPDX-License-Identifier: LGPL-3.0-or-later
/* Seconds that clients waited for each other, by pairs, in a table of fixed size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include "server/waiting/pairs.h"

static int client_of(const struct in6_addr *address)
{
	return address->s6_addr[15];
}

static struct in6_addr client_address(uint32_t number)
{
	struct in6_addr address = { .s6_addr = { [10] = 0xff, [11] = 0xff } };
	uint32_t ipv4 = htonl(0x0a000000u + number);

	memcpy(&address.s6_addr[12], &ipv4, sizeof(ipv4));
	return address;
}

static void add(struct canfs_pairs *pairs, uint32_t bully, uint32_t victim, double sec)
{
	const struct in6_addr from = client_address(bully), to = client_address(victim);
	const struct canfs_waits waits = { .operation = { [CANFS_WAITING_COMMIT] = sec },
		.cause = { [CANFS_CAUSE_WRITE_BACK] = sec } };

	canfs_pairs_add(pairs, &from, &to, &waits);
}

/* Twenty heavy pairs among thousands of small ones, which are more than there is room for. */
static void heavy_pairs_stay(void **state)
{
	struct canfs_pairs *pairs = calloc(1, sizeof(*pairs));
	struct canfs_pair_row rows[CANFS_PAIRS_MAX];
	uint32_t small = 0;

	(void)state;
	assert_non_null(pairs);
	for (uint64_t sec = 1000; sec < 1060; sec++) {
		canfs_pairs_begin(pairs, sec);
		for (uint32_t heavy = 0; heavy < 20; heavy++) {
			for (int i = 0; i < 50; i++, small++)
				add(pairs, 100 + small % 5000, 50, 0.001);
			add(pairs, heavy, 50, 0.5 + 0.01 * heavy);
		}
	}
	canfs_pairs_begin(pairs, 1060);
	assert_true(canfs_pairs_list(pairs, 60, rows) >= 20);
	for (int i = 0; i < 20; i++) {
		double truth = 60 * (0.5 + 0.01 * (19 - i));

		assert_int_equal(client_of(&rows[i].bully), 19 - i);
		assert_float_equal(rows[i].waited_sec, truth, truth / 10);
	}
	free(pairs);
}

/* Whole seconds only, and no more than a minute. */
static void a_minute_passes(void **state)
{
	struct canfs_pairs *pairs = calloc(1, sizeof(*pairs));
	struct canfs_pair_row rows[CANFS_PAIRS_MAX], sums[CANFS_PAIRS_MAX];
	size_t count;

	(void)state;
	assert_non_null(pairs);
	canfs_pairs_begin(pairs, 500);
	add(pairs, 1, 2, 1);
	assert_int_equal(canfs_pairs_list(pairs, 60, rows), 0);
	canfs_pairs_begin(pairs, 501);
	add(pairs, 1, 3, 2);
	assert_int_equal(canfs_pairs_list(pairs, 60, rows), 1);
	canfs_pairs_begin(pairs, 502);
	assert_int_equal(canfs_pairs_list(pairs, 1, rows), 1);
	assert_float_equal(rows[0].waited_sec, 2, 1e-6);
	count = canfs_pairs_list(pairs, 60, rows);
	assert_int_equal(count, 2);
	assert_int_equal(canfs_pairs_sum(rows, count, CANFS_BULLY, sums), 1);
	assert_float_equal(sums[0].waited_sec, 3, 1e-6);
	assert_float_equal(sums[0].waits.operation[CANFS_WAITING_COMMIT], 3, 1e-6);
	assert_int_equal(canfs_pairs_sum(rows, count, CANFS_VICTIM, sums), 2);
	assert_int_equal(client_of(&sums[0].victim), 3);
	canfs_pairs_begin(pairs, 561);
	assert_int_equal(canfs_pairs_list(pairs, 60, rows), 1);
	canfs_pairs_begin(pairs, 562);
	assert_int_equal(canfs_pairs_list(pairs, 60, rows), 0);
	canfs_pairs_begin(pairs, 100000);
	assert_int_equal(canfs_pairs_list(pairs, 60, rows), 0);
	free(pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heavy_pairs_stay),
		cmocka_unit_test(a_minute_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
