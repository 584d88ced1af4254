/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Commits the journal of a file system for many threads at once. After a commit, all earlier
 * changes of directories and inodes are on disk.
 *
 * fsync(2) of a directory would flush no other directory, and fsync(2) of a file would flush its
 * data. But ext4 (without fast_commit) and XFS write their journals in order: when a later change
 * to any inode is on disk, so are all changes before it. The inode that is changed is an unnamed
 * file of ours. While it is open, the file system cannot be remounted read-only.
 *
 * Threads that arrive while a transaction is written share the next one. This is the file system's
 * own group commit. A lock around it would make threads wait for one more transaction. Eight
 * clients that create files reach 47 creations a second with a lock, and 59 without.
 *
 * Other file systems are synced as a whole, one syncfs(2) at a time:
 *
 *	threads that changed something   a b    c d e
 *	commits                         |--a--||-b c--||-d e--|
 */
#ifndef CANFS_GANESHA_FSAL_PROMISES_CORE_FS_JOURNAL_H
#define CANFS_GANESHA_FSAL_PROMISES_CORE_FS_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

struct canfs_fs_journal;

/* path: a directory of the file system. Returns 0 or -errno. */
int canfs_fs_journal_open(struct canfs_fs_journal **journal, const char *path);
/* NULL allowed. No thread may be using the journal. */
void canfs_fs_journal_close(struct canfs_fs_journal *journal);

/*
 * Blocks until all earlier changes of the file system are on disk. From any thread. Returns 0, or
 * -errno if they may not be on disk.
 */
int canfs_fs_journal_commit(struct canfs_fs_journal *journal);

/*
 * True: a commit syncs all data of all files, because the file system is not known to write its
 * journal in order.
 */
bool canfs_fs_journal_syncs_all(const struct canfs_fs_journal *journal);

/* Returns how often the journal was written or waited for. */
uint64_t canfs_fs_journal_commits(const struct canfs_fs_journal *journal);

#endif
