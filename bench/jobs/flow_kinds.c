// SPDX-License-Identifier: LGPL-3.0-or-later
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/jobs/flow_kinds.h"
#include "bench/jobs/job.h"

#define QUEUED_MAX 4096 /* asynchronous writes in flight of a thread */

struct canfs_flow_write {
	struct aiocb control;
	struct canfs_flow_write *next;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void count(struct canfs_flow_thread *t, const struct canfs_flow_step *s, uint64_t begin_ns,
	uint64_t bytes)
{
	ptrdiff_t step = s - t->run->personality->group[t->group].step;

	if (!atomic_load_explicit(&t->run->shared->warming_up, memory_order_relaxed))
		canfs_flow_count(&t->stats[step], now_ns() - begin_ns, bytes);
}

/* Opens the next file of the set in the slot. */
static int open_into(struct canfs_flow_thread *t, const struct canfs_flow_step *s, uint32_t number,
	enum canfs_take how)
{
	struct canfs_file_set *set = &t->run->set[s->set];
	struct canfs_flow_slot *slot = &t->slot[number];
	int flags = (set->spec->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC, ret = 0;
	uint64_t begin;

	slot->file = canfs_file_set_take(set, how, s->turns ? &t->next[s->set] : NULL);
	if (!slot->file)
		return -ENOENT;
	if (how == CANFS_TAKE_CREATE)
		flags |= O_CREAT;
	if (s->kind == &canfs_aio_write)
		flags |= O_SYNC;
	begin = now_ns();
	slot->fd = open(slot->file->path, flags, 0644);
	if (slot->fd < 0)
		ret = -errno;
	count(t, s, begin, 0);
	canfs_file_set_give(set, slot->file, how, ret);
	return ret;
}

/* Selects the step's slot, and opens a file in it if none is open. */
static int open_slot(
	struct canfs_flow_thread *t, const struct canfs_flow_step *s, struct canfs_flow_slot **slot)
{
	uint32_t number = s->slot;

	if (s->turns)
		number = t->turn = (t->turn ? t->turn : CANFS_FLOW_SLOTS) - 1;
	*slot = &t->slot[number];
	return (*slot)->fd >= 0 ? 0 : open_into(t, s, number, CANFS_TAKE_OPEN);
}

static int run_open(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	return open_into(t, s, s->slot, CANFS_TAKE_OPEN);
}

static int run_create(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	return open_into(t, s, s->slot, CANFS_TAKE_CREATE);
}

static int run_close(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	struct canfs_file_set *set = &t->run->set[s->set];
	struct canfs_flow_slot *slot = &t->slot[s->slot];
	int ret = 0;
	uint64_t begin;

	canfs_file_set_close(set, slot->file);
	begin = now_ns();
	if (close(slot->fd) < 0)
		ret = -errno;
	count(t, s, begin, 0);
	canfs_file_set_closed(set, slot->file);
	slot->fd = -1;
	return ret;
}

static int run_read_whole(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	struct canfs_flow_slot *slot;
	int ret = open_slot(t, s, &slot);
	uint64_t begin = now_ns(), bytes = 0;
	ssize_t n;

	if (ret)
		return ret;
	lseek(slot->fd, 0, SEEK_SET);
	while ((n = read(slot->fd, t->buffer, s->bytes)) > 0)
		bytes += (uint64_t)n;
	count(t, s, begin, bytes);
	return n < 0 ? -errno : 0;
}

static int write_bytes(
	struct canfs_flow_thread *t, const struct canfs_flow_step *s, int fd, uint64_t bytes)
{
	uint64_t begin = now_ns(), done = 0;

	while (done < bytes) {
		uint64_t left = bytes - done;
		ssize_t n = write(fd, t->buffer, left < s->bytes ? left : s->bytes);

		if (n < 0)
			return -errno;
		done += (uint64_t)n;
	}
	count(t, s, begin, bytes);
	return 0;
}

static int run_write_whole(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	struct canfs_flow_slot *slot;
	int ret = open_slot(t, s, &slot);

	return ret ? ret : write_bytes(t, s, slot->fd, slot->file->bytes);
}

static int run_append(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	struct canfs_flow_slot *slot;
	uint64_t bytes = canfs_job_random(&t->random) % s->bytes, begin;
	int ret = open_slot(t, s, &slot);
	ssize_t n = 0;

	if (ret)
		return ret;
	begin = now_ns();
	lseek(slot->fd, 0, SEEK_END);
	if (bytes > 0)
		n = write(slot->fd, t->buffer, bytes);
	count(t, s, begin, bytes);
	return n < 0 ? -errno : n == (ssize_t)bytes ? 0 : -EIO;
}

static int run_sync(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	uint64_t begin = now_ns();
	int ret = fsync(t->slot[s->slot].fd) < 0 ? -errno : 0;

	count(t, s, begin, 0);
	return ret;
}

static int run_on_path(
	struct canfs_flow_thread *t, const struct canfs_flow_step *s, enum canfs_take how)
{
	struct canfs_file_set *set = &t->run->set[s->set];
	struct canfs_set_file *file = canfs_file_set_take(set, how, NULL);
	struct stat st;
	uint64_t begin;
	int ret;

	if (!file)
		return -ENOENT;
	begin = now_ns();
	ret = how == CANFS_TAKE_DELETE ? unlink(file->path) : stat(file->path, &st);
	if (ret < 0)
		ret = -errno;
	count(t, s, begin, 0);
	canfs_file_set_give(set, file, how, ret);
	return ret;
}

static int run_delete(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	return run_on_path(t, s, CANFS_TAKE_DELETE);
}

static int run_stat(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	return run_on_path(t, s, CANFS_TAKE_LOOK);
}

/* Returns a random multiple of the step's bytes, but never the last one in the file. */
static off_t random_offset(struct canfs_flow_thread *t, const struct canfs_flow_step *s,
	const struct canfs_set_file *file)
{
	uint64_t places = file->bytes > 2 * (uint64_t)s->bytes ? file->bytes / s->bytes - 1 : 1;

	return (off_t)(canfs_job_random(&t->random) % places * s->bytes);
}

static int run_read(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	struct canfs_flow_slot *slot;
	int ret = open_slot(t, s, &slot);
	uint64_t begin;
	ssize_t n;

	if (ret)
		return ret;
	begin = now_ns();
	n = pread(slot->fd, t->buffer, s->bytes, random_offset(t, s, slot->file));
	count(t, s, begin, n < 0 ? 0 : (uint64_t)n);
	return n < 0 ? -errno : 0;
}

/* Removes completed writes from the queue. */
static int reap(struct canfs_flow_thread *t)
{
	struct canfs_flow_write **at = &t->queued, *one;
	int ret = 0;

	while ((one = *at)) {
		int code = aio_error(&one->control);

		if (code == EINPROGRESS) {
			at = &one->next;
			continue;
		}
		if (code)
			ret = -code;
		aio_return(&one->control);
		*at = one->next;
		free(one);
		t->queued_count--;
	}
	return ret;
}

static int run_aio_write(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	struct canfs_flow_write *one;
	struct canfs_flow_slot *slot;
	int ret = open_slot(t, s, &slot);
	uint64_t begin;

	if (ret)
		return ret;
	one = calloc(1, sizeof(*one));
	if (!one)
		return -ENOMEM;
	one->control = (struct aiocb) { .aio_fildes = slot->fd,
		.aio_buf = t->buffer,
		.aio_nbytes = s->bytes,
		.aio_offset = random_offset(t, s, slot->file) };
	begin = now_ns();
	if (aio_write(&one->control) < 0) {
		ret = -errno;
		free(one);
		return ret;
	}
	count(t, s, begin, s->bytes);
	one->next = t->queued;
	t->queued = one;
	t->queued_count++;
	return 0;
}

static int run_aio_wait(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	uint64_t begin = now_ns();
	int ret = reap(t);

	while (!ret && t->queued_count > QUEUED_MAX) {
		const struct aiocb *latest = &t->queued->control;

		aio_suspend(&latest, 1, NULL);
		ret = reap(t);
	}
	count(t, s, begin, 0);
	return ret;
}

static int run_hog(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	uint32_t stores = canfs_flow_scaled(t->run, s, s->value);
	volatile char *byte = t->buffer;
	uint64_t begin = now_ns();

	for (uint32_t i = 0; i < stores; i++)
		*byte = 0;
	count(t, s, begin, 0);
	return 0;
}

static struct sembuf change(uint32_t semaphore, int by)
{
	return (struct sembuf) { .sem_num = (unsigned short)semaphore, .sem_op = (short)by };
}

/* Accepts further posts until highwater plus `value` of them are unconsumed. */
static int run_block(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	int value = (int)canfs_flow_scaled(t->run, s, s->value), ret = 0;
	struct sembuf more = change(t->semaphore + 1, value), take = change(t->semaphore, -value);
	uint64_t begin = now_ns();

	if (semop(t->run->semaphores, &more, 1) < 0 || semop(t->run->semaphores, &take, 1) < 0)
		ret = -errno;
	count(t, s, begin, 0);
	return ret;
}

static int run_post(struct canfs_flow_thread *t, const struct canfs_flow_step *s)
{
	const struct canfs_personality *p = t->run->personality;
	uint32_t first = canfs_flow_first(p, s->to);
	uint64_t begin = now_ns();
	int ret = 0;

	for (uint32_t i = 0; i < p->group[s->to].threads && !ret; i++) {
		struct sembuf both[] = { change(2 * (first + i), 1),
			change(2 * (first + i) + 1, -1) };

		if (semop(t->run->semaphores, both, 2) < 0)
			ret = -errno;
	}
	count(t, s, begin, 0);
	return ret;
}

const struct canfs_flow_kind canfs_open_file = { "openfile", run_open },
			     canfs_create_file = { "createfile", run_create },
			     canfs_close_file = { "closefile", run_close },
			     canfs_read_whole_file = { "readwholefile", run_read_whole },
			     canfs_write_whole_file = { "writewholefile", run_write_whole },
			     canfs_append_file = { "appendfilerand", run_append },
			     canfs_sync_file = { "fsync", run_sync },
			     canfs_delete_file = { "deletefile", run_delete },
			     canfs_stat_file = { "statfile", run_stat },
			     canfs_read = { "read", run_read },
			     canfs_aio_write = { "aiowrite", run_aio_write },
			     canfs_aio_wait = { "aiowait", run_aio_wait },
			     canfs_hog = { "hog", run_hog },
			     canfs_block = { "semblock", run_block },
			     canfs_post = { "sempost", run_post };

const char *canfs_flow_kind_name(const struct canfs_flow_step *step)
{
	return step->kind->name;
}
