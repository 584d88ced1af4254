// SPDX-License-Identifier: LGPL-3.0-or-later
/* A governed job whose server tells of others: step by step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "canfsctl/run/law.h"

static bool step_beside(struct canfs_govern_law *law, double price, double others, double after_sec)
{
	uint64_t now_usec = law->stepped_usec + (uint64_t)(after_sec * 1e6);

	return canfs_govern_law_step(law,
		(struct canfs_govern_price) { .price = price, .usec = now_usec, .others = others },
		now_usec);
}

/* At once, though the job has hardly begun to run; and 0.3 s after they have gone, though the price has not fallen. */
static void test_others_that_come_and_go(void **state)
{
	struct canfs_govern_law law;

	(void)state;
	canfs_govern_law_init(&law, &canfs_govern_defaults, 1000000);
	assert_false(step_beside(&law, 0.4, 1, 0.1));
	assert_false(step_beside(&law, 0.9, 0.2, 0.1));
	assert_true(step_beside(&law, 0.9, 0.3, 0.01));
	assert_int_equal(law.reason, CANFS_GOVERN_OTHERS);
	assert_true(step_beside(&law, 0.9, 1, 2));
	assert_true(step_beside(&law, 0.9, 0, 1));
	assert_true(canfs_govern_law_due_usec(&law) == law.stepped_usec + 300000);
	assert_true(step_beside(&law, 0.9, 0, 0.29));
	assert_true(step_beside(&law, 0.9, 1, 0.005));
	assert_true(step_beside(&law, 0.9, 0, 0.005));
	assert_true(step_beside(&law, 0.9, 0, 0.29));
	assert_false(step_beside(&law, 0.9, 0, 0.01));
	assert_int_equal(law.reason, CANFS_GOVERN_GONE);
	/* And then not for long: what else is busy may be of this host. */
	while (!step_beside(&law, 0.9, 0, 0.1))
		assert_true(law.stepped_usec - law.since_usec < 10000000);
	for (int i = 0; i < 200; i++)
		assert_true(step_beside(&law, 0.9, 0, 0.1));
}

/* They are busy, and the server is not: only more of them are a reason to pause at once. */
static void test_others_beside_whom_the_price_is_low(void **state)
{
	struct canfs_govern_law law;

	(void)state;
	canfs_govern_law_init(&law, &canfs_govern_defaults, 1000000);
	assert_true(step_beside(&law, 0.9, 1, 0.1));
	assert_false(step_beside(&law, 0.3, 1, 0.2));
	assert_int_equal(law.reason, CANFS_GOVERN_LOW);
	assert_false(step_beside(&law, 0.9, 1.5, 0.1));
	assert_true(step_beside(&law, 0.9, 3, 0.1));
	assert_int_equal(law.reason, CANFS_GOVERN_OTHERS);
}

static void test_a_slice_is_run_beside_others(void **state)
{
	struct canfs_govern_terms terms = canfs_govern_defaults;
	struct canfs_govern_law law;
	uint64_t begun_usec;

	(void)state;
	terms.at_least = 0.1;
	canfs_govern_law_init(&law, &terms, 1000000);
	assert_true(step_beside(&law, 0.9, 1, 0.1));
	while (step_beside(&law, 0.9, 1, 0.1))
		continue;
	assert_int_equal(law.reason, CANFS_GOVERN_SHARE);
	begun_usec = law.since_usec;
	while (!step_beside(&law, 0.9, 1, 0.01))
		continue;
	assert_int_equal(law.stepped_usec - begun_usec, 500000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_others_that_come_and_go),
		cmocka_unit_test(test_others_beside_whom_the_price_is_low),
		cmocka_unit_test(test_a_slice_is_run_beside_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
