/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The journal of a file system, committed for many at once: what directories and inodes have become is on the disk.
 *
 * fsync(2) of a directory would flush no other, and that of a file its data. But ext4 (without fast_commit) and XFS write their
 * journals in order: when a later change to any inode is on the disk, so is all before it. That inode is a file of ours without
 * a name; while it is open, the file system cannot be remounted read-only. Who comes while a transaction is written shares the next one
 * with the others: that is the file system's own group commit, which a lock around it would only make wait for one transaction more
 * (eight clients that create files: 47 a second, not 59).
 *
 * Other file systems are synced as a whole, one syncfs(2) at a time:
 *
 *	threads that changed something   a b    c d e
 *	commits                         |--a--||-b c--||-d e--|
 */
#ifndef CANFS_GANESHA_FSAL_FS_JOURNAL_H
#define CANFS_GANESHA_FSAL_FS_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

struct canfs_fs_journal;

/* Of the file system of path, a directory. -errno. */
int canfs_fs_journal_open(struct canfs_fs_journal **journal, const char *path);
void canfs_fs_journal_close(
	struct canfs_fs_journal *journal); /* NULL allowed; nobody is in it any more */

/* Waits until all that was done on the file system before is on the disk. From any thread. -errno: it may not be. */
int canfs_fs_journal_commit(struct canfs_fs_journal *journal);

/* With all data of all files: it is not known to be of those that write in order. */
bool canfs_fs_journal_syncs_all(const struct canfs_fs_journal *journal);

/* How often the journal was written, or waited for. */
uint64_t canfs_fs_journal_commits(const struct canfs_fs_journal *journal);

#endif
