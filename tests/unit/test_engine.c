// SPDX-License-Identifier: LGPL-3.0-or-later
/* A device's queue at work on real files: through io_uring, where the kernel lets us, and through threads. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <liburing.h>
#include <cmocka.h>

#include "common/clock.h"
#include "ganesha-fsal/read/scheduler/engine.h"
#include "ganesha-fsal/read/scheduler/policy.h"

#define MIB        ((uint64_t)1 << 20)
#define FILES      4
#define FILE_BYTES (8 * MIB)
#define THREADS    4
#define PER_THREAD 1500
#define PAGE       4096u

static char directory[] = "/tmp/canfs-engine-XXXXXX";
static int file[FILES];
static dev_t device;
static bool without_ring;

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

/* The thread that adds waits here until all are done. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_done;
static unsigned int in_flight;
static unsigned int successes, cancellations, failures;
static int last_error;

struct item {
	struct canfs_fetch fetch;
	unsigned int done;
};

static void done(struct canfs_fetch *fetch, int error)
{
	struct item *item = (struct item *)fetch;

	pthread_mutex_lock(&mutex);
	item->done++;
	successes += error == 0;
	cancellations += error == -ECANCELED;
	failures += error != 0 && error != -ECANCELED;
	last_error = error;
	if (--in_flight == 0)
		pthread_cond_broadcast(&all_done);
	pthread_mutex_unlock(&mutex);
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

static void wait_for_all(void)
{
	pthread_mutex_lock(&mutex);
	while (in_flight > 0)
		pthread_cond_wait(&all_done, &mutex);
	pthread_mutex_unlock(&mutex);
}

static bool add(struct canfs_engine *engine, struct item *item)
{
	bool taken;

	pthread_mutex_lock(&mutex);
	in_flight++;
	pthread_mutex_unlock(&mutex);
	item->fetch.done = done;
	taken = canfs_engine_add(engine, &item->fetch);
	if (!taken) {
		pthread_mutex_lock(&mutex);
		in_flight--;
		pthread_mutex_unlock(&mutex);
	}
	return taken;
}

static struct canfs_engine *start(const char *policy, unsigned int waiting_max)
{
	const struct canfs_engine_config config = { .device = device,
		.policy = policy,
		.depth = 4,
		.depth_bytes = 2 * MIB,
		.waiting_max = waiting_max,
		.backends = canfs_backends + without_ring };
	struct canfs_engine *engine = NULL;

	successes = cancellations = failures = 0;
	assert_int_equal(canfs_engine_new(&engine, &config), 0);
	return engine;
}

static struct item fetch_of(unsigned int number, uint64_t offset, uint32_t bytes)
{
	return (struct item) { .fetch = { .kind = CANFS_FETCH_DEMAND,
				       .fd = file[number],
				       .file = number,
				       .offset = offset,
				       .bytes = bytes,
				       .stream = number } };
}

/* One fetch by itself; what it was done with. */
static int fetch_alone(struct item item)
{
	struct canfs_engine *engine = start("n-cscan", 100);

	assert_true(add(engine, &item));
	wait_for_all();
	assert_int_equal(item.done, 1);
	canfs_engine_free(engine);
	return last_error;
}

static unsigned int resident_pages(int fd, uint64_t bytes)
{
	unsigned char seen[FILE_BYTES / PAGE];
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	unsigned int n = 0;

	assert_true(map != MAP_FAILED);
	assert_int_equal(mincore(map, bytes, seen), 0);
	for (size_t i = 0; i < bytes / PAGE; i++)
		n += seen[i] & 1;
	munmap(map, bytes);
	return n;
}

static void test_pages_are_resident_when_done(void **state)
{
	(void)state;
	assert_int_equal(posix_fadvise(file[0], 0, 0, POSIX_FADV_DONTNEED), 0);
	if (resident_pages(file[0], FILE_BYTES) > MIB / PAGE)
		skip(); /* a file system in memory */
	assert_int_equal(fetch_alone(fetch_of(0, 0, MIB)), 0);
	assert_int_equal(resident_pages(file[0], MIB), MIB / PAGE);
}

static void test_end_of_file(void **state)
{
	(void)state;
	assert_int_equal(fetch_alone(fetch_of(1, FILE_BYTES - 10, MIB)), 0);
	assert_int_equal(fetch_alone(fetch_of(1, FILE_BYTES, 1)), 0);
	assert_int_equal(fetch_alone(fetch_of(1, 100 * FILE_BYTES, MIB)), 0);
}

static void test_errors_are_told(void **state)
{
	struct item item = fetch_of(0, 0, PAGE);
	char path[64];

	(void)state;
	item.fetch.fd = -1;
	assert_int_equal(fetch_alone(item), -EBADF);
	(void)snprintf(path, sizeof(path), "%s/0", directory);
	item.fetch.fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(item.fetch.fd >= 0);
	assert_int_equal(fetch_alone(item), -EBADF);
	close(item.fetch.fd);
	/* Of this one already the advice fails. */
	item.fetch.fd = open(path, O_PATH | O_CLOEXEC);
	assert_true(item.fetch.fd >= 0);
	assert_int_equal(fetch_alone(item), -EBADF);
	close(item.fetch.fd);
}

static void test_configuration_is_checked(void **state)
{
	struct canfs_engine_config config = { .policy = "scan", .depth = 4 };
	struct canfs_engine *engine;

	(void)state;
	assert_int_equal(canfs_engine_new(&engine, &config), -EINVAL);
	config.policy = "fifo";
	config.depth = 0;
	assert_int_equal(canfs_engine_new(&engine, &config), -EINVAL);
	config.depth = CANFS_ENGINE_DEPTH_MAX + 1;
	assert_int_equal(canfs_engine_new(&engine, &config), -EINVAL);
	canfs_engine_free(NULL);
}

struct adder {
	struct canfs_engine *engine;
	uint64_t seed;
	unsigned int refused;
	struct item *items;
};

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static struct item random_fetch(uint64_t *seed)
{
	struct item item = fetch_of((unsigned int)(next_random(seed) % FILES),
		next_random(seed) % FILE_BYTES, 1 + (uint32_t)(next_random(seed) % MIB));

	item.fetch.kind = next_random(seed) % 4 ? CANFS_FETCH_PREFETCH : CANFS_FETCH_DEMAND;
	item.fetch.stream = (uint32_t)(next_random(seed) % 16);
	return item;
}

static void *add_many(void *arg)
{
	struct adder *adder = arg;

	for (unsigned int i = 0; i < PER_THREAD; i++) {
		adder->items[i] = random_fetch(&adder->seed);
		adder->refused += !add(adder->engine, &adder->items[i]);
		if (i % 64 == 0)
			canfs_engine_cancel(adder->engine, i % FILES, i % FILE_BYTES);
		if (i % 256 == 0)
			(void)canfs_engine_stats(adder->engine);
	}
	return NULL;
}

/* Many threads; `meanwhile` runs beside them. Each is done once, or was refused. */
static void run_crowd(struct canfs_engine *engine, void (*meanwhile)(struct canfs_engine *))
{
	struct adder adder[THREADS];
	pthread_t thread[THREADS];
	unsigned int refused = 0;

	for (unsigned int i = 0; i < THREADS; i++) {
		adder[i] = (struct adder) { engine, i, 0, calloc(PER_THREAD, sizeof(struct item)) };
		assert_non_null(adder[i].items);
		assert_int_equal(pthread_create(&thread[i], NULL, add_many, &adder[i]), 0);
	}
	if (meanwhile)
		meanwhile(engine);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	if (!meanwhile) {
		canfs_engine_free(engine); /* with most of them in flight */
		assert_int_equal(in_flight, 0);
	} else {
		wait_for_all();
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		unsigned int done_count = 0;

		for (unsigned int j = 0; j < PER_THREAD; j++) {
			assert_true(adder[i].items[j].done <= 1);
			done_count += adder[i].items[j].done;
		}
		assert_int_equal(done_count + adder[i].refused, PER_THREAD);
		refused += adder[i].refused;
		free(adder[i].items);
	}
	assert_int_equal(failures, 0);
	assert_int_equal(successes + cancellations + refused, THREADS * PER_THREAD);
}

static void switch_policies(struct canfs_engine *engine)
{
	for (int round = 0; round < 40; round++) {
		for (size_t i = 0; canfs_policies[i]; i++) {
			assert_int_equal(
				canfs_engine_set_policy(engine, canfs_policies[i]->name), 0);
			assert_string_equal(
				canfs_engine_stats(engine).policy, canfs_policies[i]->name);
			usleep(100);
		}
	}
	assert_int_equal(canfs_engine_set_policy(engine, "scan"), -EINVAL);
}

static void test_nothing_is_lost_when_policies_change(void **state)
{
	struct canfs_engine *engine = start("fifo", 1000);
	struct canfs_engine_stats stats;

	(void)state;
	run_crowd(engine, switch_policies);
	stats = canfs_engine_stats(engine);
	assert_int_equal(stats.waiting + stats.in_kernel, 0);
	assert_int_equal(stats.done[0] + stats.done[1], successes);
	assert_int_equal(stats.cancelled, cancellations);
	assert_int_equal(stats.failed, 0);
	assert_int_equal(stats.refused + stats.done[0] + stats.done[1] + stats.cancelled,
		THREADS * PER_THREAD);
	canfs_engine_free(engine);
}

static void test_end_with_fetches_outstanding(void **state)
{
	(void)state;
	for (size_t i = 0; canfs_policies[i]; i++)
		run_crowd(start(canfs_policies[i]->name, 100000), NULL);
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

/* A waiter that is told may add the next at once, as a reader does, and free what it was told of. */
static struct canfs_engine *chain_engine;

static void add_link(struct canfs_fetch *fetch, int error)
{
	struct item *item = malloc(sizeof(*item));
	uint64_t offset = fetch->offset + PAGE;

	assert_int_equal(error, 0);
	assert_non_null(item);
	free(fetch);
	*item = fetch_of(2, offset, PAGE);
	item->fetch.done = add_link;
	if (offset < FILE_BYTES / 4) {
		assert_true(canfs_engine_add(chain_engine, &item->fetch));
		return;
	}
	done(&item->fetch, 0);
	free(item);
}

static void test_who_is_told_may_add(void **state)
{
	struct item *first = malloc(sizeof(*first));

	(void)state;
	assert_non_null(first);
	*first = fetch_of(2, 0, PAGE);
	first->fetch.done = add_link;
	in_flight = 1;
	chain_engine = start("elevator", 1);
	assert_true(canfs_engine_add(chain_engine, &first->fetch));
	wait_for_all();
	assert_int_equal(
		canfs_engine_stats(chain_engine).done[CANFS_FETCH_DEMAND], FILE_BYTES / 4 / PAGE);
	canfs_engine_free(chain_engine);
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

static int with_ring(void **state)
{
	(void)state;
	without_ring = false;
	return 0;
}

static int with_threads(void **state)
{
	(void)state;
	without_ring = true;
	return 0;
}

static int make_files(void **state)
{
	unsigned char *bytes = malloc(FILE_BYTES);
	struct stat stat;
	char path[64];

	(void)state;
	canfs_steady_cond_init(&all_done);
	if (!bytes || !mkdtemp(directory))
		return -1;
	memset(bytes, 'x', FILE_BYTES);
	for (unsigned int i = 0; i < FILES; i++) {
		(void)snprintf(path, sizeof(path), "%s/%u", directory, i);
		file[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (file[i] < 0 || write(file[i], bytes, FILE_BYTES) != (ssize_t)FILE_BYTES ||
			fsync(file[i]) != 0 || fstat(file[i], &stat) != 0)
			return -1;
		device = stat.st_dev;
	}
	free(bytes);
	return 0;
}

static int remove_files(void **state)
{
	char path[64];

	(void)state;
	for (unsigned int i = 0; i < FILES; i++) {
		(void)snprintf(path, sizeof(path), "%s/%u", directory, i);
		close(file[i]);
		unlink(path);
	}
	return rmdir(directory);
}

int main(void)
{
#define BOTH(name)                                                                                 \
	cmocka_unit_test_setup(name, with_ring), cmocka_unit_test_setup(name, with_threads)
	const struct CMUnitTest tests[] = {
		BOTH(test_pages_are_resident_when_done),
		BOTH(test_end_of_file),
		BOTH(test_errors_are_told),
		BOTH(test_configuration_is_checked),
		BOTH(test_nothing_is_lost_when_policies_change),
		BOTH(test_end_with_fetches_outstanding),
		BOTH(test_who_is_told_may_add),
		BOTH(test_signals_are_left_to_the_server),
		cmocka_unit_test_setup(test_a_short_submit_is_made_good, with_ring),
		cmocka_unit_test(test_where_io_uring_is_forbidden),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
