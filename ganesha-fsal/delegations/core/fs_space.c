// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/core/fs_space.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNK_BYTES       (UINT64_C(4) << 20) /* so that few delegations cause a journal transaction */
#define QUOTA_BLOCK_BYTES 512

static const int quota_types[CANFS_ACCOUNT_KINDS] = { [CANFS_ACCOUNT_USER] = USRQUOTA,
	[CANFS_ACCOUNT_GROUP] = GRPQUOTA,
	[CANFS_ACCOUNT_PROJECT] = PRJQUOTA };

int canfs_fs_space_open(struct canfs_fs_space *space, int dir)
{
	*space = (struct canfs_fs_space) {
		.fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), .can_reserve = true
	};
	if (space->fd < 0 && errno == EOPNOTSUPP)
		*space = (struct canfs_fs_space) { .fd = openat(dir, ".", O_RDONLY | O_CLOEXEC) };
	return space->fd < 0 ? -errno : 0;
}

void canfs_fs_space_close(struct canfs_fs_space *space)
{
	if (space->fd >= 0)
		close(space->fd);
	*space = (struct canfs_fs_space) { .fd = -1 };
}

/* Uses only commands that do not block on a frozen file system. */
static int ask_quota(const struct canfs_fs_space *space, unsigned int command,
	enum canfs_account_kind kind, uint32_t id, void *answer)
{
	return syscall(SYS_quotactl_fd, space->fd, QCMD(command, quota_types[kind]), id, answer) ==
			       0
		       ? 0
		       : -errno;
}

static bool has_quota(const struct canfs_fs_space *space, enum canfs_account_kind kind)
{
	struct if_dqinfo info;

	return ask_quota(space, Q_GETINFO, kind, 0, &info) == 0;
}

/* FS_IOC_FSGETXATTR does not work on an O_PATH descriptor. */
static int project_of(int file, uint32_t *id)
{
	char path[32];
	struct fsxattr attrs;
	int fd, ret = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, FS_IOC_FSGETXATTR, &attrs) != 0)
		ret = -errno;
	else
		*id = attrs.fsx_projid;
	if (fd >= 0)
		close(fd);
	return ret;
}

static uint64_t left_of_quota(
	const struct canfs_fs_space *space, enum canfs_account_kind kind, uint32_t id)
{
	struct fs_disk_quota quota = { .d_version = 0 };
	int ret = ask_quota(space, Q_XGETQUOTA, kind, id, &quota);
	uint64_t limit = quota.d_blk_softlimit ? quota.d_blk_softlimit : quota.d_blk_hardlimit;

	if (ret == -ENOENT || ret == -ESRCH || (ret == 0 && limit == 0))
		return CANFS_UNLIMITED;
	return ret == 0 && limit > quota.d_bcount ? (limit - quota.d_bcount) * QUOTA_BLOCK_BYTES
						  : 0;
}

static uint64_t left_of_fs(const struct canfs_fs_space *space)
{
	struct statvfs fs;

	if (fstatvfs(space->fd, &fs) != 0 || (fs.f_flag & ST_RDONLY))
		return 0;
	return fs.f_bavail * fs.f_frsize + space->reserved_bytes;
}

uint64_t canfs_fs_space_left(
	const struct canfs_fs_space *space, enum canfs_account_kind kind, uint32_t id)
{
	return kind == CANFS_ACCOUNT_SPACE ? left_of_fs(space) : left_of_quota(space, kind, id);
}

int canfs_fs_space_accounts(
	const struct canfs_fs_space *space, int file, uint64_t fs, struct canfs_charge *charge)
{
	uint32_t id[CANFS_ACCOUNT_KINDS] = { 0 };
	struct stat st;
	int ret = 0;

	if (fstat(file, &st) != 0)
		return -errno;
	id[CANFS_ACCOUNT_USER] = st.st_uid;
	id[CANFS_ACCOUNT_GROUP] = st.st_gid;
	if (has_quota(space, CANFS_ACCOUNT_PROJECT))
		ret = project_of(file, &id[CANFS_ACCOUNT_PROJECT]);
	for (enum canfs_account_kind kind = CANFS_ACCOUNT_SPACE; kind < CANFS_ACCOUNT_KINDS;
		kind++) {
		if (kind != CANFS_ACCOUNT_SPACE && !has_quota(space, kind))
			continue;
		charge->account[charge->accounts] =
			(struct canfs_account) { .fs = fs, .kind = kind, .id = id[kind] };
		charge->left_bytes[charge->accounts++] = canfs_fs_space_left(space, kind, id[kind]);
	}
	return ret;
}

uint64_t canfs_fs_space_block_bytes(const struct canfs_fs_space *space)
{
	struct statvfs fs;

	return fstatvfs(space->fd, &fs) == 0 ? fs.f_frsize : 0;
}

static bool shrink(struct canfs_fs_space *space, uint64_t bytes)
{
	if (ftruncate(space->fd, (off_t)bytes) != 0)
		return false;
	space->reserved_bytes = bytes;
	return true;
}

/* After an error, a part of the space may have been allocated. */
static int grow(struct canfs_fs_space *space, uint64_t bytes)
{
	uint64_t before_bytes = space->reserved_bytes;
	int ret = 0;

	if (fallocate(space->fd, 0, (off_t)before_bytes, (off_t)(bytes - before_bytes)) == 0)
		space->reserved_bytes = bytes;
	else
		ret = -errno;
	if (ret == -EOPNOTSUPP) {
		space->can_reserve = false;
		return 0;
	}
	if (ret != 0)
		(void)shrink(space, before_bytes);
	return ret;
}

int canfs_fs_space_reserve(struct canfs_fs_space *space, uint64_t bytes)
{
	uint64_t chunks = (bytes + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;

	if (!space->can_reserve)
		return 0;
	if (bytes > space->reserved_bytes)
		return grow(space, chunks);
	if (space->reserved_bytes > chunks + CHUNK_BYTES)
		(void)shrink(space, chunks + CHUNK_BYTES);
	return 0;
}

bool canfs_fs_space_spend(struct canfs_fs_space *space, uint64_t bytes)
{
	if (space->fd < 0 || space->reserved_bytes == 0)
		return false;
	return shrink(space, space->reserved_bytes > bytes ? space->reserved_bytes - bytes : 0);
}
