// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/core/events.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_FD   3 /* after the standard ones */
#define INIT_FLAGS (FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE | FAN_UNLIMITED_MARKS)
#define FILE_FLAGS (O_RDONLY | O_CLOEXEC | O_LARGEFILE | O_NOATIME)

/* These descriptors have the same numbers in the threads' table and in the process's. */
enum {
	STOP,   /* an eventfd */
	OPENS,  /* of FAN_OPEN_PERM */
	WRITES, /* of FAN_MODIFY */
	CLOSING_OUT,
	CLOSING_IN, /* a pipe: numbers of descriptors that canfs_modify must close */
	FDS
};

struct canfs_events {
	struct canfs_events_config config;
	int fd[FDS];
	pthread_t answering, modifying;
	sem_t started;
	int ret; /* result of the start */
};

static const struct {
	int fd;
	uint64_t mask;
} marks[] = { { OPENS, FAN_OPEN_PERM }, { WRITES, FAN_MODIFY } };
#define MARKS (sizeof(marks) / sizeof(marks[0]))

/* fanotify_mark() does not accept an O_PATH descriptor, but accepts its path in /proc. */
static int mark(struct canfs_events *events, size_t which, unsigned int how, int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fanotify_mark(events->fd[marks[which].fd], how, marks[which].mask, AT_FDCWD, path) ==
			       0
		       ? 0
		       : -errno;
}

void canfs_events_remove(struct canfs_events *events, int fd)
{
	for (size_t i = 0; i < MARKS; i++)
		(void)mark(events, i, FAN_MARK_REMOVE, fd);
}

int canfs_events_add(struct canfs_events *events, int fd)
{
	int ret = 0;

	for (size_t i = 0; i < MARKS && ret == 0; i++)
		ret = mark(events, i, FAN_MARK_ADD, fd);
	if (ret != 0)
		canfs_events_remove(events, fd);
	return ret;
}

static void respond(struct canfs_events *events, int number, bool allow)
{
	struct fanotify_response response = { .fd = number,
		.response = allow ? FAN_ALLOW : FAN_DENY };

	(void)!write(events->fd[OPENS], &response, sizeof(response));
}

/* No other event gets this number until the descriptor is closed. */
void canfs_events_answer(struct canfs_events *events, int number, bool allow)
{
	respond(events, number, allow);
	(void)!write(events->fd[CLOSING_IN], &number, sizeof(number));
}

/*
 * Runs in canfs_answer. The opener holds the file until the answer. The close() before the answer
 * is therefore never the last one, even of a deleted file.
 */
static void let_go(struct canfs_events *events, int number)
{
	close(number);
	respond(events, number, true);
}

static bool is_ours(pid_t tid)
{
	return tid > 0 && tgkill(getpid(), tid, 0) == 0;
}

static void take_opening(struct canfs_events *events, const struct fanotify_event_metadata *event)
{
	struct canfs_event what = { .number = event->fd, .tid = event->pid };
	struct stat st;

	if (is_ours(event->pid) || fstat(event->fd, &st) != 0) {
		let_go(events, event->fd);
		return;
	}
	what.dev = st.st_dev;
	what.ino = st.st_ino;
	if (events->config.opens(events->config.arg, &what))
		return;
	if (st.st_nlink > 0)
		let_go(events, event->fd);
	else /* if the opener was killed, this descriptor is the last one */
		canfs_events_answer(events, event->fd, true);
}

static void take_writing(struct canfs_events *events, const struct fanotify_event_metadata *event)
{
	struct stat st;

	if (event->pid != getpid() && fstat(event->fd, &st) == 0) {
		const struct canfs_event what = { .dev = st.st_dev, .ino = st.st_ino };

		events->config.wrote(events->config.arg, &what);
	}
	close(event->fd);
}

static void read_events(struct canfs_events *events, int from,
	void (*take)(struct canfs_events *events, const struct fanotify_event_metadata *event))
{
	_Alignas(struct fanotify_event_metadata) char buffer[4096];
	const struct fanotify_event_metadata *event = (const void *)buffer;
	ssize_t bytes = read(events->fd[from], buffer, sizeof(buffer));

	for (; bytes > 0 && FAN_EVENT_OK(event, bytes); event = FAN_EVENT_NEXT(event, bytes)) {
		if (event->fd >= 0)
			take(events, event);
	}
}

static void name_thread(const struct canfs_events *events, const char *name)
{
	if (events->config.thread_begins)
		events->config.thread_begins(name);
}

static void *modify(void *arg)
{
	struct canfs_events *events = arg;
	struct pollfd polled[] = { { .fd = events->fd[STOP], .events = POLLIN },
		{ .fd = events->fd[WRITES], .events = POLLIN },
		{ .fd = events->fd[CLOSING_OUT], .events = POLLIN } };
	int number;

	name_thread(events, "canfs_modify");
	while (!(polled[0].revents & POLLIN)) {
		if (polled[1].revents & POLLIN)
			read_events(events, WRITES, take_writing);
		if (polled[2].revents & POLLIN &&
			read(events->fd[CLOSING_OUT], &number, sizeof(number)) == sizeof(number))
			close(number);
		(void)poll(polled, 3, -1);
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * Gives both threads a descriptor table of their own. If this fails, as in some containers, both
 * threads share the process's table. Sharing works until the table is full.
 */
static void make_own_table(const struct canfs_events *events)
{
	unsigned int from = FIRST_FD;
	int keep[FDS];

	memcpy(keep, events->fd, sizeof(keep));
	qsort(keep, FDS, sizeof(keep[0]), compare);
	for (int i = 0; i < FDS; i++) {
		unsigned int fd = (unsigned int)keep[i];

		if (fd > from && close_range(from, fd - 1, CLOSE_RANGE_UNSHARE) != 0)
			return;
		if (fd >= from)
			from = fd + 1;
	}
	(void)close_range(from, ~0U, CLOSE_RANGE_UNSHARE);
}

static void *answer(void *arg)
{
	struct canfs_events *events = arg;
	struct pollfd polled[] = { { .fd = events->fd[STOP], .events = POLLIN },
		{ .fd = events->fd[OPENS], .events = POLLIN } };

	name_thread(events, "canfs_answer");
	make_own_table(events);
	events->ret = -pthread_create(&events->modifying, NULL, modify, events);
	sem_post(&events->started);
	if (events->ret != 0)
		return NULL;
	while (!(polled[0].revents & POLLIN)) {
		if (polled[1].revents & POLLIN)
			read_events(events, OPENS, take_opening);
		(void)poll(polled, 2, events->config.expire(events->config.arg));
	}
	pthread_join(events->modifying, NULL);
	return NULL;
}

static int open_all(struct canfs_events *events)
{
	events->fd[STOP] = eventfd(0, EFD_CLOEXEC);
	events->fd[OPENS] =
		fanotify_init(FAN_CLASS_CONTENT | FAN_REPORT_TID | INIT_FLAGS, FILE_FLAGS);
	if (events->fd[STOP] < 0 || events->fd[OPENS] < 0)
		return -errno;
	events->fd[WRITES] = fanotify_init(FAN_CLASS_NOTIF | INIT_FLAGS, FILE_FLAGS);
	if (events->fd[WRITES] < 0 || pipe2(&events->fd[CLOSING_OUT], O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	return 0;
}

static void close_all(struct canfs_events *events)
{
	for (int i = 0; i < FDS; i++) {
		if (events->fd[i] >= 0)
			close(events->fd[i]);
	}
	sem_destroy(&events->started);
	free(events);
}

static int start(struct canfs_events *events)
{
	int ret = open_all(events);

	if (ret == 0)
		ret = -pthread_create(&events->answering, NULL, answer, events);
	if (ret != 0)
		return ret;
	while (sem_wait(&events->started) != 0)
		;
	if (events->ret != 0)
		pthread_join(events->answering, NULL);
	return events->ret;
}

int canfs_events_new(struct canfs_events **events, const struct canfs_events_config *config)
{
	struct canfs_events *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return -ENOMEM;
	new->config = *config;
	for (int i = 0; i < FDS; i++)
		new->fd[i] = -1;
	sem_init(&new->started, 0, 0);
	ret = start(new);
	if (ret == 0)
		*events = new;
	else
		close_all(new);
	return ret;
}

void canfs_events_free(struct canfs_events *events)
{
	uint64_t one = 1;

	if (!events)
		return;
	(void)!write(events->fd[STOP], &one, sizeof(one));
	pthread_join(events->answering, NULL);
	close_all(events); /* the kernel lets all waiting processes proceed */
}
