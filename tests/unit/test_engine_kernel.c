// SPDX-License-Identifier: LGPL-3.0-or-later
/* A device's queue and the kernel: where it submits only some, or forbids io_uring, and whose signals threads take. */
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <liburing.h>

#include "tests/unit/engine_scene.h"

/* A kernel that is short of memory takes only some of what is submitted: all but the last. */
static atomic_bool submits_short;

int io_uring_submit(struct io_uring *ring)
{
	int (*submit)(struct io_uring * ring) =
		(int (*)(struct io_uring *))dlsym(RTLD_NEXT, "io_uring_submit");
	bool is_short = io_uring_sq_ready(ring) > 0 && atomic_exchange(&submits_short, false);
	int submitted;

	ring->sq.sqe_tail -= is_short;
	submitted = submit(ring);
	ring->sq.sqe_tail += is_short;
	return submitted;
}

static bool all_are_done_within(unsigned int msec)
{
	const struct timespec until = canfs_in_msec(msec);
	int ret = 0;
	bool all;

	pthread_mutex_lock(&mutex);
	while (in_flight > 0 && ret == 0)
		ret = pthread_cond_timedwait(&all_done, &mutex, &until);
	all = in_flight == 0;
	pthread_mutex_unlock(&mutex);
	return all;
}

/* Nothing else is in the kernel that would wake the thread. */
static void test_a_short_submit_is_made_good(void **state)
{
	struct canfs_engine *engine = start("n-cscan", 100);
	struct item item = fetch_of(0, 0, MIB);

	(void)state;
	atomic_store(&submits_short, true);
	assert_true(add(engine, &item));
	assert_true(all_are_done_within(10000));
	assert_false(atomic_load(&submits_short));
	assert_int_equal(last_error, 0);
	canfs_engine_free(engine);
}

/* Of this process but the thread that asks: one of those whose signals are not all blocked, 0: none. */
static pid_t thread_with_signals(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	pid_t found = 0;

	assert_non_null(tasks);
	while ((task = readdir(tasks))) {
		char path[300], line[256];
		unsigned long long blocked = 0;
		FILE *status;

		if (task->d_name[0] == '.' || atoi(task->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
		status = fopen(path, "r");
		while (status && fgets(line, sizeof(line), status))
			(void)sscanf(line, "SigBlk: %llx", &blocked);
		if (!status)
			continue;
		fclose(status);
		/* SIGTERM, SIGHUP and SIGUSR1 are what servers are told things with. */
		for (size_t i = 0; i < 3; i++) {
			if ((blocked >> ((const int[]) { SIGTERM, SIGHUP, SIGUSR1 }[i] - 1) & 1) ==
				0)
				found = atoi(task->d_name);
		}
	}
	closedir(tasks);
	return found;
}

static void test_signals_are_left_to_the_server(void **state)
{
	struct canfs_engine *engine = start("n-cscan", 100);
	struct item item = fetch_of(0, 0, MIB);

	(void)state;
	assert_true(add(engine, &item));
	wait_for_all();
	assert_int_equal(thread_with_signals(), 0);
	canfs_engine_free(engine);
}

/* As containers do by default. */
static int forbid_io_uring(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
		       ? -1
		       : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* In a process of its own, which nothing gives io_uring back to. Its exit status: 0, it fetches with threads. */
static int fetch_without_io_uring(void)
{
	const struct canfs_engine_config config = {
		.device = device, .policy = "n-cscan", .depth = 2, .backends = canfs_backends
	};
	struct item item = fetch_of(0, 0, PAGE);
	struct canfs_engine *engine;
	int ret;

	if (forbid_io_uring() != 0)
		return 2;
	if (canfs_engine_new(&engine, &config) != 0 || !add(engine, &item))
		return 3;
	wait_for_all();
	ret = canfs_engine_stats(engine).backend_error;
	canfs_engine_free(engine);
	return ret == -EPERM && last_error == 0 ? 0 : 4;
}

static void test_where_io_uring_is_forbidden(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		_exit(fetch_without_io_uring());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_signals_are_left_to_the_server),
		cmocka_unit_test_setup(test_a_short_submit_is_made_good, with_ring),
		cmocka_unit_test(test_where_io_uring_is_forbidden),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
