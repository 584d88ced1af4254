/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The two fanotify(7) groups of the files that are watched, and a thread for each:
 *
 *	FAN_OPEN_PERM --> canfs_answer: opens() -- false: open(2) goes on at once
 *	                                        \- true:  it waits for canfs_events_answer()
 *	FAN_MODIFY ----> canfs_modify: wrote()
 *
 * With each event comes a descriptor, and where the kernel has none to give, open(2) fails with EPERM. So both threads have a table of
 * descriptors of their own, whatever the rest of the process has open. What they call must not start a thread, which would get that table, nor use a
 * descriptor of another thread. The thread that answers closes nothing whose blocks would be freed then: that takes seconds for a huge file.
 */
#ifndef CANFS_GANESHA_FSAL_EVENTS_H
#define CANFS_GANESHA_FSAL_EVENTS_H

#include <stdbool.h>
#include <sys/types.h>

struct canfs_events;

/* Another process does something to a file. */
struct canfs_event {
	dev_t dev;
	ino_t ino;
	int number; /* for canfs_events_answer() */
	pid_t tid;  /* the thread that opens it; 0: of another PID namespace */
};

struct canfs_events_config {
	bool (*opens)(void *arg, const struct canfs_event *event);
	void (*wrote)(void *arg, const struct canfs_event *event);
	int (*expire)(
		void *arg); /* after each opens(): to be called again in so many ms, -1: never */
	void (*thread_begins)(const char *name); /* NULL: no interest */
	void *arg;
};

/* -errno; -EPERM: without CAP_SYS_ADMIN. */
int canfs_events_new(struct canfs_events **events, const struct canfs_events_config *config);

/* All that wait go on. NULL allowed. */
void canfs_events_free(struct canfs_events *events);

/* fd: of the file, of the caller's table; may be O_PATH. -errno. */
int canfs_events_add(struct canfs_events *events, int fd);
void canfs_events_remove(struct canfs_events *events, int fd);

/* From any thread: what waits goes on, or fails with EPERM. */
void canfs_events_answer(struct canfs_events *events, int number, bool allow);

#endif
