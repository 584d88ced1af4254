// SPDX-License-Identifier: LGPL-3.0-or-later
/* Reads of a file that the disk cannot read: they keep nobody else from being answered. */
#include <sys/mman.h>

#include "tests/unit/prefetched.h"

#define BAD  50
#define GOOD 50

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static bool disk_hangs;
static unsigned int bad_begun, bad_done, good_done;

static void answer_bad(struct canfs_answer *answer)
{
	(void)answer;
	pthread_mutex_lock(&gate);
	bad_begun++;
	pthread_cond_broadcast(&moved);
	while (disk_hangs)
		pthread_cond_wait(&moved, &gate);
	bad_done++;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&gate);
}

static void answer_good(struct canfs_answer *answer)
{
	(void)answer;
	pthread_mutex_lock(&gate);
	good_done++;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&gate);
}

static void wait_for(const unsigned int *what, unsigned int least)
{
	pthread_mutex_lock(&gate);
	while (*what < least)
		pthread_cond_wait(&moved, &gate);
	pthread_mutex_unlock(&gate);
}

static void submit(struct canfs_answer *answer, void (*run)(struct canfs_answer *answer),
	struct canfs_local_file *file, uint64_t offset)
{
	*answer = (struct canfs_answer) {
		.run = run, .file = file, .offset = offset, .bytes = 64 * KIB
	};
	canfs_local_use(file);
	canfs_prefetch_submit(answer);
}

static void others_are_answered(void **state)
{
	static struct canfs_answer bad[BAD], good[GOOD];
	struct canfs_local_file *unreadable = make("bad", state, FILE_BYTES);
	struct canfs_local_file *there = make("good", &good, FILE_BYTES);

	/* Mapped, so that nobody who drops the machine's caches drops these. */
	void *kept = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED | MAP_POPULATE, there->fd, 0);

	assert_ptr_not_equal(kept, MAP_FAILED);
	disk_hangs = true;
	for (unsigned int i = 0; i < BAD; i++)
		submit(&bad[i], answer_bad, unreadable, i * 64 * KIB);
	wait_for(&bad_begun, 1);
	for (unsigned int i = 0; i < GOOD; i++)
		submit(&good[i], answer_good, there, i * 64 * KIB);
	wait_for(&good_done, GOOD);
	assert_int_equal(bad_done, 0);
	pthread_mutex_lock(&gate);
	disk_hangs = false;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&gate);
	wait_for(&bad_done, BAD);
	munmap(kept, FILE_BYTES);
	canfs_local_put(unreadable);
	canfs_local_put(there);
}

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(others_are_answered) };

	return run_on_a_disk(tests, sizeof(tests) / sizeof(tests[0]));
}
