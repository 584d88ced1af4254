// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/run/govern.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define WATCHDOG_USEC 5000000 /* beyond the longest pause: we hang */
#define SUSPEND_USEC  1000000 /* shorter differences of the two clocks are noise */

/*
 * Signals that end a job, and signals that a job may handle. Ignored ones stay ignored, as under
 * nohup(1).
 */
static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static const int own_signals[] = { SIGUSR1, SIGUSR2 };

static void note_change(struct ctl_run *run, bool stop, uint64_t now_usec)
{
	uint64_t lasted_usec = now_usec - run->changed_usec;

	run->is_stopped = stop;
	if (stop) {
		run->pauses++;
	} else {
		run->paused_usec += lasted_usec;
		if (lasted_usec > run->longest_usec)
			run->longest_usec = lasted_usec;
	}
	ctl_run_tell_change(run, now_usec);
	run->changed_usec = now_usec;
}

/*
 * Some processes escape a pause: those in podman's containers, in systemd-run's scopes, or after
 * setsid(2).
 */
static void find_left(struct ctl_run *run)
{
	pid_t left = run->has_left ? 0 : canfs_stopper_find_left(&run->stopper);

	if (left == 0)
		return;
	run->has_left = true;
	ctl_run_tell_left(run, left);
}

/* The watchdog is told of a pause before it begins and after it ends. */
static void pause_job(struct ctl_run *run, uint64_t now_usec)
{
	int ret;

	if (canfs_stopper_is_taken(&run->stopper))
		return; /* else the end of our pause would undo somebody else's stop */
	if (canfs_watchdog_tell(&run->watchdog, CANFS_JOB_PAUSED) < 0)
		return; /* the main loop notices that the watchdog is dead */
	ret = canfs_stopper_set(&run->stopper, true);
	if (ret == 0) {
		note_change(run, true, now_usec);
		find_left(run);
		return;
	}
	canfs_watchdog_tell(&run->watchdog, CANFS_JOB_RUNS);
	run->is_let_go = true;
	ctl_run_say("run: the job cannot be paused: %s; it keeps running", strerrordesc_np(-ret));
}

/*
 * Also succeeds for a job that has ended, which the main loop notices. On an error the next step
 * retries.
 */
static void continue_job(struct ctl_run *run, uint64_t now_usec)
{
	if (canfs_stopper_set(&run->stopper, false) < 0)
		return;
	canfs_watchdog_tell(&run->watchdog, CANFS_JOB_RUNS);
	note_change(run, false, now_usec);
}

static void set_stopped(struct ctl_run *run, bool stop, uint64_t now_usec)
{
	if (stop && !run->is_stopped)
		pause_job(run, now_usec);
	else if (!stop && run->is_stopped)
		continue_job(run, now_usec);
}

static void let_go(struct ctl_run *run)
{
	run->is_let_go = true;
	set_stopped(run, false, canfs_now_usec());
}

/* Without a watchdog, the job would stay stopped if we were killed during a pause. */
static void lose_watchdog(struct ctl_run *run)
{
	ctl_run_say("run: the watchdog was killed; the job will not be paused any more");
	let_go(run);
}

/*
 * A job in its own session does not receive the terminal's signals. A job in our process group
 * does.
 */
static bool is_apart(const struct ctl_run *run)
{
	return !run->governed->attach && run->stopper.how == CANFS_STOP_GROUP;
}

/*
 * Passes a signal on to the job. When a terminal hangs up, SIGHUP reaches only the session leader,
 * from the kernel, or our process group, from the shell. Either may be us alone. A second SIGHUP
 * does no harm.
 */
static void pass_on(const struct ctl_run *run, const struct signalfd_siginfo *info)
{
	int number = (int)info->ssi_signo, ret;
	bool is_hangup = number == SIGHUP, is_terminal = info->ssi_code == SI_KERNEL;

	if (is_terminal && !is_hangup && !is_apart(run))
		return;
	ret = canfs_stopper_signal(
		&run->stopper, is_apart(run) && (is_terminal || is_hangup), number);
	if (ret < 0 && ret != -ESRCH)
		ctl_run_say("run: SIG%s cannot be passed on: %s", sigabbrev_np(number),
			strerrordesc_np(-ret));
}

/*
 * Stops us until a shell continues us. In an orphaned process group, which has no shell, only
 * SIGSTOP works.
 */
static void stop_us(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/*
 * Ctrl-Z. Ends the pause, since we cannot govern while stopped. Then the job stops for as long as
 * we do, unless the terminal stops it itself.
 */
static void suspend(struct ctl_run *run)
{
	set_stopped(run, false, canfs_now_usec());
	if (!is_apart(run)) {
		stop_us(SIGTSTP);
		return;
	}
	canfs_watchdog_tell(&run->watchdog, CANFS_JOB_SUSPENDED);
	canfs_stopper_set(&run->stopper, true);
	stop_us(SIGTSTP);
	canfs_stopper_set(&run->stopper, false);
	canfs_watchdog_tell(&run->watchdog, CANFS_JOB_RUNS);
}

/*
 * The job has stopped itself, or somebody else has stopped it. We stop as well, so that our parent,
 * perhaps a shell, notices. If the parent continues us, we continue the job. If the job is
 * continued, the watchdog continues us.
 */
static void take_stop(struct ctl_run *run)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)run->process.pid, &info, WSTOPPED | WNOHANG) < 0 ||
		info.si_pid == 0 ||
		(run->is_stopped && run->stopper.how != CANFS_STOP_CGROUP)) /* by us */
		return;
	set_stopped(run, false, canfs_now_usec());
	canfs_watchdog_tell(&run->watchdog, CANFS_JOB_STOPPED);
	stop_us(info.si_status);
	canfs_stopper_signal(&run->stopper, run->stopper.how == CANFS_STOP_GROUP, SIGCONT);
	canfs_watchdog_tell(&run->watchdog, CANFS_JOB_RUNS);
}

static bool is_ending(int number)
{
	for (size_t i = 0; i < COUNT(ending_signals); i++) {
		if (ending_signals[i] == number)
			return true;
	}
	return false;
}

static void take_signal(struct ctl_run *run)
{
	struct signalfd_siginfo info;
	int number;

	if (read(run->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	number = (int)info.ssi_signo;
	if (number == SIGTSTP || number == SIGCHLD) {
		number == SIGTSTP ? suspend(run) : take_stop(run);
		return;
	}
	if (is_ending(number))
		let_go(run); /* a stopped job cannot end cleanly */
	if (run->governed->attach)
		run->ended_by = number;
	else
		pass_on(run, &info);
}

static void add_unless_ignored(sigset_t *set, int number)
{
	struct sigaction action;

	if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
		sigaddset(set, number);
}

int ctl_run_catch_signals(struct ctl_run *run)
{
	sigset_t set;

	sigemptyset(&set);
	add_unless_ignored(&set, SIGTSTP);
	for (size_t i = 0; i < COUNT(ending_signals); i++)
		add_unless_ignored(&set, ending_signals[i]);
	for (size_t i = 0; !run->governed->attach && i < COUNT(own_signals); i++)
		add_unless_ignored(&set, own_signals[i]);
	if (!run->governed->attach)
		sigaddset(&set, SIGCHLD);
	run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/*
	 * Neither a closed standard error (SIGPIPE) nor writing from a terminal's background
	 * (SIGTTOU) may end or stop us.
	 */
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGTTOU);
	sigprocmask(SIG_BLOCK, &set, &run->before);
	return run->signal_fd < 0 ? -errno : 0;
}

/* Prices from before a suspend are stale, but our clock did not advance. */
static void notice_suspend(struct ctl_run *run, uint64_t now_usec)
{
	uint64_t suspended_usec = canfs_suspended_usec(now_usec);

	if (suspended_usec > run->suspended_usec + SUSPEND_USEC)
		canfs_job_prices_forget(run->prices);
	run->suspended_usec = suspended_usec;
}

static void step(struct ctl_run *run, uint64_t now_usec)
{
	if (run->is_let_go) {
		set_stopped(run, false, now_usec);
		return;
	}
	notice_suspend(run, now_usec);
	if (run->stopper.is_ours && canfs_freezer_is_empty(&run->stopper.freezer)) {
		find_left(run);
		let_go(run); /* nothing is left to pause */
		return;
	}
	canfs_job_prices_tick(run->prices, now_usec);
	ctl_run_tell_prices(run, now_usec);
	set_stopped(run,
		canfs_govern_law_step(
			&run->law, canfs_job_prices_now(run->prices, now_usec, NULL), now_usec),
		now_usec);
}

static int timeout_msec(uint64_t due_usec, uint64_t now_usec)
{
	if (due_usec <= now_usec)
		return 0;
	return due_usec - now_usec < 1000000 ? (int)((due_usec - now_usec) / 1000 + 1) : 1000;
}

void ctl_run_govern(struct ctl_run *run)
{
	enum { SIGNAL, END, WATCHDOG, FIRST };
	struct pollfd polled[FIRST + CANFS_JOB_POLLED_MAX] = {
		[SIGNAL] = { run->signal_fd, POLLIN, 0 },
		[END] = { run->stopper.end_fd, POLLIN | POLLPRI, 0 },
		[WATCHDOG] = { run->watchdog.fd, 0, 0 }, /* POLLHUP needs no request */
	};

	while (!run->ended_by) {
		uint64_t now_usec = canfs_now_usec(), due_usec = UINT64_MAX;
		size_t n = FIRST;

		step(run, now_usec);
		ctl_run_publish(run, now_usec);
		if (!run->is_let_go) {
			due_usec = canfs_govern_law_due_usec(&run->law);
			n += canfs_job_prices_poll(
				run->prices, polled + FIRST, now_usec, &due_usec);
		}
		if (poll(polled, n, timeout_msec(due_usec, now_usec)) < 0)
			continue;
		if (canfs_stopper_has_ended(&run->stopper, polled[END].revents))
			break;
		if (polled[WATCHDOG].revents) {
			polled[WATCHDOG].fd = -1;
			lose_watchdog(run);
		}
		if (polled[SIGNAL].revents)
			take_signal(run);
	}
}

/*
 * If a process of the command is left in the control group, the watchdog removes the group later.
 * If the job could not be continued, the watchdog retries.
 */
void ctl_run_finish(struct ctl_run *run)
{
	set_stopped(run, false, canfs_now_usec());
	ctl_run_publish_end(run);
	if (run->is_stopped ||
		(run->stopper.is_ours && !canfs_freezer_is_empty(&run->stopper.freezer))) {
		canfs_watchdog_leave(&run->watchdog);
	} else {
		canfs_watchdog_end(&run->watchdog);
		if (run->stopper.is_ours)
			canfs_freezer_remove(&run->stopper.freezer);
	}
	canfs_stopper_fini(&run->stopper);
	ctl_run_tell_sum(run, canfs_now_usec());
}

int ctl_run_begin(struct ctl_run *run)
{
	int ret = canfs_stopper_open_end(&run->stopper);

	if (ret == 0)
		ret = canfs_watchdog_start(
			&run->watchdog, &run->stopper, run->terms.patience_usec + WATCHDOG_USEC);
	if (ret < 0)
		return ret;
	run->began_usec = run->changed_usec = canfs_now_usec();
	run->suspended_usec = canfs_suspended_usec(run->began_usec);
	canfs_govern_law_init(&run->law, &run->terms, run->began_usec);
	ctl_run_publish_begin(run);
	ctl_run_tell_how(run);
	return 0;
}
