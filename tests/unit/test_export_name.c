// SPDX-License-Identifier: LGPL-3.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "client-agent/auction/export_name.h"

static void test_good_names(void **state)
{
	static const struct {
		const char *text, *host, *path;
	} cases[] = {
		{ "nas:/export", "nas", "/export" },
		{ "nas:/", "nas", "/" },
		{ "192.0.2.1:/a:b/c", "192.0.2.1", "/a:b/c" },
		{ "[::1]:/path", "::1", "/path" },
		{ "[fe80::1%eth0]:/p]:/q", "fe80::1%eth0", "/p]:/q" },
		{ "[192.0.2.1]:/p", "192.0.2.1", "/p" },
		{ "nas:export", "nas", "export" },
		{ "[::1]:path", "::1", "path" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct canfs_export_name name;

		assert_int_equal(canfs_export_name_parse(cases[i].text, &name), 0);
		assert_string_equal(name.host, cases[i].host);
		assert_string_equal(name.path, cases[i].path);
	}
}

static void test_bad_names(void **state)
{
	static const char *const texts[] = { "", ":", "/", "nas", "nas:", ":/export", "::1:/path",
		"[]:/path", "[::1:/path", "[::1]/path", "[::1]", "[::1]x:/path", "fe80::1:path",
		"nas:a:b", "[::1]:", "[", "]", "/mnt:/x" };
	char long_name[CANFS_HOST_MAX + 4];
	struct canfs_export_name name;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(canfs_export_name_parse(texts[i], &name), -EINVAL);
	memset(long_name, 'h', sizeof(long_name));
	strcpy(long_name + CANFS_HOST_MAX, ":/");
	assert_int_equal(canfs_export_name_parse(long_name, &name), 0);
	strcpy(long_name + CANFS_HOST_MAX, "h:/");
	assert_int_equal(canfs_export_name_parse(long_name, &name), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_names),
		cmocka_unit_test(test_bad_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
