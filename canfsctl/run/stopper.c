// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/run/stopper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "canfsctl/run/descendants.h"
#include "canfsctl/run/process_stat.h"
#include "common/text.h"

#define SIGNAL_PROCESS_GROUP (1u << 2) /* PIDFD_SIGNAL_PROCESS_GROUP of Linux 6.9 */

static int adopt_by_cgroup(struct canfs_stopper *stopper, pid_t child)
{
	int ret = canfs_freezer_create(&stopper->freezer);

	if (ret < 0)
		return ret;
	ret = canfs_freezer_add(&stopper->freezer, child);
	if (ret < 0) {
		canfs_freezer_remove(&stopper->freezer);
		canfs_freezer_close(&stopper->freezer);
	}
	return ret;
}

void canfs_stopper_adopt(struct canfs_stopper *stopper, pid_t child, bool signals)
{
	*stopper = (struct canfs_stopper) {
		.how = CANFS_STOP_CGROUP, .is_ours = true, .pid = child, .end_fd = -1
	};
	if (!signals && adopt_by_cgroup(stopper, child) == 0)
		return;
	stopper->how = CANFS_STOP_GROUP;
	stopper->is_ours = false;
}

int canfs_stopper_open_end(struct canfs_stopper *stopper)
{
	if (stopper->end_fd < 0)
		stopper->end_fd = pidfd_open(stopper->pid, 0);
	return stopper->end_fd < 0 ? -errno : 0;
}

/* Returns -1 if the value is unknown or the process is gone. */
static int64_t stat_of(int64_t pid, enum canfs_process_member member)
{
	int64_t value;

	return canfs_process_stat("", (pid_t)pid, member, &value) < 0 ? -1 : value;
}

/*
 * Does a shell wait for the process in the foreground of a terminal? The shell would take a stop
 * for Ctrl-Z and take the terminal back.
 */
static bool has_waiting_shell(pid_t pid)
{
	int64_t group = stat_of(pid, CANFS_PROCESS_GROUP);
	int64_t parent = stat_of(pid, CANFS_PROCESS_PARENT);

	return group == stat_of(pid, CANFS_PROCESS_FOREGROUND) &&
	       group != stat_of(parent, CANFS_PROCESS_GROUP) &&
	       stat_of(pid, CANFS_PROCESS_SESSION) == stat_of(parent, CANFS_PROCESS_SESSION);
}

/* May we stop the process? */
static int check_process(pid_t pid, const char **why)
{
	int64_t state = stat_of(pid, CANFS_PROCESS_STATE);

	if (pid == getpid() || pid == getpgrp() || pid == 1) {
		*why = "canfsctl itself would be stopped";
		return -EDEADLK;
	}
	if (state == 'T' || state == 't') { /* 't': by a debugger */
		*why = "something else has already stopped it";
		return -EBUSY;
	}
	if (has_waiting_shell(pid)) {
		*why = "a shell waits for it: move it to the background (Ctrl-Z, bg)";
		return -EBUSY;
	}
	return 0;
}

static int attach_process(struct canfs_stopper *stopper, pid_t pid, const char **why)
{
	int ret;

	stopper->how = getpgid(pid) == pid ? CANFS_STOP_GROUP : CANFS_STOP_PROCESS;
	stopper->pid = pid;
	/*
	 * Open the pidfd before any look-up. From here on, the process ID stays valid or the exit
	 * is seen.
	 */
	ret = canfs_stopper_open_end(stopper);
	if (ret == 0)
		ret = canfs_stopper_signal(stopper, false, 0);
	if (ret == -ESRCH || ret == -EINVAL) /* EINVAL: a thread */
		*why = "there is no such process";
	else if (ret == -EPERM)
		*why = "its process belongs to another user";
	else if (ret < 0)
		*why = strerrordesc_np(-ret);
	if (ret < 0)
		return ret;
	return check_process(pid, why);
}

static int attach_cgroup(struct canfs_stopper *stopper, const char *what, const char **why)
{
	int ret = canfs_freezer_find(&stopper->freezer, what);

	stopper->how = CANFS_STOP_CGROUP;
	if (ret == -EOPNOTSUPP)
		*why = "not a freezable control group of version 2";
	else if (ret == -EACCES)
		*why = "its control group belongs to another user";
	else if (ret == -ENOTUNIQ)
		*why = "several control groups have this name: give the path of one";
	else if (ret < 0)
		*why = "neither a process ID, a control group nor a running systemd unit";
	if (ret < 0)
		return ret;
	if (canfs_freezer_has(&stopper->freezer, getpid())) {
		*why = "canfsctl itself would be stopped";
		return -EDEADLK;
	}
	ret = canfs_freezer_is_frozen(&stopper->freezer);
	if (ret > 0) {
		*why = "something else has already frozen it";
		return -EBUSY;
	}
	stopper->end_fd = canfs_freezer_events(&stopper->freezer);
	if (stopper->end_fd < 0)
		*why = strerrordesc_np(-stopper->end_fd);
	return stopper->end_fd < 0 ? stopper->end_fd : 0;
}

int canfs_stopper_attach(struct canfs_stopper *stopper, const char *what, const char **why)
{
	const char *at = what;
	uint64_t pid;

	*stopper = (struct canfs_stopper) { .end_fd = -1 };
	*why = "";
	if (canfs_parse_u64(&at, &pid) < 0 || *at)
		return attach_cgroup(stopper, what, why);
	if (pid < 1 || pid > INT_MAX) {
		*why = "there is no such process";
		return -ESRCH;
	}
	return attach_process(stopper, (pid_t)pid, why);
}

/*
 * While a process group has members, its number is not reused as a process ID. Before Linux 6.9 we
 * can only check that no new process has our leader's number.
 */
static int signal_group(const struct canfs_stopper *stopper, int number)
{
	if (stopper->end_fd >= 0) {
		if (pidfd_send_signal(stopper->end_fd, number, NULL, SIGNAL_PROCESS_GROUP) == 0)
			return 0;
		if (errno != EINVAL)
			return -errno;
		if (pidfd_send_signal(stopper->end_fd, 0, NULL, 0) < 0 && errno == ESRCH &&
			kill(stopper->pid, 0) == 0)
			return -ESRCH;
	}
	return kill(-stopper->pid, number) < 0 ? -errno : 0;
}

int canfs_stopper_signal(const struct canfs_stopper *stopper, bool group, int number)
{
	int ret;

	if (group)
		return signal_group(stopper, number);
	ret = stopper->end_fd < 0 ? kill(stopper->pid, number)
				  : pidfd_send_signal(stopper->end_fd, number, NULL, 0);
	return ret < 0 ? -errno : 0;
}

int canfs_stopper_set(const struct canfs_stopper *stopper, bool stopped)
{
	int ret = stopper->how == CANFS_STOP_CGROUP
			  ? canfs_freezer_set(&stopper->freezer, stopped)
			  : canfs_stopper_signal(stopper, stopper->how == CANFS_STOP_GROUP,
				    stopped ? SIGSTOP : SIGCONT);

	return ret == -ESRCH || ret == -ENODEV || ret == -ENOENT ? 0 : ret;
}

static bool is_member(const struct canfs_stopper *stopper, pid_t pid)
{
	switch (stopper->how) {
	case CANFS_STOP_CGROUP:
		return canfs_freezer_has(&stopper->freezer, pid);
	case CANFS_STOP_GROUP:
		return stat_of(pid, CANFS_PROCESS_GROUP) == stopper->pid;
	case CANFS_STOP_PROCESS:
		break;
	}
	return pid == stopper->pid;
}

static bool is_stopped_member(const void *data, pid_t pid)
{
	int64_t state = stat_of(pid, CANFS_PROCESS_STATE);

	return (state == 'T' || state == 't') && is_member(data, pid);
}

bool canfs_stopper_is_taken(const struct canfs_stopper *stopper)
{
	if (stopper->how == CANFS_STOP_CGROUP)
		return canfs_freezer_is_frozen(&stopper->freezer) > 0;
	return canfs_descendant_find(stopper->pid, is_stopped_member, stopper) != 0;
}

/* A zombie is in no group. */
static bool has_left(const void *data, pid_t pid)
{
	int64_t state = stat_of(pid, CANFS_PROCESS_STATE);

	return state > 0 && state != 'Z' && state != 'X' && !is_member(data, pid);
}

pid_t canfs_stopper_find_left(const struct canfs_stopper *stopper)
{
	if (stopper->how == CANFS_STOP_PROCESS || stopper->pid == 0)
		return 0;
	return canfs_descendant_find(stopper->pid, has_left, stopper);
}

bool canfs_stopper_has_ended(const struct canfs_stopper *stopper, short revents)
{
	char text[256];

	if (stopper->pid > 0)
		return revents & POLLIN;
	/* Reading rearms poll() for the next change. After a removal, pread() fails. */
	if (revents && pread(stopper->end_fd, text, sizeof(text), 0) < 0)
		return true;
	return canfs_freezer_is_empty(&stopper->freezer);
}

void canfs_stopper_fini(struct canfs_stopper *stopper)
{
	if (stopper->how == CANFS_STOP_CGROUP)
		canfs_freezer_close(&stopper->freezer);
	if (stopper->end_fd >= 0)
		close(stopper->end_fd);
}
