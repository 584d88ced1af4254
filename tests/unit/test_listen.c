// SPDX-License-Identifier: LGPL-3.0-or-later
/* Where metrics may be served: the loopback, and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <netinet/in.h>
#include <cmocka.h>

#include "client-agent/config/listen.h"

static void test_loopback(void **state)
{
	struct sockaddr_storage address;

	(void)state;
	assert_int_equal(canfs_listen_parse("127.0.0.1:9105", &address), 0);
	assert_int_equal(address.ss_family, AF_INET);
	assert_int_equal(((struct sockaddr_in *)&address)->sin_port, htons(9105));
	assert_int_equal(((struct sockaddr_in *)&address)->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_int_equal(canfs_listen_parse("127.3.2.1:1", &address), 0);
	assert_int_equal(canfs_listen_parse("[::1]:65535", &address), 0);
	assert_int_equal(address.ss_family, AF_INET6);
	assert_int_equal(((struct sockaddr_in6 *)&address)->sin6_port, htons(65535));
}

static void test_everybody_else(void **state)
{
	static const char *const texts[] = { "0.0.0.0:9105", "192.0.2.1:9105", "128.0.0.1:9105",
		"126.255.255.255:1", "[::]:9105", "[2001:db8::1]:9105", "[::ffff:127.0.0.1]:9105" };
	struct sockaddr_storage address = { .ss_family = AF_UNIX };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(canfs_listen_parse(texts[i], &address), -EACCES);
	assert_int_equal(address.ss_family, AF_UNIX);
}

static void test_no_address_at_all(void **state)
{
	static const char *const texts[] = { "", ":", ":9105", "9105", "127.0.0.1",
		"127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:91o5",
		"127.0.0.1:9105 ", " 127.0.0.1:9105", "localhost:9105", "::1:9105", "[::1]",
		"[::1:9105", "[]:9105", "[", "[:9105", "]:9105", "[127.0.0.1]:9105", "127.1:9105",
		"127.0.0.1:99999999999999999999999999",
		"0000000000000000000000000000000000000000000000000127.0.0.1:9105" };
	struct sockaddr_storage address;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(canfs_listen_parse(texts[i], &address), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_everybody_else),
		cmocka_unit_test(test_no_address_at_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
