// SPDX-License-Identifier: LGPL-3.0-or-later
/* What is remembered of delegations that were taken away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ganesha-fsal/delegations/core/revoked.h"

static const char A[] = "10.0.0.1", B[] = "10.0.0.2";

static struct canfs_revoked *revoked;

static int begin(void **state)
{
	(void)state;
	revoked = canfs_revoked_new();
	return !revoked;
}

static int end(void **state)
{
	(void)state;
	canfs_revoked_free(revoked);
	return 0;
}

static uint64_t taken(uint64_t file, const void *address)
{
	uint64_t version = 0;
	bool found = canfs_revoked_take(revoked, file, address, &version);

	assert_int_equal(found, version != 0);
	return version;
}

static void each_is_told_once(void **state)
{
	uint64_t version;

	(void)state;
	assert_int_equal(taken(7, A), 0);
	canfs_revoked_add(revoked, 7, A, 100);
	assert_int_equal(taken(7, B), 0);
	assert_int_equal(taken(8, A), 0);
	assert_false(canfs_revoked_find(revoked, 7, B, &version));
	assert_true(canfs_revoked_find(revoked, 7, A, &version));
	assert_int_equal(version, 100);
	assert_int_equal(taken(7, A), 100);
	assert_int_equal(taken(7, A), 0);
}

static void the_last_one_counts(void **state)
{
	(void)state;
	canfs_revoked_add(revoked, 7, A, 100);
	canfs_revoked_add(revoked, 7, A, 101);
	canfs_revoked_add(revoked, 7, NULL, 102);
	assert_int_equal(taken(7, NULL), 0);
	assert_int_equal(taken(7, A), 101);
	canfs_revoked_add(revoked, 7, A, 100);
	canfs_revoked_add(revoked, 7 + CANFS_REVOKED_SLOTS, B, 200);
	assert_int_equal(taken(7, A), 0);
	assert_int_equal(taken(7 + CANFS_REVOKED_SLOTS, B), 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_is_told_once, begin, end),
		cmocka_unit_test_setup_teardown(the_last_one_counts, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
