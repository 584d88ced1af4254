/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Processes of this machine that open a file of which a client has a delegation: they wait until it is returned, by fanotify(7).
 *
 * Not by fcntl(2) F_SETLEASE: the kernel gives none for writing while anybody has the file open, and NFS-Ganesha has. What this process
 * opens itself is let through. A process that had the file open before is not seen until it writes.
 *
 *	open(2) by another process --> canfs_answer: it waits --> canfs_watch: opened() ... canfs_watch_remove() --> it goes on
 *
 * The threads that take what the kernel tells, and answer, are those of events.h. All that takes time is done by canfs_watch.
 */
#ifndef CANFS_GANESHA_FSAL_WATCH_H
#define CANFS_GANESHA_FSAL_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CANFS_WATCH_WAITERS_MAX 1024 /* of all files; more do not wait */

struct canfs_watch;

struct canfs_watch_config {
	/* Another process waits until it is not watched any more, or has written. In the thread; again once a second while somebody waits. */
	void (*opened)(uint64_t file);
	void (*tick)(void); /* in the thread, once a second; NULL: no interest */
	/*
	 * Is what was sent of a file that is not to be watched any more still being written? Then it is watched until this says no: asked
	 * with a lock that canfs_watch_remove() takes, every 20 ms: it may not wait for anything. NULL: never.
	 */
	bool (*settles)(uint64_t file);
	/*
	 * An open(2) that truncates the file has waited for brief_msec. True: it goes on, and nothing that the holder sends from now on
	 * is written. False: something of that is just being written; if so a second later, too, the open(2) fails with EPERM. With the same lock.
	 * NULL: true.
	 */
	bool (*overtake)(uint64_t file);
	void (*thread_begins)(const char *name); /* NULL: no interest */
	unsigned int wait_sec;                   /* a process that opens it goes on after that */
	unsigned int
		brief_msec; /* one that truncates it, or may do so, after that: until then nobody can freeze the file system (opener.h) */
};

struct canfs_watched {
	dev_t dev;
	ino_t ino;
	uint64_t
		file; /* for opened(); unlike its ino, no other file has it when this one is deleted */
};

/* -errno; -EPERM: without CAP_SYS_ADMIN. */
int canfs_watch_new(struct canfs_watch **watch, const struct canfs_watch_config *config);

/* All that wait go on. NULL allowed. */
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

/* Is there a file that is still watched until it has settled? */
bool canfs_watch_any_settles(const struct canfs_watch *watch);

/* The file is to be deleted: if it settles, it is not watched any more, and its descriptor is closed. */
void canfs_watch_forget(struct canfs_watch *watch, dev_t dev, ino_t ino);

#endif
