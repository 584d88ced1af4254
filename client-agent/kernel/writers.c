// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/writers.h"

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
#include <time.h>
#include <unistd.h>
#include "common/file.h"
#include "common/text.h"
#include "common/mountinfo.h"

#define FDINFO_MAX     4096 /* locks and inotify watches come after the fields that we read */
#define NAMESPACES_MAX 16   /* remembered in one scan; more namespaces take turns */
#define MOUNTINFO_COST 32   /* of the scan's budget, for reading a namespace's mountinfo */

/* Parses the number after "NAME:\t". The number must end its line. */
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

/* Truncates a long fdinfo: the fields that we need come first. */
static int read_fdinfo(const char *root, int pid, int fd, struct canfs_fdinfo *fdinfo)
{
	char path[PATH_MAX], text[FDINFO_MAX];

	snprintf(path, sizeof(path), "%s/proc/%d/fdinfo/%d", root, pid, fd);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	ssize_t len = read(file, text, sizeof(text) - 1);
	int ret = len < 0 ? -errno : 0;
	close(file);
	if (ret)
		return ret;
	text[len] = '\0';
	return canfs_fdinfo_parse(text, fdinfo);
}

static bool is_for_writing(const struct canfs_fdinfo *fdinfo)
{
	unsigned int mode = fdinfo->flags & O_ACCMODE;

	return !(fdinfo->flags & O_PATH) && (mode == O_WRONLY || mode == O_RDWR);
}

void canfs_writers_init(struct canfs_writers *writers, struct canfs_bdi bdi)
{
	memset(writers, 0, sizeof(*writers));
	writers->bdi = bdi;
}

/* Removes a writer. The next scan looks at its process again. */
static void let_go(struct canfs_writers *writers, size_t i)
{
	struct canfs_writer *writer = &writers->writer[i];

	writers->seen[writer->pid % CANFS_WRITERS_SEEN_MAX] = 0;
	close(writer->fd);
	*writer = writers->writer[--writers->n];
}

void canfs_writers_recheck(struct canfs_writers *writers, const char *root)
{
	for (size_t i = writers->n; i-- > 0;) {
		struct canfs_writer *writer = &writers->writer[i];
		struct canfs_fdinfo fdinfo;
		if (read_fdinfo(root, writer->pid, writer->writer_fd, &fdinfo) == 0 &&
			fdinfo.inode == writer->inode && fdinfo.mount_id == writer->mount_id &&
			is_for_writing(&fdinfo))
			continue;
		if (writers->drop_behind)
			canfs_writer_drop_behind(writer);
		let_go(writers, i);
	}
}

uint64_t canfs_writers_rest_usec(
	const struct canfs_writers *writers, uint64_t cost_usec, bool sends)
{
	if (!writers->swept)
		return cost_usec * 10;
	return cost_usec * (sends && writers->n > 0 ? 2000 : 250);
}

/*
 * Covers only sent data: for other data the kernel would start write-back. Data in flight is not
 * dropped.
 */
void canfs_writer_drop_behind(struct canfs_writer *writer)
{
	if (!writer->write_only || writer->tail_bytes < CANFS_DROP_MIN_BYTES)
		return;
	if (writer->dropped_bytes != writer->tail_bytes)
		writer->drops = 0;
	writer->dropped_bytes = writer->tail_bytes;
	if (writer->drops >= CANFS_DROP_TRIES)
		return;
	writer->drops++;
	posix_fadvise(writer->fd, 0, (off_t)writer->tail_bytes, POSIX_FADV_DONTNEED);
}

void canfs_writers_close(struct canfs_writers *writers)
{
	while (writers->n > 0)
		let_go(writers, writers->n - 1);
}

/* Parses the fourth number after "Uid:" or "Gid:" in /proc/PID/status: the file-system ID. */
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

/*
 * Opens path with the writer's credentials, because the server may map root to nobody
 * (root_squash).
 */
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
	int old_gid = setfsgid(gid); /* setfsgid() and setfsuid() affect only this thread */
	int old_uid = setfsuid(uid);
	int fd = open(path, flags);
	int reason = errno;
	setfsuid((uid_t)old_uid);
	setfsgid((gid_t)old_gid);
	return fd < 0 ? -reason : fd;
}

/* Checks type and inode without asking the server. A stat that asks for mtime flushes the file. */
static bool is_file(int fd, uint64_t inode)
{
	struct statx stx;

	return statx(fd, "", AT_STATX_DONT_SYNC | AT_EMPTY_PATH, STATX_TYPE | STATX_INO, &stx) ==
		       0 &&
	       S_ISREG(stx.stx_mode) && stx.stx_ino == inode;
}

/*
 * Returns our own descriptor of the file behind PID's fd, or -errno. Opens the file with O_PATH
 * first: it may be a FIFO, which would block us, a device, which may do anything, or a different
 * file by now. The O_PATH descriptor can also be re-opened with the writer's credentials. /proc/PID
 * may not allow that.
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

/*
 * Returns 0, -ENOSPC if the table is full, -EEXIST if another process's descriptor represents the
 * file, or another -errno if the file cannot be opened.
 */
static int add(struct canfs_writers *writers, const char *root, int pid, int writer_fd,
	const struct canfs_fdinfo *fdinfo)
{
	for (size_t i = 0; i < writers->n; i++) {
		const struct canfs_writer *known = &writers->writer[i];
		if (known->inode == fdinfo->inode)
			return known->pid == pid ? 0 : -EEXIST;
	}
	if (writers->n == CANFS_WRITERS_MAX)
		return -ENOSPC;
	int fd = reopen(root, pid, writer_fd, fdinfo->inode);
	if (fd < 0) {
		writers->errors += fd != -ENOENT; /* a file that is gone is no error */
		return fd == -ENOSPC ? -EIO : fd;
	}
	writers->writer[writers->n++] = (struct canfs_writer) {
		.pid = pid,
		.writer_fd = writer_fd,
		.mount_id = fdinfo->mount_id,
		.inode = fdinfo->inode,
		.fd = fd,
		.write_only = (fdinfo->flags & O_ACCMODE) == O_WRONLY,
	};
	return 0;
}

/* Returns the number that is the entry's name, or -1. */
static int entry_number(const struct dirent *entry)
{
	const char *name = entry->d_name;
	uint64_t value;

	return canfs_parse_u64(&name, &value) || *name || value > INT_MAX ? -1 : (int)value;
}

/* A mount namespace, and the IDs of its mounts on the BDI. */
struct mount_ns {
	char name[32]; /* "mnt:[4026531841]" */
	size_t ids;
	int id[CANFS_WRITERS_IDS_MAX];
};

/* State of one scan. */
struct scan {
	struct canfs_writers *writers;
	const char *root;
	bool own_pids; /* PIDs below root are valid in system calls */
	int budget;    /* processes and files left to read */
	size_t namespaces;
	struct mount_ns mount_ns[NAMESPACES_MAX];
};

struct mount_ids {
	struct canfs_bdi bdi;
	struct mount_ns *mount_ns;
};

static void take_mount(void *data, const char *line, const char *end)
{
	const struct mount_ids *ids = data;
	struct mount_ns *mount_ns = ids->mount_ns;
	struct canfs_mountinfo mount;
	struct canfs_bdi bdi;
	uint64_t id;

	if (canfs_mountinfo_split(line, end, &mount) || canfs_span_number(mount.id, INT_MAX, &id) ||
		canfs_mountinfo_device(mount.device, &bdi.major, &bdi.minor))
		return;
	if (canfs_bdi_equal(bdi, ids->bdi) && mount_ns->ids < CANFS_WRITERS_IDS_MAX)
		mount_ns->id[mount_ns->ids++] = (int)id;
}

static int read_mount_ids(const struct scan *scan, int pid, struct mount_ns *mount_ns)
{
	struct mount_ids ids = { scan->writers->bdi, mount_ns };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	mount_ns->ids = 0;
	return canfs_read_lines(scan->root, path, take_mount, &ids);
}

/* Returns the process's namespace, or NULL if the process is gone or not visible to us. */
static const struct mount_ns *namespace_of(struct scan *scan, int pid)
{
	char path[PATH_MAX], name[sizeof(scan->mount_ns[0].name)];

	snprintf(path, sizeof(path), "%s/proc/%d/ns/mnt", scan->root, pid);
	ssize_t len = readlink(path, name, sizeof(name) - 1);
	if (len < 0)
		return NULL;
	name[len] = '\0';
	for (size_t i = 0; i < NAMESPACES_MAX; i++) {
		if (strcmp(scan->mount_ns[i].name, name) == 0)
			return &scan->mount_ns[i];
	}
	struct mount_ns *mount_ns = &scan->mount_ns[scan->namespaces++ % NAMESPACES_MAX];
	mount_ns->name[0] = '\0';
	scan->budget -= MOUNTINFO_COST;
	if (read_mount_ids(scan, pid, mount_ns) != 0)
		return NULL;
	strcpy(mount_ns->name, name);
	return mount_ns;
}

static bool has_id(const struct mount_ns *mount_ns, int mount_id)
{
	for (size_t i = 0; i < mount_ns->ids; i++) {
		if (mount_ns->id[i] == mount_id)
			return true;
	}
	return false;
}

/*
 * Returns true if a process's descriptor may be writable, according to the owner's bits of its
 * link. The bits cost a third of reading its fdinfo. Only few of thousands of open files are
 * writable.
 */
static bool may_be_written(DIR *fds, const char *name)
{
	struct stat st;

	return fstatat(dirfd(fds), name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IWUSR);
}

/* False for the root of a test, and in a container with the host's /proc. */
static bool has_own_pids(const char *root)
{
	char path[PATH_MAX], self[16];
	uint64_t pid;
	const char *p = self;

	snprintf(path, sizeof(path), "%s/proc/self", root);
	ssize_t len = readlink(path, self, sizeof(self) - 1);
	if (len < 0)
		return false;
	self[len] = '\0';
	return canfs_parse_u64(&p, &pid) == 0 && pid == (uint64_t)getpid();
}

/*
 * Returns a mark that changes whenever the process runs. No other process has the same mark. 0: not
 * available.
 */
static uint64_t mark_of(const struct scan *scan, int pid)
{
	const int pid_bits = 22; /* PID_MAX_LIMIT of <linux/threads.h> */
	clockid_t clock;
	struct timespec ran;

	if (!scan->own_pids || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ran))
		return 0;
	uint64_t nsec = (uint64_t)ran.tv_sec * 1000000000 + (uint64_t)ran.tv_nsec;
	return nsec << pid_bits | (uint64_t)pid;
}

/*
 * Scans all files of one process. Returns 0, -ENOSPC if the table is full, -E2BIG if the budget is
 * used up, or -EAGAIN if some files could not be added.
 */
static int scan_files(struct scan *scan, int pid)
{
	const struct mount_ns *mount_ns = namespace_of(scan, pid);
	char path[PATH_MAX];
	struct dirent *entry;
	bool all = true;
	int ret = 0;

	if (!mount_ns || mount_ns->ids == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/proc/%d/fd", scan->root, pid);
	DIR *dir = opendir(path);
	if (!dir)
		return 0;
	while (!ret && (entry = readdir(dir))) {
		struct canfs_fdinfo fdinfo;
		int fd = entry_number(entry);
		if (fd < 0)
			continue;
		if (--scan->budget < 0) {
			ret = -E2BIG;
		} else if (may_be_written(dir, entry->d_name) &&
			   read_fdinfo(scan->root, pid, fd, &fdinfo) == 0 &&
			   is_for_writing(&fdinfo) && has_id(mount_ns, fdinfo.mount_id)) {
			int added = add(scan->writers, scan->root, pid, fd, &fdinfo);
			all = all && !added;
			ret = added == -ENOSPC ? -ENOSPC : 0;
		}
	}
	closedir(dir);
	return ret || all ? ret : -EAGAIN;
}

/*
 * Scans a process if it has run since its last complete scan. On -EAGAIN the process is scanned
 * again next time. -EAGAIN also means that another process's descriptor represents one of its
 * files.
 */
static int scan_process(struct scan *scan, int pid)
{
	uint64_t *seen = &scan->writers->seen[pid % CANFS_WRITERS_SEEN_MAX];
	uint64_t mark =
		mark_of(scan, pid); /* before the files: opening one meanwhile changes the mark */
	int ret;

	if (mark && *seen == mark)
		return 0;
	ret = scan_files(scan, pid);
	if (!ret)
		*seen = mark;
	return ret == -EAGAIN ? 0 : ret;
}

int canfs_writers_scan(struct canfs_writers *writers, const char *root)
{
	struct scan scan = { .writers = writers,
		.root = root,
		.own_pids = has_own_pids(root),
		.budget = CANFS_WRITERS_SCAN_FILES };
	char path[PATH_MAX];
	struct dirent *entry;
	int from = writers->next_pid, ret = 0;

	canfs_writers_recheck(writers, root);
	snprintf(path, sizeof(path), "%s/proc", root);
	DIR *dir = opendir(path);
	if (!dir)
		return -errno;
	writers->next_pid = 0;
	/* The kernel lists processes in the order of their PIDs. */
	while (!ret && (entry = readdir(dir))) {
		int pid = entry_number(entry);
		if (pid < 0 || pid < from)
			continue;
		scan.budget--; /* also for a process without such files: there are thousands */
		ret = scan.budget < 0 ? -E2BIG : scan_process(&scan, pid);
		/*
		 * A process with more files than the budget must not block the scan of the others.
		 */
		if (ret)
			writers->next_pid = ret == -E2BIG && pid != from ? pid : pid + 1;
	}
	closedir(dir);
	writers->swept |= writers->next_pid == 0;
	return 0;
}
