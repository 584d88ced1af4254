// SPDX-License-Identifier: LGPL-3.0-or-later
/* Space promised to clients with write delegations, for each account; and the reserve in a file system. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "ganesha-fsal/delegations/core/reserve.h"
#include "ganesha-fsal/delegations/core/fs_space.h"

#define NEED   ((uint64_t)200 << 10)
#define MARGIN CANFS_RESERVE_MARGIN_BYTES
#define FS     7
#define FILES  16

static struct canfs_reserve *reserve;
static const char names[FILES]; /* the addresses are those of delegations */
static unsigned int recalled[FILES];

static const struct canfs_account space = { .fs = FS, .kind = CANFS_ACCOUNT_SPACE };
static const struct canfs_account other_space = { .fs = FS + 1, .kind = CANFS_ACCOUNT_SPACE };
static const struct canfs_account user = { .fs = FS, .kind = CANFS_ACCOUNT_USER, .id = 1000 };
static const struct canfs_account group = { .fs = FS, .kind = CANFS_ACCOUNT_GROUP, .id = 1000 };

static int begin(void **state)
{
	(void)state;
	reserve = canfs_reserve_new();
	memset(recalled, 0, sizeof(recalled));
	return !reserve;
}

static int end(void **state)
{
	(void)state;
	canfs_reserve_free(reserve);
	return 0;
}

static void note(uint64_t file)
{
	recalled[file]++;
}

static int charge_one(unsigned int file, const struct canfs_account *account, uint64_t left_bytes)
{
	const struct canfs_charge charge = { .name = &names[file],
		.file = file,
		.need_bytes = NEED,
		.accounts = 1,
		.account = { *account },
		.left_bytes = { left_bytes } };

	return canfs_reserve_charge(reserve, &charge);
}

static int charge_two(unsigned int file, const struct canfs_account *quota, uint64_t left_bytes)
{
	const struct canfs_charge charge = { .name = &names[file],
		.file = file,
		.need_bytes = NEED,
		.accounts = 2,
		.account = { space, *quota },
		.left_bytes = { CANFS_UNLIMITED, left_bytes } };

	return canfs_reserve_charge(reserve, &charge);
}

static void each_page_may_need_two_blocks(void **state)
{
	(void)state;
	assert_int_equal(canfs_reserve_need(102400, 4096), 2 * 102400);
	assert_int_equal(canfs_reserve_need(102400, 1024), 2 * 102400);
	assert_int_equal(canfs_reserve_need(102400, 65536), 2 * 25 * 65536);
	assert_int_equal(canfs_reserve_need(102401, 0), 2 * 26 * 4096);
}

static void those_that_are_out_count(void **state)
{
	(void)state;
	assert_int_equal(charge_one(0, &space, MARGIN + NEED - 1), -ENOSPC);
	assert_int_equal(charge_one(0, &space, MARGIN + NEED), 0);
	assert_int_equal(charge_one(1, &space, MARGIN + 2 * NEED - 1), -ENOSPC);
	assert_int_equal(charge_one(1, &space, MARGIN + 2 * NEED), 0);
	assert_int_equal(canfs_reserve_promised(reserve, &space), 2 * NEED);
	assert_int_equal(charge_one(2, &space, 0), -ENOSPC);
	assert_int_equal(charge_one(2, &other_space, MARGIN + NEED), 0);
	canfs_reserve_discharge(reserve, &names[0]);
	assert_int_equal(charge_one(3, &space, MARGIN + 2 * NEED), 0);
	canfs_reserve_discharge(reserve, &names[1]);
	canfs_reserve_discharge(reserve, &names[1]);
	canfs_reserve_discharge(reserve, &names[3]);
	assert_int_equal(canfs_reserve_promised(reserve, &space), 0);
	assert_int_equal(canfs_reserve_promised(reserve, &other_space), NEED);
}

static void one_that_is_charged_again_counts_once(void **state)
{
	(void)state;
	assert_int_equal(charge_one(0, &space, MARGIN + NEED), 0);
	assert_int_equal(charge_one(0, &space, MARGIN + NEED), 0);
	assert_int_equal(canfs_reserve_promised(reserve, &space), NEED);
	assert_int_equal(charge_one(0, &space, 0), -ENOSPC);
	assert_int_equal(canfs_reserve_promised(reserve, &space), 0);
}

static void the_smallest_account_decides(void **state)
{
	(void)state;
	assert_int_equal(charge_two(0, &user, MARGIN + NEED - 1), -EDQUOT);
	assert_int_equal(canfs_reserve_promised(reserve, &space), 0);
	assert_int_equal(charge_two(0, &user, MARGIN + NEED), 0);
	assert_int_equal(charge_two(1, &user, MARGIN + NEED), -EDQUOT);
	assert_int_equal(charge_two(1, &group, MARGIN + NEED), 0);
	assert_int_equal(charge_two(2, &user, CANFS_UNLIMITED), 0);
	assert_int_equal(canfs_reserve_promised(reserve, &space), 3 * NEED);
	assert_int_equal(canfs_reserve_promised(reserve, &user), 2 * NEED);
}

static void a_short_account_is_recalled(void **state)
{
	(void)state;
	assert_int_equal(charge_two(0, &user, CANFS_UNLIMITED), 0);
	assert_int_equal(charge_two(1, &user, CANFS_UNLIMITED), 0);
	assert_int_equal(charge_two(2, &group, CANFS_UNLIMITED), 0);
	canfs_reserve_check(reserve, &user, 2 * NEED + MARGIN / 2, note);
	canfs_reserve_check(reserve, &user, CANFS_UNLIMITED, note);
	canfs_reserve_check(reserve, &other_space, 0, note);
	assert_int_equal(recalled[0] + recalled[1] + recalled[2], 0);
	canfs_reserve_check(reserve, &user, 2 * NEED + MARGIN / 2 - 1, note);
	assert_int_equal(recalled[0], 1);
	assert_int_equal(recalled[1], 1);
	assert_int_equal(recalled[2], 0);
	canfs_reserve_check(reserve, &space, 0, note);
	assert_int_equal(recalled[0], 2);
	assert_int_equal(recalled[2], 1);
}

static void accounts_of_one_file_system_are_told(void **state)
{
	struct canfs_account accounts[FILES];

	(void)state;
	assert_int_equal(charge_two(0, &user, CANFS_UNLIMITED), 0);
	assert_int_equal(charge_two(1, &group, CANFS_UNLIMITED), 0);
	assert_int_equal(charge_one(2, &other_space, CANFS_UNLIMITED), 0);
	assert_int_equal(canfs_reserve_accounts(reserve, FS, accounts, FILES), 3);
	assert_int_equal(canfs_reserve_accounts(reserve, FS, accounts, 2), 2);
	assert_int_equal(canfs_reserve_accounts(reserve, FS + 1, accounts, FILES), 1);
	assert_memory_equal(&accounts[0], &other_space, sizeof(other_space));
}

/* Uses the file system that the test runs in. */
static void what_is_reserved_is_kept_until_it_is_spent(void **state)
{
	struct canfs_fs_space own;
	struct stat st;
	int dir = open(".", O_RDONLY | O_DIRECTORY);
	int ret = canfs_fs_space_open(&own, dir);

	(void)state;
	close(dir);
	if (ret == -EROFS || (ret == 0 && !own.can_reserve))
		skip();
	assert_int_equal(ret, 0);
	assert_false(canfs_fs_space_spend(&own, 1));
	assert_int_equal(canfs_fs_space_reserve(&own, 1), 0);
	if (!own.can_reserve)
		skip();
	assert_int_equal(fstat(own.fd, &st), 0);
	assert_true((uint64_t)st.st_blocks * 512 >= own.reserved_bytes && own.reserved_bytes > 1);
	assert_true(canfs_fs_space_left(&own, CANFS_ACCOUNT_SPACE, 0) >= own.reserved_bytes);
	assert_true(canfs_fs_space_spend(&own, 1));
	assert_true(canfs_fs_space_spend(&own, UINT64_C(1) << 40));
	assert_int_equal(own.reserved_bytes, 0);
	assert_false(canfs_fs_space_spend(&own, 1));
	assert_int_equal(fstat(own.fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	canfs_fs_space_close(&own);
	assert_false(canfs_fs_space_spend(&own, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_page_may_need_two_blocks, begin, end),
		cmocka_unit_test_setup_teardown(those_that_are_out_count, begin, end),
		cmocka_unit_test_setup_teardown(one_that_is_charged_again_counts_once, begin, end),
		cmocka_unit_test_setup_teardown(the_smallest_account_decides, begin, end),
		cmocka_unit_test_setup_teardown(a_short_account_is_recalled, begin, end),
		cmocka_unit_test_setup_teardown(accounts_of_one_file_system_are_told, begin, end),
		cmocka_unit_test_setup_teardown(
			what_is_reserved_is_kept_until_it_is_spent, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
