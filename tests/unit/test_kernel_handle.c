// SPDX-License-Identifier: LGPL-3.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "ganesha-fsal/stack/core/kernel_handle.h"

static const uint8_t body[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

/* A handle with a number of that many octets, a type and the body; returns its size. */
static size_t build(
	uint8_t wire[64], uint8_t first, size_t number_bytes, const void *type, size_t type_bytes)
{
	wire[0] = first;
	memset(wire + 1, 0xee, number_bytes);
	memcpy(wire + 1 + number_bytes, type, type_bytes);
	memcpy(wire + 1 + number_bytes + type_bytes, body, sizeof(body));
	return 1 + number_bytes + type_bytes + sizeof(body);
}

static void each_kind_of_number_is_stepped_over(void **state)
{
	static const size_t number_bytes[] = { 0, 8, 8, 16, 8, 8 };
	struct canfs_kernel_handle handle;
	uint8_t wire[64], type = 1;

	(void)state;
	for (uint8_t kind = 0; kind < sizeof(number_bytes) / sizeof(number_bytes[0]); kind++) {
		size_t size = build(wire, 0x40 | kind, number_bytes[kind], &type, 1);

		assert_int_equal(canfs_parse_kernel_handle(wire, size, &handle), 0);
		assert_int_equal(handle.bytes, sizeof(body));
		assert_int_equal(handle.type, 1);
		assert_memory_equal(handle.handle, body, sizeof(body));
	}
}

static void types_have_three_widths(void **state)
{
	struct canfs_kernel_handle handle;
	uint8_t wire[64], narrow = 0x81;
	int16_t middle = -2;
	int32_t wide = 0x12345;
	size_t size = build(wire, 0x40 | 3, 16, &narrow, 1);

	(void)state;
	assert_int_equal(canfs_parse_kernel_handle(wire, size, &handle), 0);
	assert_int_equal(handle.type, 0x81); /* of XFS: not negative */
	size = build(wire, 0x80 | 3, 16, &middle, 2);
	assert_int_equal(canfs_parse_kernel_handle(wire, size, &handle), 0);
	assert_int_equal(handle.type, -2);
	size = build(wire, 0xc0 | 3, 16, &wide, 4);
	assert_int_equal(canfs_parse_kernel_handle(wire, size, &handle), 0);
	assert_int_equal(handle.type, 0x12345);
	assert_int_equal(handle.bytes, sizeof(body));
}

static void what_is_no_handle_is_refused(void **state)
{
	struct canfs_kernel_handle handle = { .bytes = 77 };
	uint8_t wire[256], type = 1;
	size_t size = build(wire, 0x40 | 3, 16, &type, 1);

	(void)state;
	assert_int_equal(canfs_parse_kernel_handle(wire, 0, &handle), -EPROTO);
	/* Too short at every place, until four octets of it are there. */
	for (size_t i = 1; i < size - sizeof(body) + CANFS_KERNEL_HANDLE_BYTES_MIN; i++)
		assert_int_equal(canfs_parse_kernel_handle(wire, i, &handle), -EPROTO);
	assert_int_equal(handle.bytes, 77);
	wire[0] = 0x40 | 0x20 | 3; /* a dummy */
	assert_int_equal(canfs_parse_kernel_handle(wire, size, &handle), -EPROTO);
	wire[0] = 3; /* no type */
	assert_int_equal(canfs_parse_kernel_handle(wire, size, &handle), -EPROTO);
	wire[0] = 0x40 | 6; /* a number of another kind */
	assert_int_equal(canfs_parse_kernel_handle(wire, size, &handle), -EPROTO);
	wire[0] = 0x40;
	memset(wire + 1, 1, sizeof(wire) - 1);
	assert_int_equal(
		canfs_parse_kernel_handle(wire, 2 + CANFS_KERNEL_HANDLE_BYTES_MAX, &handle), 0);
	assert_int_equal(
		canfs_parse_kernel_handle(wire, 3 + CANFS_KERNEL_HANDLE_BYTES_MAX, &handle),
		-EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_number_is_stepped_over),
		cmocka_unit_test(types_have_three_widths),
		cmocka_unit_test(what_is_no_handle_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
