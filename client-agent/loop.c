// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "client-agent/auction/arithmetic.h"
#include "client-agent/loop_internal.h"
#include "common/log.h"
#include "common/notify.h"
#include "common/clock.h"

/* While data is held. The pace needs this interval. */
static const uint64_t busy_tick_usec = 100000;

/*
 * Otherwise soon enough to see a burst before the kernel's flusher starts. The flusher starts at an
 * amount of dirty data that takes even a fast writer some time. Without a burst, a tick does no more.
 */
static const uint64_t idle_tick_min_usec = 200000, idle_tick_max_usec = 1000000;
static const uint64_t fast_writer_bytes_per_usec = 2000;

/* Shortest interval between ticks, however often mounts change. */
static const uint64_t least_tick_usec = 20000;

/* Most wake-ups between two ticks, however much servers send. */
static const unsigned int answers_max = 2 * CANFS_BIDDERS_MAX;

/* Limit of knob changes away from the originals. A knob that flaps is put off. */
static const unsigned int changes_per_min = 120;

/* Longest drain at the end, before the knobs are restored by force. */
static const uint64_t farewell_usec = 40000000;

/* A suspend is longer than the time between the readings of the two clocks. */
static const uint64_t suspend_usec = 1000000;

static void bid(struct loop *loop, struct canfs_bidder *bidder, const struct canfs_host_state *host)
{
	const struct canfs_tag *tag;
	uint64_t chunk;

	canfs_poller_tick(&bidder->poller, host->now_usec, canfs_bidder_rpcs(bidder),
		canfs_act_stake(bidder));
	tag = canfs_poller_price(&bidder->poller, host->now_usec);
	chunk = canfs_bidder_bid(bidder, tag, host);
	canfs_act_report(bidder, tag, host);
	canfs_act_accelerate(&loop->actors, bidder, host, chunk);
	canfs_act_readahead(&loop->actors, bidder, host->now_usec);
}

/* Prices from before a suspend are worthless. The journal stays valid, as there was no reboot. */
static void notice_suspend(struct loop *loop, uint64_t now_usec)
{
	uint64_t suspended_usec = canfs_suspended_usec(now_usec);
	uint64_t slept_usec = suspended_usec - loop->suspended_usec;

	if (suspended_usec < loop->suspended_usec + suspend_usec)
		return;
	canfs_log("the system was suspended for %llu s; waiting for new prices",
		(unsigned long long)slept_usec / 1000000);
	loop->suspended_usec = suspended_usec;
	for (size_t i = 0; i < loop->bidders.n; i++)
		canfs_poller_forget_price(&loop->bidders.bidder[i]->poller);
}

/* Returns false when the loop must end. */
static bool tick(struct loop *loop)
{
	struct canfs_host_state host = { .now_usec = loop->now_usec };
	int ret;

	if (loop->hurrying)
		return false;
	loop->ticked_usec = host.now_usec;
	loop->answers = 0;
	loop->status_server.view.ticks++;
	notice_suspend(loop, host.now_usec);
	canfs_notify_alive(host.now_usec, &loop->notified_usec);
	canfs_tuner_tick(loop->actors.tuner, changes_per_min, host.now_usec);
	ret = canfs_loop_observe(loop, &host);
	if (ret)
		return ret == -EAGAIN || !loop->ending;
	if (loop->ending) {
		bool late = host.now_usec - loop->ended_usec > farewell_usec;

		return !late && canfs_act_release(&loop->actors, loop->bidders.bidder,
					loop->bidders.n, &host) == -EAGAIN;
	}
	for (size_t i = 0; i < loop->bidders.n; i++)
		bid(loop, loop->bidders.bidder[i], &host);
	canfs_act_defer(&loop->actors, loop->bidders.bidder, loop->bidders.n, &host);
	return true;
}

static void reload(struct loop *loop)
{
	struct canfs_agent_config config;
	char error[CANFS_OPTIONS_ERROR_MAX];

	if (!loop->options->config_file)
		return;
	canfs_config_defaults(&config);
	if (canfs_config_parse_file(&config, loop->options->config_file, error)) {
		canfs_log("%s; keeping the running configuration", error);
		return;
	}
	if (loop->options->mode >= 0)
		canfs_config_set_mode(&config, (enum canfs_mode)loop->options->mode);
	if (strcmp(config.state_dir, loop->config->state_dir) != 0) {
		canfs_log("%s: a new state_dir needs a restart", loop->options->config_file);
		memcpy(config.state_dir, loop->config->state_dir, sizeof(config.state_dir));
	}
	*loop->config = config;
	loop->mounts_changed = true; /* makes the bidders take their new terms */
	canfs_status_server_configure(&loop->status_server, loop->config);
	canfs_log("%s: reloaded", loop->options->config_file);
}

static void take_signal(struct loop *loop)
{
	struct signalfd_siginfo info;

	if (read(loop->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP && !loop->ending) {
		canfs_notify_reloading();
		reload(loop);
		canfs_notify_ready();
	} else if (info.ssi_signo != SIGHUP && !loop->ending) {
		canfs_log("stopping: %s", canfs_journal_count(loop->actors.journal)
						  ? "restoring the kernel's settings"
						  : "nothing to restore");
		loop->ending = true;
		loop->ended_usec = loop->now_usec;
		canfs_notify_stopping("Restoring the kernel's settings");
	} else if (info.ssi_signo != SIGHUP) {
		canfs_log("stopping at once: no more data is drained");
		loop->hurrying = true;
	}
}

/* Acts on a new price at once, with the state of the last tick. */
static void take_answer(struct loop *loop, struct canfs_bidder *bidder)
{
	struct canfs_host_state host = loop->status_server.view.host;

	notice_suspend(loop, loop->now_usec);
	loop->answers++;
	host.now_usec = loop->now_usec;
	bid(loop, bidder, &host);
}

static int msec_until(uint64_t usec)
{
	uint64_t now = canfs_now_usec(); /* a tick may take long */

	return usec > now ? (int)((usec - now + 999) / 1000) : 0;
}

/* Waits for a price, a signal or a mount until the tick is due, and answers requests. Returns true if a tick is due. */
static bool wait_once(struct loop *loop, uint64_t until_usec)
{
	struct pollfd fds[2 + 2 * CANFS_BIDDERS_MAX + CANFS_DESK_POLLED] = {
		{ .fd = loop->signal_fd, .events = POLLIN },
		{ .fd = loop->mountinfo_fd, .events = POLLPRI },
	};
	/* An answer that is not taken would wake us again and again. */
	bool deaf = loop->ending || loop->blind_usec || loop->answers >= answers_max;
	size_t asking = deaf ? 0 : loop->bidders.n;
	size_t n = 2 + 2 * asking;
	int timeout_msec = msec_until(until_usec);
	struct canfs_view *view = &loop->status_server.view;
	int ready;

	for (size_t i = 0; i < asking; i++) {
		const struct canfs_poller *poller = &loop->bidders.bidder[i]->poller;

		fds[2 + 2 * i].fd = canfs_fsstat_fd(poller->fsstat);
		fds[2 + 2 * i].events = canfs_fsstat_events(poller->fsstat);
		fds[3 + 2 * i].fd = poller->subscription.fd;
		fds[3 + 2 * i].events = POLLIN;
	}
	ready = poll(fds,
		n + canfs_status_server_poll(&loop->status_server, fds + n, &timeout_msec),
		timeout_msec);
	loop->now_usec = canfs_now_usec();
	if (ready < 0)
		return true;
	view->n = loop->bidders.n;
	view->left_out = loop->bidders.left_out;
	view->left_alone = loop->bidders.left_alone;
	view->blind = loop->blind_usec != 0;
	canfs_status_server_serve(&loop->status_server, fds + n, loop->now_usec);
	if (fds[0].revents)
		take_signal(loop);
	if (fds[1].revents)
		loop->mounts_changed = true;
	for (size_t i = 0; i < asking; i++) {
		if (fds[2 + 2 * i].revents || fds[3 + 2 * i].revents)
			take_answer(loop, loop->bidders.bidder[i]);
	}
	return fds[0].revents || fds[1].revents || loop->now_usec >= until_usec;
}

static uint64_t tick_usec(const struct loop *loop)
{
	uint64_t burst_usec = loop->flushing_bytes / fast_writer_bytes_per_usec;

	if (canfs_loop_is_busy(loop))
		return busy_tick_usec;
	return canfs_smaller(canfs_larger(burst_usec, idle_tick_min_usec), idle_tick_max_usec);
}

/* Also answers requests on the control socket. They change nothing. */
static void wait_for_news(struct loop *loop)
{
	uint64_t until_usec = loop->ticked_usec + tick_usec(loop);

	while (!wait_once(loop, until_usec))
		continue;
	if (loop->now_usec >= loop->ticked_usec + least_tick_usec)
		return;
	poll(NULL, 0, msec_until(loop->ticked_usec + least_tick_usec));
	loop->now_usec = canfs_now_usec();
}

static int loop_open(struct loop *loop)
{
	char error[CANFS_OPTIONS_ERROR_MAX];
	sigset_t signals;
	int ret;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	loop->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	loop->mountinfo_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	loop->mounts = calloc(1, sizeof(*loop->mounts));
	loop->stats = calloc(CANFS_MOUNTS_MAX, sizeof(*loop->stats));
	loop->mounts_changed = true;
	canfs_cache_worth_init(&loop->cache_worth);
	if (loop->signal_fd < 0 || loop->mountinfo_fd < 0 || !loop->mounts || !loop->stats) {
		ret = errno ? -errno : -ENOMEM;
		canfs_log("cannot start: %s", strerror(-ret));
		return ret;
	}
	ret = canfs_actors_open(
		&loop->actors, loop->config, loop->options->root, error, sizeof(error));
	if (*error)
		canfs_log("%s", error);
	if (ret)
		return ret;
	if (loop->options->config_file)
		canfs_log("canfs-agent " CANFS_VERSION ", %s%s", loop->options->config_file,
			access(loop->options->config_file, F_OK) ? " (missing: defaults)" : "");
	canfs_act_take_back(&loop->actors);
	loop->now_usec = canfs_now_usec();
	loop->status_server.view = (struct canfs_view) { .config = loop->config,
		.actors = &loop->actors,
		.bidders = loop->bidders.bidder,
		.started_usec = loop->now_usec };
	canfs_status_server_configure(&loop->status_server, loop->config);
	loop->suspended_usec = canfs_suspended_usec(loop->now_usec);
	canfs_notify_ready();
	return 0;
}

/* Returns 0, or -errno if a knob could not be restored. */
static int loop_close(struct loop *loop)
{
	int ret;

	canfs_status_server_close(&loop->status_server);
	canfs_bidders_free(&loop->bidders);
	/* Close the bidders' descriptors first: writing a knob needs one. */
	ret = canfs_act_restore_all(&loop->actors);
	canfs_actors_close(&loop->actors);
	free(loop->stats);
	free(loop->mounts);
	if (loop->mountinfo_fd >= 0)
		close(loop->mountinfo_fd);
	if (loop->signal_fd >= 0)
		close(loop->signal_fd);
	return ret;
}

int canfs_loop_run(struct canfs_agent_config *config, const struct canfs_loop_options *options)
{
	struct loop loop = {
		.config = config, .options = options, .status_server = { .root = options->root }
	};
	int ret = loop_open(&loop);
	int restored;

	if (!ret) {
		while (tick(&loop))
			wait_for_news(&loop);
	}
	restored = loop_close(&loop);
	return ret ? ret : restored;
}
