/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "client-agent/writers.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>
#include "client-agent/procfs.h"

#define FDINFO_MAX 4096 /* locks and inotify watches come behind what we read */

/* A number behind "NAME:\t", to the line's end. */
static int field(const char *text, const char *name, int base, unsigned long long *value)
{
	const char *at = strstr(text, name);
	char *end;

	if (!at || (at != text && at[-1] != '\n'))
		return -EPROTO;
	at += strlen(name);
	at += strspn(at, " \t");
	if (!isdigit((unsigned char)*at))
		return -EPROTO;
	errno = 0;
	*value = strtoull(at, &end, base);
	return errno || *end != '\n' ? -EPROTO : 0;
}

int canfs_fdinfo_parse(const char *text, struct canfs_fdinfo *fdinfo)
{
	unsigned long long flags, mount_id, inode;

	if (field(text, "flags:", 8, &flags) || field(text, "mnt_id:", 10, &mount_id) ||
		field(text, "ino:", 10, &inode) || flags > UINT_MAX || mount_id > INT_MAX)
		return -EPROTO;
	*fdinfo = (struct canfs_fdinfo) { (unsigned int)flags, (int)mount_id, inode };
	return 0;
}

/* A long fdinfo is cut: what we need comes first. */
static int read_fdinfo(const char *root, int pid, int fd, struct canfs_fdinfo *fdinfo)
{
	char path[PATH_MAX], text[FDINFO_MAX];

	snprintf(path, sizeof(path), "%s/proc/%d/fdinfo/%d", root, pid, fd);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	ssize_t len = read(file, text, sizeof(text) - 1);
	int err = len < 0 ? -errno : 0;
	close(file);
	if (err)
		return err;
	text[len] = '\0';
	return canfs_fdinfo_parse(text, fdinfo);
}

static bool wanted(const struct canfs_writers *writers, const struct canfs_fdinfo *fdinfo)
{
	unsigned int mode = fdinfo->flags & O_ACCMODE;

	if ((fdinfo->flags & O_PATH) || (mode != O_WRONLY && mode != O_RDWR))
		return false;
	for (size_t i = 0; i < writers->mount_ids; i++) {
		if (writers->mount_id[i] == fdinfo->mount_id)
			return true;
	}
	return false;
}

void canfs_writers_init(struct canfs_writers *writers, const int *mount_ids, size_t n)
{
	memset(writers, 0, sizeof(*writers));
	writers->mount_ids = n < CANFS_WRITERS_IDS_MAX ? n : CANFS_WRITERS_IDS_MAX;
	memcpy(writers->mount_id, mount_ids, writers->mount_ids * sizeof(*mount_ids));
}

void canfs_writers_recheck(struct canfs_writers *writers, const char *root)
{
	for (size_t i = writers->n; i-- > 0;) {
		struct canfs_writer *writer = &writers->writer[i];
		struct canfs_fdinfo fdinfo;
		if (read_fdinfo(root, writer->pid, writer->writer_fd, &fdinfo) == 0 &&
			fdinfo.inode == writer->inode && wanted(writers, &fdinfo))
			continue;
		close(writer->fd);
		*writer = writers->writer[--writers->n];
	}
}

void canfs_writers_close(struct canfs_writers *writers)
{
	while (writers->n > 0)
		close(writers->writer[--writers->n].fd);
}

/* The fourth number behind "Uid:" or "Gid:" in /proc/PID/status: who it is to file systems. */
static int status_id(const char *status, const char *name, unsigned int *id)
{
	unsigned int ids[4];
	const char *at = strstr(status, name);

	if (!at ||
		sscanf(at + strlen(name), "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
		return -EPROTO;
	*id = ids[3];
	return 0;
}

/* Root may be nobody to the server (root_squash): then once more in the writer's name. */
static int open_as_writer(const char *root, int pid, const char *path, int flags)
{
	char name[64], status[FDINFO_MAX];
	unsigned int uid, gid;

	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	ssize_t len = canfs_read_file(root, name, status, sizeof(status));
	if (len < 0)
		return (int)len;
	if (status_id(status, "\nUid:", &uid) || status_id(status, "\nGid:", &gid))
		return -EPROTO;
	int old_gid = setfsgid(gid); /* both are of this thread alone */
	int old_uid = setfsuid(uid);
	int fd = open(path, flags);
	int err = errno;
	setfsuid((uid_t)old_uid);
	setfsgid((gid_t)old_gid);
	return fd < 0 ? -err : fd;
}

/* Type and inode without asking the server: a stat that asks for mtime flushes the file. */
static bool is_file(int fd, uint64_t inode)
{
	struct statx stx;

	return statx(fd, "", AT_STATX_DONT_SYNC | AT_EMPTY_PATH, STATX_TYPE | STATX_INO, &stx) ==
		       0 &&
	       S_ISREG(stx.stx_mode) && stx.stx_ino == inode;
}

/*
 * Our own descriptor of the file behind PID's fd, or -errno. First without opening it (O_PATH): it
 * may be a FIFO, which would block us, a device, which may do anything, or another file by now.
 * That descriptor can also be followed in the writer's name, which /proc/PID need not allow.
 */
static int reopen(const char *root, int pid, int writer_fd, uint64_t inode)
{
	const int flags = O_RDONLY | O_NOCTTY | O_CLOEXEC;
	char path[PATH_MAX], again[64];

	snprintf(path, sizeof(path), "%s/proc/%d/fd/%d", root, pid, writer_fd);
	int place = open(path, O_PATH | O_CLOEXEC);
	if (place < 0)
		return -errno;
	int fd = -ENOENT;
	if (is_file(place, inode)) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
		fd = open(again, flags);
		if (fd < 0)
			fd = errno == EACCES || errno == EPERM
				     ? open_as_writer(root, pid, again, flags)
				     : -errno;
	}
	close(place);
	return fd;
}

/* -ENOSPC when the table is full; other errors concern this file only. */
static int add(struct canfs_writers *writers, const char *root, int pid, int writer_fd,
	const struct canfs_fdinfo *fdinfo)
{
	for (size_t i = 0; i < writers->n; i++) {
		if (writers->writer[i].inode == fdinfo->inode)
			return 0;
	}
	if (writers->n == CANFS_WRITERS_MAX)
		return -ENOSPC;
	int fd = reopen(root, pid, writer_fd, fdinfo->inode);
	if (fd < 0) {
		writers->errors += fd != -ENOENT; /* a file that is gone is no error */
		return fd == -ENOSPC ? -EIO : fd;
	}
	writers->writer[writers->n++] = (struct canfs_writer) {
		.pid = pid, .writer_fd = writer_fd, .inode = fdinfo->inode, .fd = fd
	};
	return 0;
}

/* The number that a directory entry's name is, or -1. */
static int entry_number(const struct dirent *entry)
{
	const char *name = entry->d_name;
	uint64_t value;

	return canfs_parse_u64(&name, &value) || *name || value > INT_MAX ? -1 : (int)value;
}

/* All files of one process. -ENOSPC: table full; -E2BIG: budget used up. */
static int scan_process(struct canfs_writers *writers, const char *root, int pid, int *budget)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int err = 0;

	snprintf(path, sizeof(path), "%s/proc/%d/fdinfo", root, pid);
	DIR *dir = opendir(path);
	if (!dir)
		return 0; /* gone, or not ours to see */
	while (!err && (entry = readdir(dir))) {
		struct canfs_fdinfo fdinfo;
		int fd = entry_number(entry);
		if (fd < 0)
			continue;
		if (--*budget < 0)
			err = -E2BIG;
		else if (read_fdinfo(root, pid, fd, &fdinfo) == 0 && wanted(writers, &fdinfo) &&
			 add(writers, root, pid, fd, &fdinfo) == -ENOSPC)
			err = -ENOSPC;
	}
	closedir(dir);
	return err;
}

int canfs_writers_scan(struct canfs_writers *writers, const char *root)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int budget = CANFS_WRITERS_SCAN_FILES;
	int from = writers->next_pid, err = 0;

	canfs_writers_recheck(writers, root);
	snprintf(path, sizeof(path), "%s/proc", root);
	DIR *dir = opendir(path);
	if (!dir)
		return -errno;
	writers->next_pid = 0;
	/* The kernel lists processes in the order of their numbers. */
	while (!err && (entry = readdir(dir))) {
		int pid = entry_number(entry);
		if (pid < 0 || pid < from)
			continue;
		err = scan_process(writers, root, pid, &budget);
		/* One process with more files than the budget must not hold up the others. */
		if (err)
			writers->next_pid = err == -E2BIG && pid != from ? pid : pid + 1;
	}
	closedir(dir);
	writers->truncated += err != 0;
	return 0;
}
