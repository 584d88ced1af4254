// SPDX-License-Identifier: LGPL-3.0-or-later
/* Reads of a file that the disk cannot read: they keep nobody else from being answered. */
#include <sys/mman.h>

#include "tests/unit/gate.h"
#include "tests/unit/prefetched.h"

#define BAD  50
#define GOOD 50

static bool disk_hangs;
static unsigned int bad_begun, bad_done, good_done;

static void answer_bad(struct canfs_answer *answer)
{
	(void)answer;
	gate_pass(&bad_begun, &disk_hangs);
	gate_count(&bad_done);
}

static void answer_good(struct canfs_answer *answer)
{
	(void)answer;
	gate_count(&good_done);
}

static void submit(struct canfs_answer *answer, void (*run)(struct canfs_answer *answer),
	struct canfs_open_file *file, uint64_t offset)
{
	*answer = (struct canfs_answer) {
		.run = run, .file = file, .offset = offset, .bytes = 64 * KIB
	};
	canfs_fd_cache_use(file);
	canfs_prefetch_submit(answer);
}

static void others_are_answered(void **state)
{
	static struct canfs_answer bad[BAD], good[GOOD];
	struct canfs_open_file *unreadable = make("bad", state, FILE_BYTES);
	struct canfs_open_file *there = make("good", &good, FILE_BYTES);

	/* Mapped, so that nobody who drops the machine's caches drops these. */
	void *kept = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED | MAP_POPULATE, there->fd, 0);

	assert_ptr_not_equal(kept, MAP_FAILED);
	gate_set(&disk_hangs, true);
	for (unsigned int i = 0; i < BAD; i++)
		submit(&bad[i], answer_bad, unreadable, i * 64 * KIB);
	gate_await(&bad_begun, 1);
	for (unsigned int i = 0; i < GOOD; i++)
		submit(&good[i], answer_good, there, i * 64 * KIB);
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
