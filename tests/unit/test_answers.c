// SPDX-License-Identifier: LGPL-3.0-or-later
/* Reads of a file that the disk cannot read: they keep nobody else from being answered. */
#include <sys/mman.h>

#include "ganesha-fsal/read/prefetch/fetching.h"
#include "tests/unit/gate.h"
#include "tests/unit/prefetched.h"

#define BAD  50
#define GOOD 50

static bool disk_hangs;
static unsigned int bad_begun, bad_done, good_done;

static void answer_bad(struct canfs_read *read)
{
	(void)read;
	gate_pass(&bad_begun, &disk_hangs);
	gate_count(&bad_done);
}

static void answer_good(struct canfs_read *read)
{
	(void)read;
	gate_count(&good_done);
}

/* One whose pages were fetched, or were to be. */
static void arrive(struct canfs_read *read, void (*answer)(struct canfs_read *read),
	struct canfs_open_file *file, uint64_t offset)
{
	*read = (struct canfs_read) { .answer = answer,
		.file = file,
		.export_fs = export_fs,
		.device = canfs_export_fs_device(export_fs),
		.way = CANFS_READ_DELAYED,
		.left = 1,
		.offset = offset,
		.bytes = 64 * KIB };
	canfs_fd_cache_use(file);
	canfs_read_fetch_ended(read);
}

static void others_are_answered(void **state)
{
	static struct canfs_read bad[BAD], good[GOOD];
	struct canfs_open_file *unreadable = make("bad", state, FILE_BYTES);
	struct canfs_open_file *there = make("good", &good, FILE_BYTES);

	/* Mapped, so that dropping the machine's caches does not drop these. */
	void *kept = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED | MAP_POPULATE, there->fd, 0);

	assert_ptr_not_equal(kept, MAP_FAILED);
	gate_set(&disk_hangs, true);
	for (unsigned int i = 0; i < BAD; i++)
		arrive(&bad[i], answer_bad, unreadable, i * 64 * KIB);
	gate_await(&bad_begun, 1);
	for (unsigned int i = 0; i < GOOD; i++)
		arrive(&good[i], answer_good, there, i * 64 * KIB);
	gate_await(&good_done, GOOD);
	assert_int_equal(bad_done, 0);
	gate_set(&disk_hangs, false);
	gate_await(&bad_done, BAD);
	munmap(kept, FILE_BYTES);
	canfs_fd_cache_put(unreadable);
	canfs_fd_cache_put(there);
}

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(others_are_answered) };

	return run_on_a_disk(tests, sizeof(tests) / sizeof(tests[0]));
}
