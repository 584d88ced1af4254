// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/clock.h"

#define HASH_NONFATAL_OOM            1
#define uthash_nonfatal_oom(element) ((element)->is_lost = true)
#include <uthash.h>

#define MASK        (FAN_OPEN_PERM | FAN_MODIFY)
#define TICK_MSEC   1000
#define SETTLE_MSEC 20
#define NO_FD       (-1)

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
	unsigned int count; /* 0: it settles */
	int fd;             /* O_PATH, while it settles */
	LIST_ENTRY(entry) settling;
	uint64_t file;
	STAILQ_HEAD(, waiter) waiters;
	bool is_lost;
};

struct canfs_watch {
	struct canfs_watch_config config;
	int fan, wake; /* wake: an eventfd */
	_Atomic bool stop;
	pthread_t thread;
	pthread_mutex_t lock;
	struct entry *entries;
	LIST_HEAD(, entry) settling;
	_Atomic bool any_settles;
	_Atomic unsigned int waiters;
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

static void free_entry(struct canfs_watch *watch, struct entry *entry)
{
	while (!STAILQ_EMPTY(&entry->waiters))
		let_first_go(watch, entry);
	HASH_DEL(watch->entries, entry);
	if (entry->fd != NO_FD)
		close(entry->fd);
	free(entry);
}

static bool settles(const struct canfs_watch *watch, const struct entry *entry)
{
	return watch->config.settles && watch->config.settles(entry->file);
}

/* Nobody is to wait for it any more. The mark last, while fd is open: who is stopped by it until then finds no entry. */
static void unwatch(struct canfs_watch *watch, struct entry *entry, int fd)
{
	entry->fd = NO_FD;
	free_entry(watch, entry);
	if (fd < 0)
		return;
	(void)mark(watch, FAN_MARK_REMOVE, fd);
	close(fd);
}

static void let_settled_go(struct canfs_watch *watch)
{
	struct entry *entry, *next;

	pthread_mutex_lock(&watch->lock);
	for (entry = LIST_FIRST(&watch->settling); entry; entry = next) {
		next = LIST_NEXT(entry, settling);
		if (settles(watch, entry))
			continue;
		LIST_REMOVE(entry, settling);
		unwatch(watch, entry, entry->fd);
	}
	watch->any_settles = !LIST_EMPTY(&watch->settling);
	pthread_mutex_unlock(&watch->lock);
}

static void wake(struct canfs_watch *watch)
{
	uint64_t one = 1;

	(void)!write(watch->wake, &one, sizeof(one));
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
		watch->config.opened(entry->file);
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
			watch->config.opened(entry->file);
	}
	pthread_mutex_unlock(&watch->lock);
}

static void *run(void *arg)
{
	struct canfs_watch *watch = arg;
	struct pollfd polled[] = { { .fd = watch->fan, .events = POLLIN },
		{ .fd = watch->wake, .events = POLLIN } };
	_Alignas(struct fanotify_event_metadata) char buffer[4096];
	uint64_t ticked_usec = 0, woken;

	if (watch->config.thread_begins)
		watch->config.thread_begins("canfs_watch");
	while (!watch->stop) {
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
		if (watch->any_settles)
			let_settled_go(watch);
		if (polled[1].revents & POLLIN)
			(void)!read(watch->wake, &woken, sizeof(woken));
		(void)poll(polled, 2, watch->any_settles ? SETTLE_MSEC : TICK_MSEC);
	}
	return NULL;
}

int canfs_watch_new(struct canfs_watch **watch, const struct canfs_watch_config *config)
{
	struct canfs_watch *new = calloc(1, sizeof(*new));
	int ret = -ENOMEM;

	if (!new)
		return ret;
	new->config = *config;
	LIST_INIT(&new->settling);
	new->wake = eventfd(0, EFD_CLOEXEC);
	new->fan = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK |
					 FAN_UNLIMITED_QUEUE | FAN_UNLIMITED_MARKS,
		O_RDONLY | O_CLOEXEC | O_LARGEFILE | O_NOATIME);
	if (new->fan < 0 || new->wake < 0) {
		ret = -errno;
		goto fail;
	}
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
	if (new->wake >= 0)
		close(new->wake);
	free(new);
	return ret;
}

void canfs_watch_free(struct canfs_watch *watch)
{
	struct entry *entry, *next;

	if (!watch)
		return;
	watch->stop = true;
	wake(watch);
	pthread_join(watch->thread, NULL);
	HASH_ITER(hh, watch->entries, entry, next)
	free_entry(watch, entry);
	/* The kernel lets all others go. */
	close(watch->fan);
	close(watch->wake);
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
	entry->fd = NO_FD;
	entry->file = file->file;
	STAILQ_INIT(&entry->waiters);
	HASH_ADD(hh, watch->entries, name, sizeof(entry->name), entry);
	if (!entry->is_lost)
		ret = mark(watch, FAN_MARK_ADD, fd);
	if (ret == 0)
		return 0;
	if (!entry->is_lost)
		HASH_DEL(watch->entries, entry);
	free(entry);
	return ret;
}

static void stop_settling(struct entry *entry)
{
	LIST_REMOVE(entry, settling);
	close(entry->fd);
	entry->fd = NO_FD;
}

int canfs_watch_add(struct canfs_watch *watch, int fd, const struct canfs_watched *file)
{
	struct entry *entry;
	int ret = 0;

	pthread_mutex_lock(&watch->lock);
	entry = find(watch, file->dev, file->ino);
	if (entry && entry->count == 0)
		stop_settling(entry);
	if (entry)
		entry->count++;
	else
		ret = add_entry(watch, fd, file);
	pthread_mutex_unlock(&watch->lock);
	return ret;
}

void canfs_watch_remove(struct canfs_watch *watch, int fd, dev_t dev, ino_t ino)
{
	struct entry *entry;

	pthread_mutex_lock(&watch->lock);
	entry = find(watch, dev, ino);
	if (entry && entry->count > 1) {
		entry->count--;
	} else if (entry && entry->count == 1 && fd >= 0 && settles(watch, entry)) {
		entry->count = 0;
		entry->fd = fd;
		fd = NO_FD;
		LIST_INSERT_HEAD(&watch->settling, entry, settling);
		if (!atomic_exchange(&watch->any_settles, true))
			wake(watch); /* it looks every 20 ms until none does */
	} else if (entry && entry->count == 1) {
		unwatch(watch, entry, fd);
		fd = NO_FD;
	}
	pthread_mutex_unlock(&watch->lock);
	if (fd >= 0)
		close(fd);
}
