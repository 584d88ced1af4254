// SPDX-License-Identifier: LGPL-3.0-or-later
/* The server's file handle inside the kernel's: every length is checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "client-agent/kernel/handle.h"

static uint8_t kernel[128], handle[CANFS_MOUNT_HANDLE_MAX];
static size_t len;

/* As Linux's NFS client lays it out, for a server's handle of size bytes. */
static size_t lay_out(uint16_t size, uint32_t type)
{
	memset(kernel, 0, sizeof(kernel));
	memcpy(kernel + 8, &type, sizeof(type));
	memcpy(kernel + 12, &size, sizeof(size));
	for (size_t i = 14; i < 14u + size && i < sizeof(kernel); i++)
		kernel[i] = (uint8_t)(i - 13);
	return (14u + size + 3) / 4 * 4;
}

static void test_all_lengths(void **state)
{
	(void)state;
	for (uint16_t size = 1; size <= CANFS_MOUNT_HANDLE_MAX; size++) {
		size_t capacity = lay_out(size, S_IFDIR);
		assert_int_equal(canfs_mount_handle_decode(
					 (int)capacity / 4, kernel, capacity, handle, &len),
			0);
		assert_int_equal(len, size);
		assert_int_equal(handle[0], 1);
		assert_int_equal(handle[size - 1], size);
	}
	/* NFSv4 handles may be longer than NFSv3 allows. */
	size_t capacity = lay_out(65, S_IFDIR);
	assert_int_equal(
		canfs_mount_handle_decode((int)capacity / 4, kernel, capacity, handle, &len),
		-EMSGSIZE);
}

static void test_lies(void **state)
{
	(void)state;
	size_t capacity = lay_out(24, S_IFDIR);
	assert_int_equal(capacity, 40);
	assert_int_equal(canfs_mount_handle_decode(9, kernel, 40, handle, &len), -EPROTO);
	assert_int_equal(canfs_mount_handle_decode(-1, kernel, 40, handle, &len), -EPROTO);
	assert_int_equal(canfs_mount_handle_decode(11, kernel, 44, handle, &len), -EPROTO);
	assert_int_equal(canfs_mount_handle_decode(9, kernel, 36, handle, &len), -EPROTO);
	assert_int_equal(canfs_mount_handle_decode(3, kernel, 12, handle, &len), -EPROTO);
	assert_int_equal(canfs_mount_handle_decode(0, kernel, 0, handle, &len), -EPROTO);
	assert_int_equal(canfs_mount_handle_decode(10, kernel, 39, handle, &len), -EPROTO);
	lay_out(0, S_IFDIR);
	assert_int_equal(canfs_mount_handle_decode(4, kernel, 16, handle, &len), -EPROTO);
	lay_out(0xffff, S_IFDIR);
	assert_int_equal(canfs_mount_handle_decode(32, kernel, 128, handle, &len), -EPROTO);
	lay_out(24, S_IFREG);
	assert_int_equal(canfs_mount_handle_decode(10, kernel, 40, handle, &len), -EPROTO);
}

static void test_other_file_systems(void **state)
{
	(void)state;
	assert_int_equal(canfs_mount_handle("/", 2, handle, &len), -EINVAL);
	assert_true(canfs_mount_handle("/no/such/place", 3, handle, &len) < 0);
	/* Always in the kernel's memory, so this one does get as far as to the handle. */
	assert_int_not_equal(canfs_mount_handle("/", 3, handle, &len), -EAGAIN);
	assert_true(canfs_mount_handle("/proc", 3, handle, &len) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_lengths),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_other_file_systems),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
