// SPDX-License-Identifier: LGPL-3.0-or-later
/* An export goes while a file of it is being opened: afterwards nothing of it is open, or it could not be unmounted. */
#include <sys/syscall.h>

#include "tests/unit/prefetched.h"

static bool drains;

int open_by_handle_at(int mount, struct file_handle *handle, int flags)
{
	if (drains)
		assert_true(canfs_prefetcher_drain(export_fs));
	return (int)syscall(SYS_open_by_handle_at, mount, handle, flags);
}

static void what_is_opened_meanwhile_is_closed(void **state)
{
	drains = true;
	assert_null(make("file", state, KIB));
	drains = false;
	assert_int_equal(stats().fd_cache.open, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(what_is_opened_meanwhile_is_closed) };

	return run_on_a_disk(tests, sizeof(tests) / sizeof(tests[0]));
}
