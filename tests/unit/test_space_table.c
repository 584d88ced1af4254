// SPDX-License-Identifier: LGPL-3.0-or-later
/* Space for write delegations, on the file system that the test runs in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ganesha-fsal/delegations/core/space_table.h"

#define LIMIT_BYTES 102400
#define FILES       64

static struct canfs_space_table *table;
static const char names[FILES];
static atomic_uint recalled;

static void note(uint64_t file)
{
	(void)file;
	atomic_fetch_add(&recalled, 1);
}

static int begin(void **state)
{
	const struct canfs_space_table_config config = { .limit_bytes = LIMIT_BYTES,
		.recall = note };

	(void)state;
	atomic_store(&recalled, 0);
	return canfs_space_table_new(&table, &config);
}

static int end(void **state)
{
	(void)state;
	canfs_space_table_free(table);
	return 0;
}

/* The thread may be busy with the file system. */
static int charge(unsigned int number, int dir)
{
	struct canfs_space_user user = {
		.name = &names[number], .file = number, .dir = dir, .fd = dir
	};
	struct stat st;
	int ret;

	assert_int_equal(fstat(dir, &st), 0);
	user.dev = st.st_dev;
	while ((ret = canfs_space_table_charge(table, &user)) == -EBUSY)
		usleep(1000);
	return ret;
}

static dev_t device_of(int dir)
{
	struct stat st;

	assert_int_equal(fstat(dir, &st), 0);
	return st.st_dev;
}

static void there_is_space(void **state)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY);

	(void)state;
	for (unsigned int i = 0; i < FILES; i++)
		assert_int_equal(charge(i, dir), 0);
	for (unsigned int i = 0; i < FILES; i++)
		canfs_space_table_discharge(table, &names[i]);
	assert_false(canfs_space_table_spend(table, device_of(dir) + 1, LIMIT_BYTES));
	(void)canfs_space_table_spend(table, device_of(dir), UINT64_MAX);
	assert_false(canfs_space_table_spend(table, device_of(dir), LIMIT_BYTES));
	close(dir);
}

static void none_where_nobody_may_write(void **state)
{
	int dir = open("/proc", O_RDONLY | O_DIRECTORY);

	(void)state;
	assert_true(charge(0, dir) < 0);
	close(dir);
}

static void all_are_recalled_before_a_change(void **state)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY);

	(void)state;
	canfs_space_table_recall(table, 1);
	assert_int_equal(atomic_load(&recalled), 0);
	assert_int_equal(charge(0, dir), 0);
	assert_int_equal(charge(1, dir), 0);
	canfs_space_table_recall(table, 1);
	assert_true(atomic_load(&recalled) >= 2);
	assert_int_equal(charge(2, dir), 0);
	close(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(there_is_space, begin, end),
		cmocka_unit_test_setup_teardown(none_where_nobody_may_write, begin, end),
		cmocka_unit_test_setup_teardown(all_are_recalled_before_a_change, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
