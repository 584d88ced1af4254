/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Shared by the prefetcher's tests: a prefetcher and an exported file system on a directory of this
 * machine.
 */
#ifndef CANFS_TESTS_UNIT_PREFETCHED_H
#define CANFS_TESTS_UNIT_PREFETCHED_H

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "ganesha-fsal/read/prefetch/device.h"
#include "ganesha-fsal/read/prefetch/resident.h"

#define KIB        ((uint64_t)1024)
#define FILE_BYTES (16 * 1024 * KIB)
#define OPEN_MAX   32

static char directory[] = "/var/tmp/canfs-test-XXXXXX";
static struct canfs_prefetcher *prefetcher;
static struct canfs_export_fs *export_fs;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;

/* A client's read, and whether it was answered. */
struct read {
	struct canfs_read read;
	bool answered;
};

static uint32_t reading_client; /* the client of reads by begin() and similar functions */

static inline struct canfs_read *stay(struct canfs_read *read)
{
	return read; /* the memory of the read stays valid */
}

static inline void answered(struct canfs_read *of_prefetcher)
{
	struct read *read = (struct read *)of_prefetcher;

	pthread_mutex_lock(&mutex);
	read->answered = true;
	pthread_cond_broadcast(&came);
	pthread_mutex_unlock(&mutex);
}

/* Returns true if the read is delayed. Call finish() in any case. */
static inline bool begin_scaled(struct canfs_open_file *file, uint64_t offset, uint64_t bytes,
	double scale, struct read *read)
{
	*read = (struct read) { .read = { .file = file,
					.offset = offset,
					.bytes = bytes,
					.scale = scale,
					.client = reading_client,
					.delay = stay,
					.answer = answered } };
	return canfs_prefetch_submit(&read->read);
}

/* The same, without read-ahead. */
static inline bool begin(
	struct canfs_open_file *file, uint64_t offset, uint64_t bytes, struct read *read)
{
	return begin_scaled(file, offset, bytes, 0, read);
}

static inline void await(struct read *read)
{
	pthread_mutex_lock(&mutex);
	while (!read->answered)
		pthread_cond_wait(&came, &mutex);
	pthread_mutex_unlock(&mutex);
}

/* Reads as the FSAL below would: once the pages are there, or at once. Returns how it was read. */
static inline enum canfs_read_way finish(struct read *read)
{
	static char buffer[64 * 1024];
	enum canfs_read_way way = read->read.way;
	uint64_t end = read->read.offset + read->read.bytes;

	bool waits = way == CANFS_READ_DELAYED || way == CANFS_READ_HELD;

	if (waits)
		await(read);
	for (uint64_t at = read->read.offset; !waits && at < end;) {
		size_t bytes = end - at < sizeof(buffer) ? end - at : sizeof(buffer);
		ssize_t got = pread(read->read.file->fd, buffer, bytes, (off_t)at);

		if (got <= 0)
			break;
		at += (uint64_t)got;
	}
	canfs_prefetch_complete(&read->read);
	return way;
}

/* Reads all bytes. Returns how. scale: how far to read ahead. */
static inline enum canfs_read_way read_all(
	struct canfs_open_file *file, uint64_t offset, uint64_t bytes, double scale)
{
	struct read read;

	(void)begin_scaled(file, offset, bytes, scale, &read);
	return finish(&read);
}

static void path_of(const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", directory, name);
}

static void evict(int fd)
{
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
}

/* Opens the file of fd like one of Ganesha's handles. */
static struct canfs_open_file *open_as(int fd, const void *object)
{
	_Alignas(struct file_handle) char buffer[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	struct file_handle *kernel = (struct file_handle *)buffer;
	uint8_t wire[2 + MAX_HANDLE_SZ];
	struct stat st;
	int mount;

	assert_int_equal(fstat(fd, &st), 0);
	kernel->handle_bytes = MAX_HANDLE_SZ;
	assert_int_equal(name_to_handle_at(fd, "", kernel, &mount, AT_EMPTY_PATH), 0);
	wire[0] = 0x40;
	wire[1] = (uint8_t)kernel->handle_type;
	memcpy(wire + 2, kernel->f_handle, kernel->handle_bytes);
	return canfs_fd_cache_open(export_fs, object, (uint64_t)(uintptr_t)object, st.st_ino, wire,
		2 + kernel->handle_bytes);
}

/* Likewise, for a new file that is not in the page cache. */
static struct canfs_open_file *make(const char *name, const void *object, uint64_t bytes)
{
	static char block[64 * 1024] = { 1 };
	struct canfs_open_file *file;
	char path[128];
	int fd;

	path_of(name, path);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	for (uint64_t at = 0; at < bytes; at += sizeof(block))
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	evict(fd);
	file = open_as(fd, object);
	close(fd);
	return file;
}

/* Leaves no place for inline reads: every read whose pages are missing is delayed. */
static inline void delay_all(void)
{
	struct canfs_device *device = canfs_export_fs_device(export_fs);

	atomic_store(&device->inline_reads, CANFS_INLINE_MAX);
}

/* Reads plain streams ahead here, whatever the disk is. */
static inline void order_streams(void)
{
	struct canfs_device *device = canfs_export_fs_device(export_fs);

	device->streams.spins = false;
	atomic_store(&device->streams.ours, true);
	canfs_files_leave_plain(device->files, false);
}

static inline void leave_streams(void)
{
	struct canfs_device *device = canfs_export_fs_device(export_fs);

	atomic_store(&device->streams.ours, false);
	canfs_files_leave_plain(device->files, true);
}

static int set_up(void **state)
{
	struct canfs_prefetcher_config config = {
		.files = 1000, .open_max = OPEN_MAX, .lag_bytes = 4 << 20, .root = ""
	};

	(void)state;
	assert_int_equal(canfs_prefetcher_new(&prefetcher, &config), 0);
	assert_int_equal(canfs_prefetcher_open(&export_fs, prefetcher, directory), 0);
	delay_all();
	order_streams();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	canfs_prefetcher_drain(export_fs);
	canfs_prefetcher_close(export_fs);
	assert_int_equal(canfs_prefetcher_open_count(prefetcher), 0);
	canfs_prefetcher_free(prefetcher);
	return 0;
}

static inline struct canfs_prefetcher_stats stats(void)
{
	struct canfs_prefetcher_stats now;

	canfs_prefetcher_stats(prefetcher, &now);
	return now;
}

static int remove_all(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command) == 0 ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/*
 * Returns NULL if the directory exists, is on a disk, and its handles can be opened; else the
 * reason.
 */
static const char *reason_to_skip(void)
{
	struct canfs_open_file *file;
	const char *off;

	if (canfs_prefetcher_new(&prefetcher,
		    &(struct canfs_prefetcher_config) { .files = 64, .open_max = 1, .root = "" }) !=
		0)
		return "no prefetcher";
	if (canfs_prefetcher_open(&export_fs, prefetcher, directory) != 0) {
		canfs_prefetcher_free(prefetcher);
		return "/var/tmp is on no disk";
	}
	file = make("probe", &prefetcher, KIB);
	canfs_fd_cache_put(file);
	off = canfs_export_fs_off(export_fs);
	tear_down(NULL);
	return !file ? (off ? off : "a file cannot be opened") : NULL;
}

static int run_on_a_disk(const struct CMUnitTest *tests, size_t count)
{
	const char *reason;

	if (!mkdtemp(directory)) {
		puts("skipped: no directory in /var/tmp");
		return 77;
	}
	reason = reason_to_skip();
	if (reason) {
		remove_all(NULL);
		printf("skipped: %s\n", reason);
		return 77;
	}
	return _cmocka_run_group_tests("prefetcher", tests, count, NULL, remove_all);
}

#endif
