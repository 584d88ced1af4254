// SPDX-License-Identifier: LGPL-3.0-or-later
/* What jobs of canfsctl run tell of themselves: written, read, left behind, and wrong. */
#include "tests/unit/fake_root.h"

#include <math.h>

#include "canfsctl/run/jobs.h"
#include "canfsctl/run/process_stat.h"

#define STAT                                                                                       \
	"%d (can) s(l) S 1 4 4 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 %d 1 2 18446744073709551615 " \
	"1\n"

/* As /proc has it, its name with blanks and parentheses; and the directory of the jobs beside it. */
static void run_process(const struct fake_root *root, int pid, int started)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	snprintf(text, sizeof(text), STAT, pid, started);
	fake_root_write(root, path, text);
}

static void end_process(const struct fake_root *root, int pid)
{
	char path[64], full[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fake_root_full(root, path, full);
	assert_int_equal(unlink(full), 0);
}

static struct canfs_governed_job job_of(int pid)
{
	return (struct canfs_governed_job) { .pid = pid,
		.started_ticks = (int64_t)pid * 10,
		.command = "tar -cf /backup/data.tar /data",
		.is_paused = true,
		.reason = "the price is above the bid",
		.price = 0.85,
		.bottleneck = "disk",
		.source = "service",
		.server = "nas:/data",
		.bid = 0.5,
		.sec = 100,
		.ran_sec = 40,
		.pauses = 7,
		.unix_sec = 1800000000 };
}

static const char *jobs_of(const struct fake_root *root)
{
	static char directory[PATH_MAX];

	fake_root_full(root, "/run/canfs/jobs", directory);
	return directory;
}

static json_t *read_jobs(const struct fake_root *root)
{
	json_t *jobs = canfs_jobs_read(jobs_of(root), root->path);

	assert_true(json_is_array(jobs));
	return jobs;
}

static void assert_pids(const struct fake_root *root, size_t n, const int *pids)
{
	json_t *jobs = read_jobs(root);

	assert_int_equal(json_array_size(jobs), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(
			json_integer_value(json_object_get(json_array_get(jobs, i), "pid")),
			pids[i]);
	json_decref(jobs);
}

static void publish(const struct fake_root *root, int pid)
{
	struct canfs_governed_job job = job_of(pid);

	run_process(root, pid, pid * 10);
	assert_int_equal(canfs_job_publish(jobs_of(root), &job), 0);
}

/* /run is there. */
static int setup(void **state)
{
	fake_root_setup(state);
	fake_root_write(*state, "/run/utmp", "");
	return 0;
}

static void test_nothing_there(void **state)
{
	assert_pids(*state, 0, NULL);
}

static void test_what_is_told_is_read(void **state)
{
	json_t *jobs, *expected;

	publish(*state, 42);
	jobs = read_jobs(*state);
	expected = json_pack("[{s:i, s:s, s:b, s:s, s:f, s:s, s:s, s:s, s:f, s:f, s:f, s:i, s:f}]",
		"pid", 42, "command", "tar -cf /backup/data.tar /data", "paused", 1, "reason",
		"the price is above the bid", "price", 0.85, "bottleneck", "disk", "source",
		"service", "server", "nas:/data", "bid", 0.5, "seconds", 100.0, "ran_seconds", 40.0,
		"pauses", 7, "time", 1800000000.0);
	assert_true(json_equal(jobs, expected));
	json_decref(expected);
	json_decref(jobs);
}

static void test_without_a_price(void **state)
{
	struct canfs_governed_job job = job_of(42);
	json_t *jobs;

	run_process(*state, 42, 420);
	job.price = NAN;
	job.bottleneck = job.source = NULL;
	assert_int_equal(canfs_job_publish(jobs_of(*state), &job), 0);
	jobs = read_jobs(*state);
	assert_true(json_is_null(json_object_get(json_array_get(jobs, 0), "price")));
	assert_true(json_is_null(json_object_get(json_array_get(jobs, 0), "server")));
	json_decref(jobs);
}

/* The longest, of what takes the most octets in JSON. */
static void test_any_command(void **state)
{
	struct canfs_governed_job job = job_of(42);
	json_t *jobs;

	run_process(*state, 42, 420);
	memset(job.command, 1, sizeof(job.command) - 1);
	memset(job.server, 0xff, sizeof(job.server) - 1);
	job.command[sizeof(job.command) - 1] = job.server[sizeof(job.server) - 1] = '\0';
	assert_int_equal(canfs_job_publish(jobs_of(*state), &job), 0);
	jobs = read_jobs(*state);
	assert_string_equal(json_string_value(json_object_get(json_array_get(jobs, 0), "command")),
		job.command);
	json_decref(jobs);
}

static void test_in_the_order_of_their_numbers(void **state)
{
	publish(*state, 300);
	publish(*state, 20);
	publish(*state, 1000);
	assert_pids(*state, 3, (const int[]) { 20, 300, 1000 });
	canfs_job_withdraw(jobs_of(*state), 300);
	assert_pids(*state, 2, (const int[]) { 20, 1000 });
	canfs_job_withdraw(jobs_of(*state), 300); /* again */
}

static void test_the_dead_are_removed(void **state)
{
	publish(*state, 20);
	publish(*state, 30);
	fake_root_write(*state, "/run/canfs/jobs/20.new", "{");
	end_process(*state, 20);
	assert_pids(*state, 1, (const int[]) { 30 });
	assert_string_equal(fake_root_read(*state, "/run/canfs/jobs/20"), "");
	assert_string_equal(fake_root_read(*state, "/run/canfs/jobs/20.new"), "");
}

static void test_a_number_that_is_used_again(void **state)
{
	publish(*state, 20);
	run_process(*state, 20, 777);
	assert_pids(*state, 0, NULL);
	assert_string_equal(fake_root_read(*state, "/run/canfs/jobs/20"), "");
}

static void test_no_more_than_are_allowed(void **state)
{
	json_t *jobs;

	for (int i = 0; i < CANFS_JOBS_MAX + 10; i++)
		publish(*state, 100 + i);
	jobs = read_jobs(*state);
	assert_int_equal(json_array_size(jobs), CANFS_JOBS_MAX);
	json_decref(jobs);
}

static void test_files_of_others(void **state)
{
	static char long_text[CANFS_JOB_FILE_MAX + 2];

	publish(*state, 20);
	run_process(*state, 30, 300);
	memset(long_text, ' ', sizeof(long_text) - 1);
	fake_root_write(*state, "/run/canfs/jobs/30", long_text);
	fake_root_write(*state, "/run/canfs/jobs/30.new", "{");
	fake_root_write(*state, "/run/canfs/jobs/note", "{}");
	fake_root_write(*state, "/run/canfs/jobs/20x", "{}");
	fake_root_write(*state, "/run/canfs/jobs/99999999999", "{}");
	assert_pids(*state, 1, (const int[]) { 20 });
	assert_string_equal(fake_root_read(*state, "/run/canfs/jobs/20x"), "{}"); /* not ours */
	/* Of another process than its name says. */
	assert_int_equal(rename(strcat(strcpy(long_text, jobs_of(*state)), "/20"),
				 strcat(strcpy(long_text + PATH_MAX / 2, jobs_of(*state)), "/30")),
		0);
	assert_pids(*state, 0, NULL);
}

static void test_where_nothing_can_be_written(void **state)
{
	struct canfs_governed_job job = job_of(42);
	char directory[PATH_MAX];

	assert_int_equal(canfs_job_publish("jobs", &job), -EINVAL);
	fake_root_full(*state, "/none/of/these", directory);
	assert_int_equal(canfs_job_publish(directory, &job), -ENOENT);
	fake_root_write(*state, "/run/canfs", "a file");
	assert_int_equal(canfs_job_publish(jobs_of(*state), &job), -ENOTDIR);
	fake_root_full(*state, "/run/canfs", directory);
	assert_int_equal(canfs_job_publish(directory, &job), -ENOTDIR);
}

#define GOOD                                                                                       \
	"{\"pid\":1,\"started_ticks\":2,\"command\":\"c\",\"paused\":true,\"reason\":\"r\","       \
	"\"price\":%s,\"bottleneck\":null,\"source\":null,\"server\":%s,\"bid\":%s,"               \
	"\"seconds\":%s,\"ran_seconds\":1.5,\"pauses\":%s,\"time\":0.5}"

static void test_parse(void **state)
{
	static const struct {
		const char *price, *server, *bid, *sec, *pauses;
		bool is_good;
	} rows[] = { { "0.5", "\"s\"", "0.5", "2.0", "0", true },
		{ "null", "null", "1", "2", "3", true }, { "0", "null", "0", "1.5", "3", true },
		{ "1.01", "null", "0", "2", "3", false }, { "-0.1", "null", "0", "2", "3", false },
		{ "\"0\"", "null", "0", "2", "3", false }, { "0", "1", "0", "2", "3", false },
		{ "0", "null", "1.1", "2", "3", false }, { "0", "null", "0", "1.4", "3", false },
		{ "0", "null", "0", "2", "-3", false }, { "0", "null", "0", "2", "1.5", false },
		{ "0", "null", "0", "2", "3,\"more\":1", false },
		{ "0", "null", "0", "2", "3,\"pauses\":3", false } };
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *job;

		snprintf(text, sizeof(text), GOOD, rows[i].price, rows[i].server, rows[i].bid,
			rows[i].sec, rows[i].pauses);
		job = canfs_job_parse(text, strlen(text));
		assert_int_equal(!!job, rows[i].is_good);
		json_decref(job);
	}
	assert_null(canfs_job_parse("", 0));
	assert_null(canfs_job_parse("[]", 2));
}

static void test_what_stat_says_of_a_process(void **state)
{
	const struct fake_root *root = *state;
	int64_t ticks, value;

	run_process(root, 7, 4711);
	assert_int_equal(canfs_process_stat(root->path, 7, CANFS_PROCESS_STARTED, &ticks), 0);
	assert_int_equal(ticks, 4711);
	assert_int_equal(canfs_process_stat(root->path, 7, CANFS_PROCESS_STATE, &value), 0);
	assert_int_equal(value, 'S');
	assert_int_equal(canfs_process_stat(root->path, 7, CANFS_PROCESS_GROUP, &value), 0);
	assert_int_equal(value, 4);
	assert_int_equal(canfs_process_stat(root->path, 7, CANFS_PROCESS_FOREGROUND, &value), 0);
	assert_int_equal(value, -1);
	assert_int_equal(canfs_process_stat(root->path, 8, CANFS_PROCESS_STARTED, &ticks), -ENOENT);
	fake_root_write(root, "/proc/8/stat", "8 (sh) S 1 2 3\n");
	assert_int_equal(canfs_process_stat(root->path, 8, CANFS_PROCESS_STARTED, &ticks), -EPROTO);
	fake_root_write(root, "/proc/8/stat", "");
	assert_int_equal(canfs_process_stat(root->path, 8, CANFS_PROCESS_STARTED, &ticks), -EPROTO);
	assert_int_equal(canfs_process_stat("", getpid(), CANFS_PROCESS_STARTED, &ticks), 0);
	assert_true(ticks > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_there, setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_what_is_told_is_read, setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(test_without_a_price, setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(test_any_command, setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_in_the_order_of_their_numbers, setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_the_dead_are_removed, setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_a_number_that_is_used_again, setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_no_more_than_are_allowed, setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(test_files_of_others, setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_where_nothing_can_be_written, setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(test_parse, setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_what_stat_says_of_a_process, setup, fake_root_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
