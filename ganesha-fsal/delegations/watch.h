/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Processes of this machine that open a file of which a client has a delegation: they wait until it is returned, by fanotify(7).
 *
 * Not by fcntl(2) F_SETLEASE: the kernel gives none for writing while anybody has the file open, and NFS-Ganesha has. What this process
 * opens itself is let through. A process that had the file open before is not seen until it writes.
 *
 *	open(2) by another process --> canfs_answer: it waits --> canfs_watch: opened() ... canfs_watch_remove() --> it proceeds
 *
 * The threads of events.h receive and answer the kernel's events. canfs_watch does everything that takes time.
 */
#ifndef CANFS_GANESHA_FSAL_WATCH_H
#define CANFS_GANESHA_FSAL_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CANFS_WATCH_WAITERS_MAX 1024 /* of all files; more do not wait */

struct canfs_watch;

struct canfs_watch_config {
	/* Another process waits until the file is no longer watched, or has written. In the thread; repeated once a second while a process waits. */
	void (*opened)(uint64_t file);
	void (*tick)(void); /* in the thread, once a second; NULL: no interest */
	/*
	 * Is what was sent of a file that is not to be watched any more still being written? Then it is watched until this says no: asked
	 * every 20 ms, under a lock that canfs_watch_remove() takes: it must not wait. NULL: never.
	 */
	bool (*settles)(uint64_t file);
	/*
	 * An open(2) that truncates the file has waited for brief_msec. True: the open proceeds, and WRITEs of the holder are refused from now
	 * on. False: such a WRITE is in progress; if it still is one second later, the open(2) fails with EPERM. Runs under the same lock.
	 * NULL: true.
	 */
	bool (*overtake)(uint64_t file);
	void (*thread_begins)(const char *name); /* NULL: no interest */
	unsigned int wait_sec; /* after that, a process that opens the file proceeds */
	unsigned int
		brief_msec; /* the same if it truncates the file, or may do so: until then the file system cannot be frozen (opener.h) */
};

struct canfs_watched {
	dev_t dev;
	ino_t ino;
	uint64_t file; /* for opened(); unlike ino, it is not reused after the file is deleted */
};

/* -errno; -EPERM: without CAP_SYS_ADMIN. */
int canfs_watch_new(struct canfs_watch **watch, const struct canfs_watch_config *config);

/* All waiting processes proceed. NULL allowed. */
void canfs_watch_free(struct canfs_watch *watch);

/*
 * fd: of the file, may be O_PATH; not kept: the kernel keeps an inode that has a mark until the file is deleted.
 * Counts, if the file is watched already. -errno.
 */
int canfs_watch_add(struct canfs_watch *watch, int fd, const struct canfs_watched *file);

/*
 * fd: of the file, and closed when it is not needed any more; negative, if it cannot be opened: then nobody waits for it any more, but each
 * open of it still wakes our thread.
 */
void canfs_watch_remove(struct canfs_watch *watch, int fd, const struct canfs_watched *file);

/* Is any file still settling? */
bool canfs_watch_any_settles(const struct canfs_watch *watch);

/* The file is about to be deleted: if it is settling, stops watching it and closes its descriptor. */
void canfs_watch_forget(struct canfs_watch *watch, dev_t dev, ino_t ino);

#endif
