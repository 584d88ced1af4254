// SPDX-License-Identifier: LGPL-3.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "pricing/confidence.h"

#define MIB (1ull << 20)

static void test_falls_with_waste_and_recovers(void **state)
{
	struct canfs_confidence confidence;
	double value = 1;

	(void)state;
	canfs_confidence_init(&confidence, 1.0);
	for (int i = 0; i < 100; i++)
		value = canfs_confidence_add(&confidence, 1 * MIB, 10 * MIB, 0.1);
	assert_true(value < 0.11 && value > 0.09);
	for (int i = 0; i < 100; i++)
		value = canfs_confidence_add(&confidence, 10 * MIB, 10 * MIB, 0.1);
	assert_true(value > 0.99 && value <= 1.0);
}

static void test_no_fetching_is_no_evidence(void **state)
{
	struct canfs_confidence confidence;

	(void)state;
	canfs_confidence_init(&confidence, 1.0);
	for (int i = 0; i < 100; i++)
		assert_true(
			canfs_confidence_add(&confidence, 0, 4096, 1) >= CANFS_CONFIDENCE_START);
}

static void test_rereads_are_not_more_than_certain(void **state)
{
	struct canfs_confidence confidence;

	(void)state;
	canfs_confidence_init(&confidence, 0);
	assert_true(canfs_confidence_add(&confidence, 50 * MIB, 1 * MIB, 1) <= 1.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_falls_with_waste_and_recovers),
		cmocka_unit_test(test_no_fetching_is_no_evidence),
		cmocka_unit_test(test_rereads_are_not_more_than_certain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
