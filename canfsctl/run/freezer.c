// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/run/freezer.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/file.h"
#include "common/path.h"

#define MOUNT  "/sys/fs/cgroup"
#define HYBRID MOUNT "/unified" /* cgroup2 beside version 1 controllers (systemd's hybrid layout) */

#define REMOVED_MSEC 1000

static bool is_cgroup2(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

const char *canfs_cgroup2_mount(void)
{
	if (is_cgroup2(MOUNT))
		return MOUNT;
	return is_cgroup2(HYBRID) ? HYBRID : NULL;
}

/* Reads "0::/a/b". The path is relative to the mount; "" for the root. */
static int group_of(pid_t pid, char *path, size_t size)
{
	char text[8192], file[32];
	const char *line;
	ssize_t len;

	snprintf(file, sizeof(file), "/proc/%d/cgroup", (int)pid);
	len = canfs_read_file("", file, text, sizeof(text));

	if (len < 0)
		return (int)len;
	line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (!line)
		return -EOPNOTSUPP;
	line = strchr(line, '/');
	if (!line)
		return -EOPNOTSUPP;
	len = (ssize_t)strcspn(line, "\n");
	if (len == 1) /* the root's is "/" */
		len = 0;
	return snprintf(path, size, "%.*s", (int)len, line) < (int)size ? 0 : -ENAMETOOLONG;
}

static int set_path(struct canfs_freezer *freezer, const char *mount, const char *group)
{
	int len = snprintf(freezer->path, sizeof(freezer->path), "%s%s", mount, group);

	if (len >= (int)sizeof(freezer->path))
		return -ENAMETOOLONG;
	while (len > 1 && freezer->path[len - 1] == '/')
		freezer->path[--len] = '\0';
	return 0;
}

static int open_file(const struct canfs_freezer *freezer, const char *name, int flags)
{
	char path[PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", freezer->path, name);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The root group has no cgroup.freeze, and no group has one before Linux 5.2. */
static int open_freeze(struct canfs_freezer *freezer)
{
	freezer->freeze_fd = open_file(freezer, "cgroup.freeze", O_WRONLY);
	if (freezer->freeze_fd >= 0)
		return 0;
	if (freezer->freeze_fd == -ENOENT && access(freezer->path, F_OK) == 0)
		return -EOPNOTSUPP;
	return freezer->freeze_fd;
}

int canfs_freezer_create(struct canfs_freezer *freezer)
{
	const char *mount = canfs_cgroup2_mount();
	char own[PATH_MAX], group[PATH_MAX + 32];
	int ret;

	if (!mount)
		return -EOPNOTSUPP;
	ret = group_of(getpid(), own, sizeof(own));
	if (ret < 0)
		return ret;
	snprintf(group, sizeof(group), "%s/canfs-run-%d", own, (int)getpid());
	ret = set_path(freezer, mount, group);
	if (ret < 0)
		return ret;
	/*
	 * A control group with this name may remain from a killed canfsctl with our PID. Replace
	 * it.
	 */
	if (mkdir(freezer->path, 0755) < 0 &&
		(errno != EEXIST || rmdir(freezer->path) < 0 || mkdir(freezer->path, 0755) < 0))
		return -errno;
	ret = open_freeze(freezer);
	if (ret < 0)
		rmdir(freezer->path);
	return ret;
}

/*
 * A unit's group is named after the unit, somewhere below the slices. Users' and containers' units
 * may share the name.
 */
static int find_unit(struct canfs_freezer *freezer, const char *mount, const char *unit)
{
	char *const roots[] = { (char *)mount, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	int ret = -ENOENT;

	while (tree && (entry = fts_read(tree))) {
		if (entry->fts_info != FTS_D || strcmp(entry->fts_name, unit) != 0)
			continue;
		ret = ret == -ENOENT ? set_path(freezer, "", entry->fts_path) : -ENOTUNIQ;
	}
	if (tree)
		fts_close(tree);
	return ret;
}

int canfs_freezer_find(struct canfs_freezer *freezer, const char *name)
{
	const char *mount = canfs_cgroup2_mount();
	int ret;

	if (!mount)
		return -EOPNOTSUPP;
	if (!strchr(name, '/'))
		ret = find_unit(freezer, mount, name);
	else if (strncmp(name, mount, strlen(mount)) == 0)
		ret = set_path(freezer, "", name);
	else
		ret = set_path(freezer, mount, name);
	return ret < 0 ? ret : open_freeze(freezer);
}

void canfs_freezer_close(struct canfs_freezer *freezer)
{
	close(freezer->freeze_fd);
}

bool canfs_freezer_has(const struct canfs_freezer *freezer, pid_t pid)
{
	const char *mount = canfs_cgroup2_mount();
	struct canfs_freezer other;
	char group[PATH_MAX];

	if (!mount || group_of(pid, group, sizeof(group)) < 0 || set_path(&other, mount, group) < 0)
		return false;
	return canfs_path_is_below(other.path, freezer->path);
}

int canfs_freezer_add(const struct canfs_freezer *freezer, pid_t pid)
{
	int fd = open_file(freezer, "cgroup.procs", O_WRONLY), ret = 0;

	if (fd < 0)
		return fd;
	if (dprintf(fd, "%d", (int)pid) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

int canfs_freezer_set(const struct canfs_freezer *freezer, bool frozen)
{
	return write(freezer->freeze_fd, frozen ? "1" : "0", 1) < 0 ? -errno : 0;
}

int canfs_freezer_is_frozen(const struct canfs_freezer *freezer)
{
	char text[32];
	ssize_t len = canfs_read_file(freezer->path, "/cgroup.freeze", text, sizeof(text));

	return len < 0 ? (int)len : text[0] == '1';
}

bool canfs_freezer_is_empty(const struct canfs_freezer *freezer)
{
	char text[256];

	return canfs_read_file(freezer->path, "/cgroup.events", text, sizeof(text)) < 0 ||
	       strstr(text, "populated 0");
}

int canfs_freezer_events(const struct canfs_freezer *freezer)
{
	return open_file(freezer, "cgroup.events", O_RDONLY);
}

void canfs_freezer_remove_when_empty(const struct canfs_freezer *freezer)
{
	struct pollfd polled = { canfs_freezer_events(freezer), POLLPRI, 0 };
	char text[256];

	/*
	 * poll() reports the next change only after the file was read again. The removal of the
	 * group by somebody else is not reported, hence the timeout.
	 */
	while (polled.fd >= 0 && pread(polled.fd, text, sizeof(text), 0) >= 0 &&
		!canfs_freezer_is_empty(freezer))
		poll(&polled, 1, REMOVED_MSEC);
	if (polled.fd >= 0)
		close(polled.fd);
	canfs_freezer_remove(freezer);
}

void canfs_freezer_remove(const struct canfs_freezer *freezer)
{
	rmdir(freezer->path);
}
