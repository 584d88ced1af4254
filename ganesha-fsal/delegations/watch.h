/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Processes of this machine that open a file of which a client has a delegation: they wait until it is returned, by fanotify(7).
 *
 * Not by fcntl(2) F_SETLEASE: the kernel gives none for writing while anybody has the file open, and NFS-Ganesha has. What this process
 * opens itself is let through. A process that had the file open before is not seen until it writes.
 *
 *	open(2) by another process --> our thread: opened() ... canfs_watch_remove() --> it goes on
 */
#ifndef CANFS_GANESHA_FSAL_WATCH_H
#define CANFS_GANESHA_FSAL_WATCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CANFS_WATCH_KEY_MAX     128
#define CANFS_WATCH_WAITERS_MAX 1024 /* of all files; more do not wait */

struct canfs_watch;

struct canfs_watch_config {
	/*
	 * Another process waits until it is not watched any more, or has written. In the thread, with a lock that canfs_watch_remove()
	 * takes: it may not wait for anything. Again once a second while somebody waits.
	 */
	void (*opened)(const void *whose, void *key, size_t key_bytes);
	void (*tick)(void); /* in the thread, once a second; NULL: no interest */
	void (*thread_begins)(const char *name); /* NULL: likewise */
	unsigned int wait_sec;                   /* who opens it goes on after that */
};

struct canfs_watched {
	dev_t dev;
	ino_t ino;
	const void *whose; /* both for opened() */
	const void *key;
	size_t key_bytes; /* at most CANFS_WATCH_KEY_MAX */
};

/* -errno; -EPERM: without CAP_SYS_ADMIN. */
int canfs_watch_new(struct canfs_watch **watch, const struct canfs_watch_config *config);

/* Who waits goes on. NULL allowed. */
void canfs_watch_free(struct canfs_watch *watch);

/* fd: of the file, may be O_PATH. Counts, if it is watched already. -errno; -EMFILE: a quarter of all descriptors is in use for it. */
int canfs_watch_add(struct canfs_watch *watch, int fd, const struct canfs_watched *file);
void canfs_watch_remove(struct canfs_watch *watch, dev_t dev, ino_t ino);

#endif
