// SPDX-License-Identifier: LGPL-3.0-or-later
/* The price of one resource has the properties of CA-NFS §3.1 and §3.2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "pricing/price.h"

#define STEPS 1000

static const double ks[] = { CANFS_K_MIN, 2, 8, 32, 64, 1000, CANFS_K_MAX };
#define NKS (sizeof(ks) / sizeof(ks[0]))

static double at(int step)
{
	return (double)step / STEPS;
}

static void test_bounds(void **state)
{
	(void)state;
	for (size_t i = 0; i < NKS; i++) {
		assert_true(canfs_price(0.0, ks[i]) == 0.0);
		assert_true(canfs_price(1.0, ks[i]) == CANFS_PRICE_MAX);
		for (int step = 0; step <= STEPS; step++) {
			double price = canfs_price(at(step), ks[i]);

			assert_true(price >= 0.0 && price <= CANFS_PRICE_MAX);
		}
	}
}

static void test_monotone_in_utilization(void **state)
{
	(void)state;
	for (size_t i = 0; i < NKS; i++)
		for (int step = 1; step <= STEPS; step++)
			assert_true(
				canfs_price(at(step), ks[i]) > canfs_price(at(step - 1), ks[i]));
}

static void test_convex_in_utilization(void **state)
{
	(void)state;
	for (size_t i = 0; i < NKS; i++)
		for (int step = 1; step < STEPS; step++) {
			double chord = (canfs_price(at(step - 1), ks[i]) +
					       canfs_price(at(step + 1), ks[i])) /
				       2.0;

			assert_true(canfs_price(at(step), ks[i]) <= chord + 1e-15);
		}
}

static void test_inverse(void **state)
{
	(void)state;
	for (size_t i = 0; i < NKS; i++)
		for (int step = 0; step <= STEPS; step++) {
			double u = canfs_utilization(canfs_price(at(step), ks[i]), ks[i]);

			assert_true(fabs(u - at(step)) < 1e-9);
		}
	assert_true(canfs_utilization(NAN, 4) == 1.0 && canfs_utilization(2, 4) == 1.0);
	assert_true(canfs_utilization(-1, 4) == 0.0);
}

/* §3.2: "with very large k, the price function stays near zero until the utilization is almost 1". */
static void test_larger_k_is_cheaper_below_full(void **state)
{
	(void)state;
	for (size_t i = 1; i < NKS; i++)
		for (int step = 1; step < STEPS; step++)
			assert_true(
				canfs_price(at(step), ks[i]) < canfs_price(at(step), ks[i - 1]));
	assert_true(canfs_price(0.8, CANFS_K_MAX) < 0.1);
	assert_true(canfs_price(0.5, CANFS_K_MIN) > 0.45);
}

/*
 * §3.1: "reserving 1/log k of the resource doubles the price". The practical function subtracts
 * a constant to start at 0, so what doubles exactly is P + Pmax / (k - 1); P itself more than
 * doubles.
 */
static void test_doubles_per_granule_sold(void **state)
{
	(void)state;
	for (size_t i = 1; i < NKS; i++) { /* below k = 2 the granule is more than there is */
		double granule = 1.0 / log2(ks[i]);
		double constant = CANFS_PRICE_MAX / (ks[i] - 1.0);

		for (int step = 0; at(step) + granule <= 1.0; step++) {
			double before = canfs_price(at(step), ks[i]);
			double after = canfs_price(at(step) + granule, ks[i]);

			assert_true(fabs((after + constant) / (before + constant) - 2.0) < 1e-9);
			assert_true(after >= 2.0 * before);
		}
	}
}

static void test_known_values(void **state)
{
	(void)state;
	/* (8^(1/3) - 1) / 7, (8^(2/3) - 1) / 7, (64^(1/2) - 1) / 63 */
	assert_true(fabs(canfs_price(1.0 / 3.0, 8) - 1.0 / 7.0) < 1e-12);
	assert_true(fabs(canfs_price(2.0 / 3.0, 8) - 3.0 / 7.0) < 1e-12);
	assert_true(fabs(canfs_price(0.5, 64) - 7.0 / 63.0) < 1e-12);
}

static void test_utilization_out_of_range(void **state)
{
	(void)state;
	assert_true(canfs_price(-0.1, 8) == 0.0);
	assert_true(canfs_price(-INFINITY, 8) == 0.0);
	assert_true(canfs_price(1.1, 8) == CANFS_PRICE_MAX);
	assert_true(canfs_price(INFINITY, 8) == CANFS_PRICE_MAX);
	assert_true(canfs_price(NAN, 8) == CANFS_PRICE_MAX);
}

static void test_k_out_of_range(void **state)
{
	(void)state;
	assert_true(canfs_price(0.5, 1.0) == canfs_price(0.5, CANFS_K_MIN));
	assert_true(canfs_price(0.5, -3.0) == canfs_price(0.5, CANFS_K_MIN));
	assert_true(canfs_price(0.5, NAN) == canfs_price(0.5, CANFS_K_MIN));
	assert_true(canfs_price(0.5, 1e9) == canfs_price(0.5, CANFS_K_MAX));
	assert_true(canfs_price(0.5, INFINITY) == canfs_price(0.5, CANFS_K_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_monotone_in_utilization),
		cmocka_unit_test(test_convex_in_utilization),
		cmocka_unit_test(test_inverse),
		cmocka_unit_test(test_larger_k_is_cheaper_below_full),
		cmocka_unit_test(test_doubles_per_granule_sold),
		cmocka_unit_test(test_known_values),
		cmocka_unit_test(test_utilization_out_of_range),
		cmocka_unit_test(test_k_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
