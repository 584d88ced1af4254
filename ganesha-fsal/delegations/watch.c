// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/clock.h"

#define HASH_NONFATAL_OOM            1
#define uthash_nonfatal_oom(element) ((element)->is_lost = true)
#include <uthash.h>

#define MASK      (FAN_OPEN_PERM | FAN_MODIFY)
#define TICK_MSEC 1000

struct name {
	uint64_t dev, ino; /* wide, so that no octet of the key is padding */
};

struct waiter {
	int fd; /* of the event, by which it is answered */
	uint64_t until_usec;
	STAILQ_ENTRY(waiter) link;
};

struct entry {
	struct name name;
	UT_hash_handle hh;
	unsigned int count;
	int fd; /* O_PATH: while there is a mark the inode must stay */
	const void *whose;
	size_t key_bytes;
	char key[CANFS_WATCH_KEY_MAX];
	STAILQ_HEAD(, waiter) waiters;
	bool is_lost;
};

struct canfs_watch {
	struct canfs_watch_config config;
	int fan, stop; /* stop: an eventfd */
	pthread_t thread;
	pthread_mutex_t lock;
	struct entry *entries;
	_Atomic unsigned int waiters;
	unsigned int files_max;
};

/* The kernel takes a path or a descriptor that is no O_PATH. */
static int mark(struct canfs_watch *watch, unsigned int how, int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fanotify_mark(watch->fan, how, MASK, AT_FDCWD, path) == 0 ? 0 : -errno;
}

static void let_go(struct canfs_watch *watch, int fd)
{
	struct fanotify_response response = { .fd = fd, .response = FAN_ALLOW };

	(void)!write(watch->fan, &response, sizeof(response));
	close(fd);
}

static void let_first_go(struct canfs_watch *watch, struct entry *entry)
{
	struct waiter *waiter = STAILQ_FIRST(&entry->waiters);

	STAILQ_REMOVE_HEAD(&entry->waiters, link);
	let_go(watch, waiter->fd);
	free(waiter);
	watch->waiters--;
}

static struct entry *find(struct canfs_watch *watch, dev_t dev, ino_t ino)
{
	struct name name = { .dev = dev, .ino = ino };
	struct entry *entry;

	HASH_FIND(hh, watch->entries, &name, sizeof(name), entry);
	return entry;
}

/* False: it need not, or cannot, wait. */
static bool make_wait(struct canfs_watch *watch, struct entry *entry, int fd)
{
	struct waiter *waiter =
		watch->waiters < CANFS_WATCH_WAITERS_MAX ? malloc(sizeof(*waiter)) : NULL;

	if (!waiter)
		return false;
	waiter->fd = fd;
	waiter->until_usec = canfs_now_usec() + watch->config.wait_sec * UINT64_C(1000000);
	STAILQ_INSERT_TAIL(&entry->waiters, waiter, link);
	watch->waiters++;
	return true;
}

static void take_event(struct canfs_watch *watch, const struct fanotify_event_metadata *event)
{
	bool is_ours = event->pid == getpid(), waits = false;
	struct entry *entry;
	struct stat st;

	if (event->fd < 0)
		return;
	pthread_mutex_lock(&watch->lock);
	entry = !is_ours && fstat(event->fd, &st) == 0 ? find(watch, st.st_dev, st.st_ino) : NULL;
	if (entry) {
		watch->config.opened(entry->whose, entry->key, entry->key_bytes);
		waits = (event->mask & FAN_OPEN_PERM) && make_wait(watch, entry, event->fd);
	}
	pthread_mutex_unlock(&watch->lock);
	if (waits)
		return;
	if (event->mask & FAN_OPEN_PERM)
		let_go(watch, event->fd);
	else
		close(event->fd);
}

/* Once a second. Who opened it just before there was a delegation waits as well, and nobody has been asked for that. */
static void look_after_waiters(struct canfs_watch *watch)
{
	uint64_t now_usec = canfs_now_usec();
	struct entry *entry, *next;

	pthread_mutex_lock(&watch->lock);
	HASH_ITER(hh, watch->entries, entry, next)
	{
		while (!STAILQ_EMPTY(&entry->waiters) &&
			STAILQ_FIRST(&entry->waiters)->until_usec <= now_usec)
			let_first_go(watch, entry);
		if (!STAILQ_EMPTY(&entry->waiters))
			watch->config.opened(entry->whose, entry->key, entry->key_bytes);
	}
	pthread_mutex_unlock(&watch->lock);
}

static void *run(void *arg)
{
	struct canfs_watch *watch = arg;
	struct pollfd polled[] = { { .fd = watch->fan, .events = POLLIN },
		{ .fd = watch->stop, .events = POLLIN } };
	_Alignas(struct fanotify_event_metadata) char buffer[4096];
	uint64_t ticked_usec = 0;

	if (watch->config.thread_begins)
		watch->config.thread_begins("canfs_watch");
	while (!(polled[1].revents & POLLIN)) {
		const struct fanotify_event_metadata *event = (const void *)buffer;
		ssize_t bytes =
			polled[0].revents & POLLIN ? read(watch->fan, buffer, sizeof(buffer)) : 0;

		for (; bytes > 0 && FAN_EVENT_OK(event, bytes);
			event = FAN_EVENT_NEXT(event, bytes))
			take_event(watch, event);
		if (canfs_now_usec() - ticked_usec >= TICK_MSEC * UINT64_C(1000)) {
			ticked_usec = canfs_now_usec();
			if (watch->waiters > 0)
				look_after_waiters(watch);
			if (watch->config.tick)
				watch->config.tick();
		}
		(void)poll(polled, 2, TICK_MSEC);
	}
	return NULL;
}

int canfs_watch_new(struct canfs_watch **watch, const struct canfs_watch_config *config)
{
	struct canfs_watch *new = calloc(1, sizeof(*new));
	struct rlimit files;
	int ret = -ENOMEM;

	if (!new)
		return ret;
	new->config = *config;
	new->stop = eventfd(0, EFD_CLOEXEC);
	new->fan = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK |
					 FAN_UNLIMITED_QUEUE | FAN_UNLIMITED_MARKS,
		O_RDONLY | O_CLOEXEC | O_LARGEFILE | O_NOATIME);
	if (new->fan < 0 || new->stop < 0) {
		ret = -errno;
		goto fail;
	}
	new->files_max = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 4 < UINT_MAX
				 ? (unsigned int)(files.rlim_cur / 4)
				 : UINT_MAX;
	pthread_mutex_init(&new->lock, NULL);
	ret = -pthread_create(&new->thread, NULL, run, new);
	if (ret == 0) {
		*watch = new;
		return 0;
	}
	pthread_mutex_destroy(&new->lock);
fail:
	if (new->fan >= 0)
		close(new->fan);
	if (new->stop >= 0)
		close(new->stop);
	free(new);
	return ret;
}

static void free_entry(struct canfs_watch *watch, struct entry *entry)
{
	while (!STAILQ_EMPTY(&entry->waiters))
		let_first_go(watch, entry);
	HASH_DEL(watch->entries, entry);
	close(entry->fd);
	free(entry);
}

void canfs_watch_free(struct canfs_watch *watch)
{
	struct entry *entry, *next;
	uint64_t one = 1;

	if (!watch)
		return;
	(void)!write(watch->stop, &one, sizeof(one));
	pthread_join(watch->thread, NULL);
	HASH_ITER(hh, watch->entries, entry, next)
	free_entry(watch, entry);
	/* The kernel lets all others go. */
	close(watch->fan);
	close(watch->stop);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}

static int add_entry(struct canfs_watch *watch, int fd, const struct canfs_watched *file)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	int ret = -ENOMEM;

	if (!entry)
		return ret;
	entry->name = (struct name) { .dev = file->dev, .ino = file->ino };
	entry->count = 1;
	entry->whose = file->whose;
	entry->key_bytes = file->key_bytes;
	memcpy(entry->key, file->key, file->key_bytes);
	STAILQ_INIT(&entry->waiters);
	entry->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	ret = entry->fd < 0 ? -errno : mark(watch, FAN_MARK_ADD, entry->fd);
	if (ret == 0) {
		HASH_ADD(hh, watch->entries, name, sizeof(entry->name), entry);
		if (!entry->is_lost)
			return 0;
		(void)mark(watch, FAN_MARK_REMOVE, entry->fd);
		ret = -ENOMEM;
	}
	if (entry->fd >= 0)
		close(entry->fd);
	free(entry);
	return ret;
}

int canfs_watch_add(struct canfs_watch *watch, int fd, const struct canfs_watched *file)
{
	struct entry *entry;
	int ret = 0;

	if (file->key_bytes > CANFS_WATCH_KEY_MAX)
		return -EINVAL;
	pthread_mutex_lock(&watch->lock);
	entry = find(watch, file->dev, file->ino);
	if (entry)
		entry->count++;
	else if (HASH_COUNT(watch->entries) >= watch->files_max)
		ret = -EMFILE;
	else
		ret = add_entry(watch, fd, file);
	pthread_mutex_unlock(&watch->lock);
	return ret;
}

void canfs_watch_remove(struct canfs_watch *watch, dev_t dev, ino_t ino)
{
	struct entry *entry;

	pthread_mutex_lock(&watch->lock);
	entry = find(watch, dev, ino);
	if (entry && --entry->count == 0) {
		(void)mark(watch, FAN_MARK_REMOVE, entry->fd);
		free_entry(watch, entry);
	}
	pthread_mutex_unlock(&watch->lock);
}
