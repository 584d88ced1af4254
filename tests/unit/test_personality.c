// SPDX-License-Identifier: LGPL-3.0-or-later
/* filebench's personalities: properties of their files, the turn in which they are taken, and the threads' steps. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "bench/jobs/flow_kinds.h"
#include "bench/jobs/job.h"
#include "bench/jobs/personalities.h"

static const char *const names[] = { "fileserver", "varmail", "webserver", "webproxy", "oltp" };

#define NAMES (sizeof(names) / sizeof(*names))

static struct canfs_file_set plan(const struct canfs_file_set_spec *spec, uint64_t seed)
{
	struct canfs_file_set set;

	assert_int_equal(canfs_file_set_plan(&set, spec, "/x", &seed), 0);
	assert_int_equal(set.files, spec->files);
	return set;
}

static void test_gamma(void **state)
{
	uint64_t random = 7;
	double sum = 0, squares = 0;
	int n = 200000;

	(void)state;
	for (int i = 0; i < n; i++) {
		double x = canfs_job_gamma(&random, 1.5, 300);

		assert_true(x > 0);
		sum += x;
		squares += x * x;
	}
	assert_true(fabs(sum / n - 300) < 3);
	/* the standard deviation is the mean by the root of the shape */
	assert_true(fabs(sqrt(squares / n - sum / n * (sum / n)) - 300 / sqrt(1.5)) < 4);
}

static void test_sizes(void **state)
{
	const struct canfs_file_set_spec *spec = canfs_personality_find("fileserver")->set;
	struct canfs_file_set set = plan(spec, 1), same = plan(spec, 1), other = plan(spec, 2);
	uint64_t bytes = 0;
	uint32_t existing = 0, equal = 0;

	(void)state;
	for (uint32_t i = 0; i < set.files; i++) {
		bytes += set.file[i].bytes;
		existing += set.file[i].exists;
		equal += set.file[i].bytes == other.file[i].bytes;
		assert_int_equal(set.file[i].bytes, same.file[i].bytes);
		assert_string_equal(set.file[i].path, same.file[i].path);
	}
	assert_in_range(bytes / set.files, 125 << 10, 131 << 10);
	assert_int_equal(existing, set.files * 8 / 10);
	assert_true(equal < 10);
	canfs_file_set_free(&set);
	canfs_file_set_free(&same);
	canfs_file_set_free(&other);
}

static void test_directories(void **state)
{
	struct canfs_file_set set = plan(canfs_personality_find("fileserver")->set, 1);

	(void)state;
	/* 10,000 files, about 20 in each, and a directory above the other */
	assert_in_range(set.directories, 400, 800);
	assert_string_equal(set.directory[0], "/x/bigfileset");
	assert_string_equal(set.directory[1], "/x/bigfileset/00000001");
	canfs_file_set_free(&set);
	set = plan(canfs_personality_find("webproxy")->set, 1);
	assert_in_range(set.directories, 2, 10);
	assert_int_equal(set.file[0].bytes, 16 << 10);
	assert_int_equal(set.file[9999].bytes, 16 << 10);
	canfs_file_set_free(&set);
}

static uint32_t take(struct canfs_file_set *set, enum canfs_take how)
{
	struct canfs_set_file *file = canfs_file_set_take(set, how, NULL);

	return file ? (uint32_t)(file - set->file) : UINT32_MAX;
}

static void test_turns(void **state)
{
	static const struct canfs_file_set_spec spec = { "set", 4, 10, 1000, .percent = 100 };
	struct canfs_file_set set = plan(&spec, 1);
	uint32_t own = 0;

	(void)state;
	assert_int_equal(take(&set, CANFS_TAKE_OPEN), 0);
	canfs_file_set_give(&set, &set.file[0], CANFS_TAKE_OPEN, 0);
	assert_int_equal(take(&set, CANFS_TAKE_LOOK), 1); /* and stays busy */
	assert_int_equal(take(&set, CANFS_TAKE_CREATE), UINT32_MAX);
	assert_int_equal(take(&set, CANFS_TAKE_DELETE), 2);
	canfs_file_set_give(&set, &set.file[2], CANFS_TAKE_DELETE, 0);
	assert_int_equal(take(&set, CANFS_TAKE_DELETE), 3);
	canfs_file_set_give(&set, &set.file[3], CANFS_TAKE_DELETE, -EIO);
	assert_true(set.file[3].exists);
	assert_int_equal(take(&set, CANFS_TAKE_CREATE), 2);
	canfs_file_set_give(&set, &set.file[2], CANFS_TAKE_CREATE, 0);
	assert_int_equal(take(&set, CANFS_TAKE_OPEN), 0); /* open already: once more */
	assert_ptr_equal(canfs_file_set_take(&set, CANFS_TAKE_OPEN, &own), &set.file[2]);
	assert_int_equal(own, 3);
	canfs_file_set_free(&set);
}

/* File 0 is open, file 1 is closed but busy, so none can be deleted. A busy file is opened if there is no other. */
static void test_busy(void **state)
{
	static const struct canfs_file_set_spec spec = { "set", 2, 10, 1000, .percent = 100 };
	struct canfs_file_set set = plan(&spec, 1);

	(void)state;
	assert_int_equal(take(&set, CANFS_TAKE_OPEN), 0);
	canfs_file_set_give(&set, &set.file[0], CANFS_TAKE_OPEN, 0);
	assert_int_equal(take(&set, CANFS_TAKE_LOOK), 1);
	assert_int_equal(take(&set, CANFS_TAKE_DELETE), UINT32_MAX);
	canfs_file_set_close(&set, &set.file[0]);
	assert_int_equal(take(&set, CANFS_TAKE_OPEN), 0);
	canfs_file_set_give(&set, &set.file[0], CANFS_TAKE_OPEN, 0);
	canfs_file_set_closed(&set, &set.file[0]);
	assert_int_equal(set.file[0].opens, 1);
	canfs_file_set_free(&set);
}

static void check_step(const struct canfs_personality *p, const struct canfs_flow_step *step)
{
	assert_non_null(step->name);
	assert_non_null(p->set[step->set].name);
	assert_true(step->slot < CANFS_FLOW_SLOTS);
	assert_true(step->bytes <= CANFS_FLOW_BUFFER_BYTES);
	assert_true(step->to < CANFS_FLOW_GROUPS && p->group[step->to].threads > 0);
}

static void test_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < NAMES; i++) {
		const struct canfs_personality *p = canfs_personality_find(names[i]);

		assert_non_null(p);
		assert_non_null(strstr(CANFS_PERSONALITIES, names[i]));
		for (int g = 0; g < CANFS_FLOW_GROUPS; g++) {
			uint32_t steps = canfs_flow_steps(&p->group[g]);

			assert_int_equal(steps > 0, p->group[g].threads > 0);
			assert_true(steps <= CANFS_FLOW_STEPS);
			for (uint32_t s = 0; s < steps; s++)
				check_step(p, &p->group[g].step[s]);
		}
	}
	assert_null(canfs_personality_find("file"));
}

static void test_histogram(void **state)
{
	struct canfs_flow_stats stats = { 0 };

	(void)state;
	canfs_flow_count(&stats, 0, 5);
	canfs_flow_count(&stats, 1, 0);
	canfs_flow_count(&stats, 1023, 0);
	canfs_flow_count(&stats, 1024, 6);
	assert_int_equal(stats.ops, 4);
	assert_int_equal(stats.bytes, 11);
	assert_int_equal(stats.max_ns, 1024);
	assert_int_equal(stats.histogram[0], 1);
	assert_int_equal(stats.histogram[1], 1);
	assert_int_equal(stats.histogram[10], 1);
	assert_int_equal(stats.histogram[11], 1);
	canfs_flow_count(&stats, UINT64_MAX, 0);
	assert_int_equal(stats.histogram[CANFS_FLOW_CLASSES - 1], 1);
}

/* Some threads on few files: every step runs once for each thread and loop, and deleted files are gone. */
static void test_work(void **state)
{
	char directory[] = "/tmp/canfs-test-XXXXXX", command[64];
	struct canfs_personality personality = *canfs_personality_find("varmail");
	struct canfs_flow_run run = {
		.personality = &personality, .seed = 3, .loops = 25, .scale = 1
	};
	uint64_t random = 3;

	(void)state;
	assert_non_null(mkdtemp(directory));
	personality.set[0].files = 40;
	personality.group[0].threads = 4;
	assert_int_equal(canfs_file_set_plan(run.set, personality.set, directory, &random), 0);
	assert_int_equal(canfs_file_set_make(run.set, &random), 0);
	assert_int_equal(canfs_flow_prepare(&run), 0);
	assert_int_equal(canfs_flow_work(&run, 0), 0);
	assert_int_equal(run.shared->failed, 0);
	assert_int_equal(run.shared->done, 4);
	for (uint32_t i = 0; i < canfs_flow_steps(personality.group); i++)
		assert_int_equal(canfs_flow_sum(&run, 0, i).ops, 100);
	for (uint32_t i = 0; i < run.set[0].files; i++) {
		const struct canfs_set_file *file = &run.set[0].file[i];

		assert_int_equal(access(file->path, F_OK), file->exists ? 0 : -1);
		assert_int_equal(file->opens + file->busy, 0);
	}
	canfs_flow_release(&run);
	canfs_file_set_free(run.set);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

/* Files with the right size stay, others are replaced. */
static void test_make_again(void **state)
{
	static const struct canfs_file_set_spec spec = { "set", 3, 10, 1000, .same_size = true,
		.percent = 67 };
	char directory[] = "/tmp/canfs-test-XXXXXX", command[64];
	struct canfs_file_set set;
	uint64_t random = 1;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(canfs_file_set_plan(&set, &spec, directory, &random), 0);
	for (int again = 0; again < 2; again++) {
		uint32_t found = 0;

		assert_int_equal(canfs_file_set_make(&set, &random), 0);
		for (uint32_t i = 0; i < set.files; i++) {
			if (!set.file[i].exists) {
				assert_int_equal(access(set.file[i].path, F_OK), -1);
				assert_int_equal(symlink("/nowhere", set.file[i].path), 0);
				continue;
			}
			assert_int_equal(stat(set.file[i].path, &st), 0);
			assert_int_equal(st.st_size, 1000);
			assert_int_equal(truncate(set.file[i].path, 10 + found++), 0);
		}
		assert_int_equal(found, 2);
	}
	canfs_file_set_free(&set);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gamma),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_directories),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_make_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
