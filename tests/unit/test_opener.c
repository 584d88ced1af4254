// SPDX-License-Identifier: LGPL-3.0-or-later
/* Parses how a thread that waits in open(2) opens its file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include "ganesha-fsal/delegations/core/opener.h"

static enum canfs_opening of(long call, unsigned int first, unsigned int second, unsigned int third)
{
	char line[128];

	snprintf(line, sizeof(line),
		"%ld 0x%x 0x%x 0x%x 0x1b6 0x0 0x0 0x7ffd8f27bba0 0x7f9ea6080011\n", call, first,
		second, third);
	return canfs_parse_opening(line);
}

static void flags_are_found(void **state)
{
	const unsigned int truncates = O_WRONLY | O_CREAT | O_TRUNC, appends = O_WRONLY | O_APPEND;

	(void)state;
	assert_int_equal(of(SYS_openat, 0xffffff9c, 0x5000, truncates), CANFS_OPENING_TRUNCATES);
	assert_int_equal(of(SYS_openat, 0xffffff9c, O_TRUNC, appends), CANFS_OPENING_KEEPS);
	assert_int_equal(of(SYS_open_by_handle_at, 5, 0x5000, truncates), CANFS_OPENING_TRUNCATES);
	assert_int_equal(of(SYS_execve, 0x5000, O_TRUNC, O_TRUNC), CANFS_OPENING_KEEPS);
#ifdef SYS_open
	assert_int_equal(of(SYS_open, 0x5000, truncates, 0), CANFS_OPENING_TRUNCATES);
	assert_int_equal(of(SYS_open, 0x5000, O_RDONLY, O_TRUNC), CANFS_OPENING_KEEPS);
	assert_int_equal(of(SYS_creat, 0x5000, 0644, 0), CANFS_OPENING_TRUNCATES);
#endif
}

static void what_is_not_known_is_not_guessed(void **state)
{
	static const char *const lines[] = { "", "-1 0x7ffd8f27bba0 0x7f9ea6080011\n", "x", "257",
		"257 0x1 0x2" };

	(void)state;
	assert_int_equal(canfs_parse_opening("running\n"), CANFS_OPENING_RUNNING);
	assert_int_equal(of(SYS_openat2, 5, 0x5000, 0x6000), CANFS_OPENING_UNKNOWN);
	assert_int_equal(of(SYS_read, 5, O_TRUNC, O_TRUNC), CANFS_OPENING_UNKNOWN);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(canfs_parse_opening(lines[i]), CANFS_OPENING_UNKNOWN);
	assert_int_equal(canfs_look_at_opener(0), CANFS_OPENING_UNKNOWN);
	assert_int_equal(canfs_look_at_opener(-1), CANFS_OPENING_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_are_found),
		cmocka_unit_test(what_is_not_known_is_not_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
