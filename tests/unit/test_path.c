// SPDX-License-Identifier: LGPL-3.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/path.h"

static void test_clean(void **state)
{
	static const char *const cases[][2] = {
		{ "/", "/" },
		{ "//", "/" },
		{ "/.", "/" },
		{ "/./", "/" },
		{ "/..", "/" },
		{ "/../../a", "/a" },
		{ "/tmp", "/tmp" },
		{ "//tmp", "/tmp" },
		{ "/tmp/", "/tmp" },
		{ "/tmp///", "/tmp" },
		{ "/./tmp/.", "/tmp" },
		{ "/a//b/./c/", "/a/b/c" },
		{ "/a/../b", "/b" },
		{ "/a/b/..", "/a" },
		{ "/a/..", "/" },
		{ "/a/.b/..c/...", "/a/.b/..c/..." },
		{ "/with blank/\n", "/with blank/\n" },
		{ "", "" },
		{ "vol1", "vol1" },
		{ "vol1//x/.", "vol1//x/." },
		{ "./a", "./a" },
	};
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		strcpy(path, cases[i][0]);
		canfs_path_clean(path);
		assert_string_equal(path, cases[i][1]);
	}
}

static void test_below(void **state)
{
	(void)state;
	assert_true(canfs_path_is_below("/a/b", "/a"));
	assert_true(canfs_path_is_below("/a", "/a"));
	assert_true(canfs_path_is_below("/a", "/"));
	assert_false(canfs_path_is_below("/ab", "/a"));
	assert_false(canfs_path_is_below("vol1", "/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_below),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
