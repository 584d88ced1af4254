// SPDX-License-Identifier: LGPL-3.0-or-later
/* Commits of a journal: each waits for one that began after it, and many share one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include "ganesha-fsal/promises/core/fs_journal.h"

#define THREADS 16
#define TIMES   50

static void needs_a_directory(void **state)
{
	struct canfs_fs_journal *journal;

	(void)state;
	assert_int_equal(canfs_fs_journal_open(&journal, "/nowhere"), -ENOENT);
	assert_int_equal(canfs_fs_journal_open(&journal, "/proc/version"), -ENOTDIR);
	canfs_fs_journal_close(NULL);
}

static void one_alone_writes_it_each_time(void **state)
{
	struct canfs_fs_journal *journal;

	(void)state;
	assert_int_equal(canfs_fs_journal_open(&journal, "."), 0);
	assert_int_equal(canfs_fs_journal_commits(journal), 0);
	assert_int_equal(canfs_fs_journal_commit(journal), 0);
	assert_int_equal(canfs_fs_journal_commit(journal), 0);
	assert_int_equal(canfs_fs_journal_commits(journal), 2);
	canfs_fs_journal_close(journal);
}

struct crowd {
	struct canfs_fs_journal *journal;
	_Atomic unsigned int wrong;
};

static void *commit_often(void *arg)
{
	struct crowd *crowd = arg;

	for (int i = 0; i < TIMES; i++) {
		uint64_t before = canfs_fs_journal_commits(crowd->journal);

		/* Of those that were done then at least one more, that began later, must be. */
		if (canfs_fs_journal_commit(crowd->journal) != 0 ||
			canfs_fs_journal_commits(crowd->journal) <= before)
			crowd->wrong++;
	}
	return NULL;
}

static void many_share(void **state)
{
	struct crowd crowd = { 0 };
	pthread_t threads[THREADS];

	(void)state;
	assert_int_equal(canfs_fs_journal_open(&crowd.journal, "."), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, commit_often, &crowd), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(crowd.wrong, 0);
	assert_in_range(canfs_fs_journal_commits(crowd.journal), TIMES, THREADS * TIMES);
	canfs_fs_journal_close(crowd.journal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(needs_a_directory),
		cmocka_unit_test(one_alone_writes_it_each_time),
		cmocka_unit_test(many_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
