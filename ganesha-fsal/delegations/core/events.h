/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The two fanotify(7) groups of the watched files, and a thread for each:
 *
 *	FAN_OPEN_PERM --> canfs_answer: opens() -- false: open(2) proceeds at once
 *	                                        \- true:  it waits for canfs_events_answer()
 *	FAN_MODIFY ----> canfs_modify: wrote()
 *
 * Each event carries a descriptor. If the kernel cannot allocate one, open(2) fails with EPERM.
 * Both threads therefore share a descriptor table of their own, independent of the rest of the
 * process. Their callbacks must not start a thread, because the thread would inherit that table.
 * Their callbacks must not use a descriptor of another thread. canfs_answer never closes the last
 * descriptor of a deleted file, because freeing a huge file takes seconds.
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_EVENTS_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_EVENTS_H

#include <stdbool.h>
#include <sys/types.h>

struct canfs_events;

/* An event: another process opens or writes a file. */
struct canfs_event {
	dev_t dev;
	ino_t ino;
	int number; /* for canfs_events_answer() */
	pid_t tid;  /* the thread that opens it; 0: of another PID namespace */
};

struct canfs_events_config {
	bool (*opens)(void *arg, const struct canfs_event *event);
	void (*wrote)(void *arg, const struct canfs_event *event);
	/*
	 * Called after each opens(). Returns the ms until its next call, or -1 if none is needed.
	 */
	int (*expire)(void *arg);
	void (*thread_begins)(const char *name); /* NULL: no interest */
	void *arg;
};

/* Returns 0 or -errno; -EPERM without CAP_SYS_ADMIN. */
int canfs_events_new(struct canfs_events **events, const struct canfs_events_config *config);

/* All waiting processes proceed. NULL allowed. */
void canfs_events_free(struct canfs_events *events);

/* fd: a descriptor of the file in the caller's table; may be O_PATH. Returns 0 or -errno. */
int canfs_events_add(struct canfs_events *events, int fd);
void canfs_events_remove(struct canfs_events *events, int fd);

/* From any thread: the waiting open(2) proceeds, or fails with EPERM. */
void canfs_events_answer(struct canfs_events *events, int number, bool allow);

#endif
