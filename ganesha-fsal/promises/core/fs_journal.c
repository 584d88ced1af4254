// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/promises/core/fs_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

struct canfs_fs_journal {
	int fd;
	bool in_order;
	_Atomic uint64_t done; /* commits */
	/* For file systems that do not write in order: */
	pthread_mutex_t lock;
	pthread_cond_t written;
	bool busy;
	uint64_t begun;  /* commits; at most one of them is not done */
	uint64_t failed; /* the last commit that failed */
	int ret;         /* its error */
};

/*
 * Changes the mode, because no mount option delays that change. lazytime delays changes of the
 * times.
 */
static int write_in_order(struct canfs_fs_journal *journal)
{
	int ret = fchmod(journal->fd, S_IRUSR) == 0 && fsync(journal->fd) == 0 ? 0 : -errno;

	atomic_fetch_add(&journal->done, 1);
	return ret;
}

#define EXT4_SUPER_BLOCK 1024
#define EXT4_FEATURES    92 /* s_feature_compat in the super block, little-endian */
#define EXT4_HAS_JOURNAL 0x4
#define EXT4_FAST_COMMIT 0x400

/*
 * For ext4, also if it is mounted as ext2 or ext3. With fast_commit, changes of a directory itself
 * are only in full commits. Returns false if the features cannot be read.
 */
static bool ext4_writes_in_order(const char *path)
{
	char link[64], target[256], device[64];
	uint8_t octets[4] = { 0 };
	uint32_t features;
	struct stat st;
	ssize_t length;
	int fd;

	if (stat(path, &st) != 0)
		return false;
	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
	length = readlink(link, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	snprintf(device, sizeof(device), "/dev/%.48s", strrchr(target, '/') + 1);
	fd = open(device, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = pread(fd, octets, sizeof(octets), EXT4_SUPER_BLOCK + EXT4_FEATURES);
	close(fd);
	features = (uint32_t)octets[0] | (uint32_t)octets[1] << 8 | (uint32_t)octets[2] << 16 |
		   (uint32_t)octets[3] << 24;
	return length == sizeof(octets) && (features & EXT4_HAS_JOURNAL) &&
	       !(features & EXT4_FAST_COMMIT);
}

static bool writes_in_order(const char *path)
{
	struct statfs st;

	if (statfs(path, &st) != 0)
		return false;
	return st.f_type == XFS_SUPER_MAGIC ||
	       (st.f_type == EXT4_SUPER_MAGIC && ext4_writes_in_order(path));
}

int canfs_fs_journal_open(struct canfs_fs_journal **journal, const char *path)
{
	struct canfs_fs_journal *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return -ENOMEM;
	new->fd = -1;
	if (writes_in_order(path))
		new->fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR);
	new->in_order = new->fd >= 0;
	if (new->fd < 0)
		new->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (new->fd < 0) {
		ret = -errno;
		free(new);
		return ret;
	}
	pthread_mutex_init(&new->lock, NULL);
	pthread_cond_init(&new->written, NULL);
	*journal = new;
	return 0;
}

void canfs_fs_journal_close(struct canfs_fs_journal *journal)
{
	if (!journal)
		return;
	close(journal->fd);
	pthread_cond_destroy(&journal->written);
	pthread_mutex_destroy(&journal->lock);
	free(journal);
}

/* Call it with the lock held. Releases the lock meanwhile. */
static void write_all(struct canfs_fs_journal *journal)
{
	int ret;

	journal->busy = true;
	journal->begun++;
	pthread_mutex_unlock(&journal->lock);
	ret = syncfs(journal->fd) == 0 ? 0 : -errno;
	pthread_mutex_lock(&journal->lock);
	journal->busy = false;
	journal->done++;
	if (ret != 0) {
		journal->failed = journal->done;
		journal->ret = ret;
	}
	pthread_cond_broadcast(&journal->written);
}

/* A syncfs(2) for each thread would be too much. */
static int share(struct canfs_fs_journal *journal)
{
	uint64_t mine;
	int ret;

	pthread_mutex_lock(&journal->lock);
	mine = journal->begun + 1; /* a commit that has begun may miss our change */
	while (journal->done < mine) {
		if (journal->busy)
			pthread_cond_wait(&journal->written, &journal->lock);
		else
			write_all(journal);
	}
	/*
	 * A later commit that failed may have been of the same transaction: rather report one error
	 * too many.
	 */
	ret = journal->failed >= mine ? journal->ret : 0;
	pthread_mutex_unlock(&journal->lock);
	return ret;
}

int canfs_fs_journal_commit(struct canfs_fs_journal *journal)
{
	return journal->in_order ? write_in_order(journal) : share(journal);
}

bool canfs_fs_journal_syncs_all(const struct canfs_fs_journal *journal)
{
	return !journal->in_order;
}

uint64_t canfs_fs_journal_commits(const struct canfs_fs_journal *journal)
{
	return atomic_load(&journal->done);
}
