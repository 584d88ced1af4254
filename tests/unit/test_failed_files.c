// SPDX-License-Identifier: LGPL-3.0-or-later
/* Files of which written data were lost: each fails until it is empty, or an hour is over; too many are all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ganesha-fsal/promises/core/failed_files.h"

#define HOUR_USEC (CANFS_FAILED_FILE_SEC * UINT64_C(1000000))

static void a_file_fails_until_its_hour_is_over(void **state)
{
	struct canfs_failed_files files = CANFS_FAILED_FILES_NONE;

	(void)state;
	assert_false(canfs_failed_files_has(&files, 7, 0, 0));
	assert_true(canfs_failed_files_note(&files, 7, 1000));
	assert_true(canfs_failed_files_has(&files, 7, 0, 1000));
	assert_false(canfs_failed_files_has(&files, 8, 0, 1000));
	assert_true(canfs_failed_files_has(&files, 7, 0, 999 + HOUR_USEC));
	assert_false(canfs_failed_files_has(&files, 7, 0, 1000 + HOUR_USEC));
	assert_false(canfs_failed_files_any(&files));
}

static void the_hour_begins_anew_with_each_error(void **state)
{
	struct canfs_failed_files files = CANFS_FAILED_FILES_NONE;

	(void)state;
	assert_true(canfs_failed_files_note(&files, 7, 0));
	assert_false(canfs_failed_files_note(&files, 7, HOUR_USEC / 2));
	assert_true(canfs_failed_files_has(&files, 7, 0, HOUR_USEC));
	assert_true(
		canfs_failed_files_note(&files, 7, 2 * HOUR_USEC)); /* as if for the first time */
}

static void what_has_failed_since_counts(void **state)
{
	struct canfs_failed_files files = CANFS_FAILED_FILES_NONE;

	(void)state;
	canfs_failed_files_note(&files, 7, 1000);
	assert_true(canfs_failed_files_has(&files, 7, 1000, 2000));
	assert_false(canfs_failed_files_has(&files, 7, 1001, 2000));
	canfs_failed_files_note(&files, 7, 3000);
	assert_true(canfs_failed_files_has(&files, 7, 1001, 3000));
	assert_false(canfs_failed_files_has(&files, 8, 0, 3000));
}

static void an_empty_file_is_forgotten(void **state)
{
	struct canfs_failed_files files = CANFS_FAILED_FILES_NONE;

	(void)state;
	canfs_failed_files_note(&files, 7, 0);
	canfs_failed_files_note(&files, 8, 0);
	canfs_failed_files_forget(&files, 7);
	canfs_failed_files_forget(&files, 9);
	assert_false(canfs_failed_files_has(&files, 7, 0, 1));
	assert_true(canfs_failed_files_has(&files, 8, 0, 1));
}

static void more_than_fit_are_all_files(void **state)
{
	struct canfs_failed_files files = CANFS_FAILED_FILES_NONE;

	(void)state;
	for (uint64_t file = 0; file < CANFS_FAILED_FILES_MAX; file++)
		assert_true(canfs_failed_files_note(&files, file, 0));
	assert_false(canfs_failed_files_has(&files, CANFS_FAILED_FILES_MAX, 0, 0));
	assert_true(canfs_failed_files_note(&files, CANFS_FAILED_FILES_MAX, 1));
	canfs_failed_files_forget(&files, 3);
	assert_true(canfs_failed_files_has(&files, 3, 0, 1));
	assert_true(canfs_failed_files_has(&files, 12345, 0, HOUR_USEC));
	assert_false(canfs_failed_files_has(&files, 12345, 0, HOUR_USEC + 1));
	assert_false(canfs_failed_files_any(&files));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_fails_until_its_hour_is_over),
		cmocka_unit_test(the_hour_begins_anew_with_each_error),
		cmocka_unit_test(what_has_failed_since_counts),
		cmocka_unit_test(an_empty_file_is_forgotten),
		cmocka_unit_test(more_than_fit_are_all_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
