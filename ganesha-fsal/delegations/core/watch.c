// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/core/watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>
#include "common/clock.h"
#include "ganesha-fsal/delegations/core/events.h"
#include "ganesha-fsal/delegations/core/waits.h"

#define HASH_NONFATAL_OOM            1
#define uthash_nonfatal_oom(element) ((element)->is_lost = true)
#include <uthash.h>

#define TICK_MSEC   1000
#define SETTLE_MSEC 20
#define NO_FD       (-1)

struct name {
	uint64_t dev, ino; /* wide, so that the key has no padding */
};

struct entry {
	struct name name;
	UT_hash_handle hh;
	unsigned int count; /* 0: the file settles */
	int fd;             /* O_PATH, while the file settles */
	TAILQ_ENTRY(entry) settling;
	TAILQ_ENTRY(entry) asking;
	bool is_asking; /* opened() must be called */
	uint64_t file;
	struct canfs_wait_list waits;
	bool is_lost;
};

struct canfs_watch {
	struct canfs_watch_config config;
	struct canfs_events *events;
	int wake; /* an eventfd */
	_Atomic bool stop;
	pthread_t thread;
	/* Protects the members below. canfs_answer takes the lock, so hold it only briefly. */
	pthread_mutex_t lock;
	struct entry *entries;
	TAILQ_HEAD(, entry) settling;
	TAILQ_HEAD(, entry) asking;
	_Atomic bool any_settles;
	struct canfs_open_waits waits;
};

static void wake(struct canfs_watch *watch)
{
	uint64_t one = 1;

	(void)!write(watch->wake, &one, sizeof(one));
}

static struct entry *find(struct canfs_watch *watch, dev_t dev, ino_t ino)
{
	struct name name = { .dev = dev, .ino = ino };
	struct entry *entry;

	HASH_FIND(hh, watch->entries, &name, sizeof(name), entry);
	return entry;
}

static void ask_soon(struct canfs_watch *watch, struct entry *entry)
{
	if (entry->is_asking)
		return;
	entry->is_asking = true;
	TAILQ_INSERT_TAIL(&watch->asking, entry, asking);
	wake(watch);
}

static void stop_asking(struct canfs_watch *watch, struct entry *entry)
{
	if (entry->is_asking)
		TAILQ_REMOVE(&watch->asking, entry, asking);
	entry->is_asking = false;
}

static bool opens(void *arg, const struct canfs_event *event)
{
	struct canfs_watch *watch = arg;
	struct entry *entry;
	bool waits;

	pthread_mutex_lock(&watch->lock);
	entry = find(watch, event->dev, event->ino);
	waits = entry && canfs_waits_begin(&watch->waits, &entry->waits, entry->file, event);
	if (entry)
		ask_soon(watch, entry);
	pthread_mutex_unlock(&watch->lock);
	return waits;
}

static void wrote(void *arg, const struct canfs_event *event)
{
	struct canfs_watch *watch = arg;
	struct entry *entry;

	pthread_mutex_lock(&watch->lock);
	entry = find(watch, event->dev, event->ino);
	if (entry)
		ask_soon(watch, entry);
	pthread_mutex_unlock(&watch->lock);
}

static int expire(void *arg)
{
	struct canfs_watch *watch = arg;
	int msec;

	pthread_mutex_lock(&watch->lock);
	msec = canfs_waits_expire(&watch->waits, &watch->lock);
	pthread_mutex_unlock(&watch->lock);
	return msec;
}

static bool settles(const struct canfs_watch *watch, const struct entry *entry)
{
	return watch->config.settles && watch->config.settles(entry->file);
}

/*
 * Nobody waits for the file any more. Removes the mark last, while fd is open: an open that the
 * mark still stops finds no entry and proceeds.
 */
static void unwatch(struct canfs_watch *watch, struct entry *entry, int fd)
{
	stop_asking(watch, entry);
	canfs_waits_end(&watch->waits, &entry->waits);
	HASH_DEL(watch->entries, entry);
	free(entry);
	if (fd >= 0)
		canfs_events_remove(watch->events, fd);
}

/*
 * Handles one settled file. Returns false if there is none. Closes the descriptor without the lock,
 * because closing the last one of a deleted file takes time.
 */
static bool let_settled_go(struct canfs_watch *watch)
{
	struct entry *entry;
	int fd = NO_FD;

	pthread_mutex_lock(&watch->lock);
	TAILQ_FOREACH (entry, &watch->settling, settling) {
		if (!settles(watch, entry))
			break;
	}
	if (entry) {
		fd = entry->fd;
		TAILQ_REMOVE(&watch->settling, entry, settling);
		unwatch(watch, entry, fd);
	}
	watch->any_settles = !TAILQ_EMPTY(&watch->settling);
	pthread_mutex_unlock(&watch->lock);
	if (entry)
		close(fd);
	return entry;
}

/*
 * Handles one entry. Returns false if there is none. Calls opened() without the lock, because
 * opened() may take time.
 */
static bool ask(struct canfs_watch *watch)
{
	struct entry *entry;
	uint64_t file = 0;

	pthread_mutex_lock(&watch->lock);
	entry = TAILQ_FIRST(&watch->asking);
	if (entry) {
		file = entry->file;
		stop_asking(watch, entry);
	}
	pthread_mutex_unlock(&watch->lock);
	if (entry)
		watch->config.opened(file);
	return entry;
}

static void ask_for(void *arg, struct canfs_wait_list *of_file)
{
	ask_soon(arg, (struct entry *)(void *)((char *)of_file - offsetof(struct entry, waits)));
}

/*
 * A process that opened the file just before the delegation also waits, but no recall was sent for
 * it.
 */
static void ask_again(struct canfs_watch *watch)
{
	pthread_mutex_lock(&watch->lock);
	canfs_waits_each(&watch->waits, ask_for, watch);
	pthread_mutex_unlock(&watch->lock);
}

static void *run(void *arg)
{
	struct canfs_watch *watch = arg;
	struct pollfd polled = { .fd = watch->wake, .events = POLLIN };
	uint64_t ticked_usec = 0, woken;
	int timeout_msec;
	bool is_busy;

	if (watch->config.thread_begins)
		watch->config.thread_begins("canfs_watch");
	while (!watch->stop) {
		if (canfs_now_usec() - ticked_usec >= TICK_MSEC * UINT64_C(1000)) {
			ticked_usec = canfs_now_usec();
			ask_again(watch);
			if (watch->config.tick)
				watch->config.tick();
		}
		is_busy = ask(watch);
		is_busy |= watch->any_settles && let_settled_go(watch);
		timeout_msec = watch->any_settles ? SETTLE_MSEC : TICK_MSEC;
		if (poll(&polled, 1, is_busy ? 0 : timeout_msec) > 0)
			(void)!read(watch->wake, &woken, sizeof(woken));
	}
	return NULL;
}

static int start(struct canfs_watch *watch)
{
	const struct canfs_events_config config = { .opens = opens,
		.wrote = wrote,
		.expire = expire,
		.thread_begins = watch->config.thread_begins,
		.arg = watch };
	int ret;

	watch->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watch->wake < 0)
		return -errno;
	ret = canfs_events_new(&watch->events, &config);
	watch->waits.events = watch->events;
	if (ret == 0)
		ret = -pthread_create(&watch->thread, NULL, run, watch);
	if (ret != 0) {
		canfs_events_free(watch->events);
		close(watch->wake);
	}
	return ret;
}

int canfs_watch_new(struct canfs_watch **watch, const struct canfs_watch_config *config)
{
	struct canfs_watch *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return -ENOMEM;
	new->config = *config;
	new->waits = (struct canfs_open_waits) { .overtake = config->overtake,
		.brief_msec = config->brief_msec,
		.all_sec = config->wait_sec };
	TAILQ_INIT(&new->settling);
	TAILQ_INIT(&new->asking);
	canfs_waits_init(&new->waits);
	pthread_mutex_init(&new->lock, NULL);
	ret = start(new);
	if (ret == 0) {
		*watch = new;
		return 0;
	}
	pthread_mutex_destroy(&new->lock);
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
	pthread_mutex_lock(&watch->lock);
	HASH_ITER(hh, watch->entries, entry, next)
	{
		if (entry->fd != NO_FD)
			close(entry->fd);
		unwatch(watch, entry, NO_FD);
	}
	pthread_mutex_unlock(&watch->lock);
	canfs_events_free(watch->events);
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
	TAILQ_INIT(&entry->waits);
	HASH_ADD(hh, watch->entries, name, sizeof(entry->name), entry);
	if (!entry->is_lost)
		ret = canfs_events_add(watch->events, fd);
	if (ret == 0)
		return 0;
	if (!entry->is_lost)
		HASH_DEL(watch->entries, entry);
	free(entry);
	return ret;
}

static void stop_settling(struct canfs_watch *watch, struct entry *entry)
{
	TAILQ_REMOVE(&watch->settling, entry, settling);
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
		stop_settling(watch, entry);
	if (entry && entry->file != file->file) { /* the old file was deleted, with its mark */
		unwatch(watch, entry, NO_FD);
		entry = NULL;
	}
	if (entry)
		entry->count++;
	else
		ret = add_entry(watch, fd, file);
	pthread_mutex_unlock(&watch->lock);
	return ret;
}

/* Returns true if fd is kept. */
static bool begin_settling(struct canfs_watch *watch, struct entry *entry, int fd)
{
	if (fd < 0 || !settles(watch, entry))
		return false;
	entry->count = 0;
	entry->fd = fd;
	TAILQ_INSERT_TAIL(&watch->settling, entry, settling);
	if (!atomic_exchange(&watch->any_settles, true))
		wake(watch); /* the thread checks every 20 ms until no file settles */
	return true;
}

void canfs_watch_remove(struct canfs_watch *watch, int fd, const struct canfs_watched *file)
{
	struct entry *entry;

	pthread_mutex_lock(&watch->lock);
	entry = find(watch, file->dev, file->ino);
	if (entry && entry->file != file->file)
		entry = NULL;
	if (entry && entry->count > 1)
		entry->count--;
	else if (entry && entry->count == 1 && begin_settling(watch, entry, fd))
		fd = NO_FD;
	else if (entry && entry->count == 1)
		unwatch(watch, entry, fd);
	pthread_mutex_unlock(&watch->lock);
	if (fd >= 0)
		close(fd);
}

bool canfs_watch_any_settles(const struct canfs_watch *watch)
{
	return watch->any_settles;
}

void canfs_watch_forget(struct canfs_watch *watch, dev_t dev, ino_t ino)
{
	struct entry *entry;
	int fd = NO_FD;

	if (!watch->any_settles)
		return;
	pthread_mutex_lock(&watch->lock);
	entry = find(watch, dev, ino);
	if (entry && entry->count == 0) {
		fd = entry->fd;
		TAILQ_REMOVE(&watch->settling, entry, settling);
		unwatch(watch, entry, fd);
	}
	pthread_mutex_unlock(&watch->lock);
	if (fd >= 0)
		close(fd);
}
