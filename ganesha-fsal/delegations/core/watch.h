/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Makes processes of this machine wait when they open a file of which a client has a delegation,
 * until the delegation is returned. Uses fanotify(7).
 *
 * fcntl(2) F_SETLEASE cannot be used: the kernel grants no write lease while anybody has the file
 * open, and NFS-Ganesha has it open. Opens by this process proceed at once. A process that had the
 * file open before is not noticed until it writes.
 *
 *	open(2) by another process --> canfs_answer: it waits --> canfs_watch: opened() ... canfs_watch_remove() --> it proceeds
 *
 * The threads of events.h receive and answer the kernel's events. canfs_watch does everything that
 * takes time.
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_WATCH_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CANFS_WATCH_WAITERS_MAX 1024 /* for all files; further processes do not wait */

struct canfs_watch;

struct canfs_watch_config {
	/*
	 * Another process waits until the file is no longer watched, or has written to it. Runs in
	 * canfs_watch, once a second while a process waits.
	 */
	void (*opened)(uint64_t file);
	void (*tick)(void); /* in canfs_watch, once a second; NULL: no interest */
	/*
	 * Called when a file need not be watched any more. True: data that its holder sent is still
	 * being written, so the file stays watched. It is then called every 20 ms until it returns
	 * false. Runs under a lock that canfs_watch_remove() takes: must not block. NULL: false.
	 */
	bool (*settles)(uint64_t file);
	/*
	 * An open(2) that truncates the file has waited for brief_msec. True: the open proceeds,
	 * and WRITEs of the holder are refused from now on. False: such a WRITE is in progress. If
	 * the WRITE still is one second later, the open(2) fails with EPERM. Runs under the same
	 * lock. NULL: true.
	 */
	bool (*overtake)(uint64_t file);
	void (*thread_begins)(const char *name); /* NULL: no interest */
	unsigned int wait_sec; /* after this, a process that opens the file proceeds */
	/*
	 * The same for a process that truncates the file or may do so. Until then, the file system
	 * cannot be frozen (opener.h).
	 */
	unsigned int brief_msec;
};

struct canfs_watched {
	dev_t dev;
	ino_t ino;
	uint64_t file; /* for opened(); unlike ino, it is not reused after the file is deleted */
};

/* Returns 0 or -errno; -EPERM without CAP_SYS_ADMIN. */
int canfs_watch_new(struct canfs_watch **watch, const struct canfs_watch_config *config);

/* All waiting processes proceed. NULL allowed. */
void canfs_watch_free(struct canfs_watch *watch);

/*
 * fd: a descriptor of the file, may be O_PATH. It is not kept, because the kernel keeps a marked
 * inode until the file is deleted. A file may be added several times; the calls are counted.
 * Returns 0 or -errno.
 */
int canfs_watch_add(struct canfs_watch *watch, int fd, const struct canfs_watched *file);

/*
 * fd: a descriptor of the file. It is closed here or when the file has settled. Negative: the file
 * cannot be opened. Then nobody waits for the file any more, but each open of it still wakes our
 * thread.
 */
void canfs_watch_remove(struct canfs_watch *watch, int fd, const struct canfs_watched *file);

/* Returns true if any file is still settling. */
bool canfs_watch_any_settles(const struct canfs_watch *watch);

/*
 * The file is about to be deleted. If it is settling, stops watching it and closes its descriptor.
 */
void canfs_watch_forget(struct canfs_watch *watch, dev_t dev, ino_t ino);

#endif
