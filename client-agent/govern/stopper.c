// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/govern/stopper.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "client-agent/kernel/procfs.h"

static int adopt_by_cgroup(struct canfs_stopper *stopper, pid_t child)
{
	int ret = canfs_freezer_create(&stopper->freezer);

	if (ret < 0)
		return ret;
	ret = canfs_freezer_add(&stopper->freezer, child);
	/* An older kernel has the group and cannot freeze it. */
	if (ret == 0)
		ret = canfs_freezer_set(&stopper->freezer, false);
	if (ret < 0)
		canfs_freezer_remove(&stopper->freezer);
	return ret;
}

int canfs_stopper_adopt(struct canfs_stopper *stopper, pid_t child, bool signals)
{
	*stopper =
		(struct canfs_stopper) { .how = CANFS_STOP_CGROUP, .is_ours = true, .pid = child };
	if (!signals && adopt_by_cgroup(stopper, child) == 0)
		return 0;
	stopper->how = CANFS_STOP_GROUP;
	stopper->is_ours = false;
	return 0;
}

static int attach_process(struct canfs_stopper *stopper, pid_t pid, const char **why)
{
	if (kill(pid, 0) < 0) {
		*why = errno == EPERM ? "its process is another user's"
				      : "there is no such process";
		return -errno;
	}
	stopper->how = getpgid(pid) == pid ? CANFS_STOP_GROUP : CANFS_STOP_PROCESS;
	stopper->pid = pid;
	if (pid == getpid() || pid == getpgrp() || pid == 1) {
		*why = "canfsctl itself would be stopped";
		return -EDEADLK;
	}
	return 0;
}

static int attach_cgroup(struct canfs_stopper *stopper, const char *what, const char **why)
{
	int ret = canfs_freezer_find(&stopper->freezer, what);

	stopper->how = CANFS_STOP_CGROUP;
	if (ret == -EOPNOTSUPP)
		*why = "no control group of version 2 that can be frozen";
	else if (ret < 0)
		*why = "neither a process ID, a control group nor a running systemd unit";
	if (ret < 0)
		return ret;
	if (canfs_freezer_has_us(&stopper->freezer)) {
		*why = "canfsctl itself would be stopped";
		return -EDEADLK;
	}
	ret = canfs_freezer_is_frozen(&stopper->freezer);
	if (ret > 0) {
		*why = "it is frozen already, by somebody else";
		return -EBUSY;
	}
	/* Do we have the right to? */
	ret = canfs_freezer_set(&stopper->freezer, false);
	if (ret < 0)
		*why = strerrordesc_np(-ret);
	return ret;
}

int canfs_stopper_attach(struct canfs_stopper *stopper, const char *what, const char **why)
{
	const char *at = what;
	uint64_t pid;

	*stopper = (struct canfs_stopper) { 0 };
	*why = "";
	if (canfs_parse_u64(&at, &pid) < 0 || *at)
		return attach_cgroup(stopper, what, why);
	if (pid < 1 || pid > INT_MAX) {
		*why = "there is no such process";
		return -ESRCH;
	}
	return attach_process(stopper, (pid_t)pid, why);
}

int canfs_stopper_set(const struct canfs_stopper *stopper, bool stopped)
{
	int number = stopped ? SIGSTOP : SIGCONT;

	if (stopper->how == CANFS_STOP_CGROUP)
		return canfs_freezer_set(&stopper->freezer, stopped);
	return kill(stopper->how == CANFS_STOP_GROUP ? -stopper->pid : stopper->pid, number) < 0
		       ? -errno
		       : 0;
}
