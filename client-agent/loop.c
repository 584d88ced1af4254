/* SPDX-License-Identifier: LGPL-3.0-or-later */
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

#include "client-agent/act.h"
#include "client-agent/bidder.h"
#include "client-agent/cache_worth.h"
#include "client-agent/log.h"
#include "protocol/clock.h"

static const uint64_t busy_tick_usec = 100000;
static const uint64_t idle_tick_usec = 1000000;

/* However many prices come and mounts change: no tick sooner than this after the last one. */
static const uint64_t least_tick_usec = 20000;

/* How long the end may take to drain what is held before it restores by force. */
static const uint64_t farewell_usec = 40000000;

#define BIDDERS_MAX CANFS_DEFER_BDIS_MAX

/* Mounts that are left at the kernel's defaults, by their IDs: what was said of them already. */
struct left_alone {
	size_t n;
	int id[CANFS_MOUNTS_MAX];
};

struct loop {
	struct canfs_config *config;
	const struct canfs_loop_options *options;
	struct canfs_actors actors;
	struct canfs_mounts *mounts;
	struct canfs_mountstats *stats; /* stats[i] belongs to mounts->mount[i] */
	struct canfs_bidder *bidders[BIDDERS_MAX];
	size_t n;
	size_t left_out; /* mounts beyond the bounds, as said last */
	struct left_alone left_alone;
	bool mounts_changed;
	bool guarded;
	struct canfs_cache_worth cache_worth;
	bool ending;
	uint64_t blind_usec; /* since when /proc cannot be read; 0: it can */
	bool gave_up;        /* blind for so long that everything was put back */
	uint64_t ticked_usec;
	uint64_t ended_usec; /* when ending began */
	int mountinfo_fd;
	int signal_fd;
};

static struct canfs_bidder *take_bidder(struct loop *loop, const struct canfs_mount *mount)
{
	for (size_t i = 0; i < loop->n; i++) {
		struct canfs_bidder *bidder = loop->bidders[i];

		if (canfs_bdi_equal(bidder->mount.bdi, mount->bdi) &&
			!strcmp(bidder->mount.source, mount->source)) {
			loop->bidders[i] = loop->bidders[--loop->n];
			bidder->mount = *mount;
			return bidder;
		}
	}
	return NULL;
}

static struct canfs_bidder *new_bidder(struct loop *loop, const struct canfs_mount *mount)
{
	struct canfs_bidder *bidder = calloc(1, sizeof(*bidder));
	unsigned int seed = (unsigned int)(canfs_now_usec() ^ (uint64_t)getpid() << 16);
	int ret = -ENOMEM;

	if (bidder)
		ret = canfs_bidder_init(bidder, mount, loop->config, seed);
	if (ret) {
		canfs_log("%s: left alone: %s", mount->mountpoint, strerror(-ret));
		free(bidder);
		return NULL;
	}
	canfs_log("%s: %s, NFSv%d, BDI %u:%u, %s", mount->mountpoint, mount->source, mount->version,
		mount->bdi.major, mount->bdi.minor,
		loop->actors.enforce ? "enforcing" : "observing");
	return bidder;
}

static void free_bidder(struct canfs_bidder *bidder)
{
	canfs_bidder_fini(bidder);
	free(bidder);
}

static bool is_kept(struct canfs_bidder *const kept[], size_t n, struct canfs_bdi bdi)
{
	for (size_t i = 0; i < n; i++) {
		if (canfs_bdi_equal(kept[i]->mount.bdi, bdi))
			return true;
	}
	return false;
}

/* Says how many mounts are too many, when that changes. */
static void report_left_out(struct loop *loop, size_t left_out)
{
	if (left_out != loop->left_out)
		canfs_log("%zu NFS mounts are too many and left alone", left_out);
	loop->left_out = left_out;
}

/* Is this mount one to leave alone? before: as of the last look at the mounts. */
static bool leave_alone(
	struct loop *loop, const struct left_alone *before, const struct canfs_mount *mount)
{
	const char *why = canfs_mount_left_alone(mount);
	size_t i = 0;

	if (!why)
		return false;
	while (i < before->n && before->id[i] != mount->id)
		i++;
	if (i == before->n)
		canfs_log("%s: sec=%s, left at the kernel's defaults: %s", mount->mountpoint,
			*mount->sec ? mount->sec : "sys", why);
	loop->left_alone.id[loop->left_alone.n++] = mount->id;
	return true;
}

/* Mounts came or went: the bidders of BDIs that stayed keep their memory. */
static int refresh_mounts(struct loop *loop)
{
	const struct left_alone before = loop->left_alone;
	struct canfs_bidder *kept[BIDDERS_MAX];
	size_t n = 0, left_out;
	int ret = canfs_mounts_read(loop->options->root, loop->mounts);

	if (ret)
		return ret;
	loop->mounts_changed = false;
	loop->left_alone.n = 0;
	left_out = loop->mounts->dropped;
	canfs_tuner_forget_gone(loop->actors.tuner, loop->mounts);
	for (size_t i = 0; i < loop->mounts->n; i++) {
		const struct canfs_mount *mount = &loop->mounts->mount[i];
		struct canfs_bidder *bidder;

		/* The first mount that is wanted stands for its BDI. */
		if (!canfs_config_wants_mount(loop->config, mount->mountpoint) ||
			is_kept(kept, n, mount->bdi) || leave_alone(loop, &before, mount))
			continue;
		if (n == BIDDERS_MAX) {
			left_out++;
			continue;
		}
		bidder = take_bidder(loop, mount);
		if (!bidder)
			bidder = new_bidder(loop, mount);
		if (bidder)
			kept[n++] = bidder;
	}
	for (size_t i = 0; i < loop->n; i++) {
		canfs_log("%s: not managed any more", loop->bidders[i]->mount.mountpoint);
		canfs_act_let_go(&loop->actors, loop->bidders[i]);
		free_bidder(loop->bidders[i]);
	}
	memcpy(loop->bidders, kept, n * sizeof(kept[0]));
	loop->n = n;
	report_left_out(loop, left_out);
	return 0;
}

/* MemAvailable counts dirty pages as available; this guard does not (hysteresis of a quarter). */
static bool is_guarded(const struct loop *loop, const struct canfs_meminfo *meminfo)
{
	uint64_t floor_bytes = (uint64_t)loop->config->guard_mib << 20;

	if (loop->guarded)
		floor_bytes += floor_bytes / 4;
	return canfs_meminfo_spare_bytes(meminfo) < floor_bytes;
}

/* Without /proc nothing is known, as without a price: the kernel's defaults after the same time. */
static void be_blind(struct loop *loop, int error, uint64_t now_usec)
{
	if (!loop->blind_usec) {
		canfs_log("/proc cannot be read (%s): doing nothing", strerror(-error));
		loop->blind_usec = now_usec;
		loop->gave_up = false;
	}
	if (loop->gave_up ||
		now_usec - loop->blind_usec < loop->config->price_timeout_sec * UINT64_C(1000000))
		return;
	loop->gave_up = true;
	canfs_act_restore_all(&loop->actors);
}

static int read_kernel(struct loop *loop, struct canfs_purse *purse)
{
	const char *root = loop->options->root;
	int ret = loop->mounts_changed ? refresh_mounts(loop) : 0;

	if (!ret)
		ret = canfs_meminfo_read(root, &purse->meminfo);
	if (!ret)
		ret = canfs_mountstats_read(root, loop->mounts, loop->stats);
	return ret;
}

/* A kernel that does not count it has no opinion: the worth stays 0. */
static double look_at_cache(struct loop *loop, uint64_t now_usec)
{
	uint64_t missed_bytes, read_bytes = 0;

	if (canfs_cache_worth_is_due(&loop->cache_worth, now_usec) &&
		!canfs_cache_missed_read(loop->options->root, &missed_bytes)) {
		for (size_t i = 0; i < loop->n; i++)
			read_bytes += loop->bidders[i]->stats.normal_read_bytes;
		canfs_cache_worth_update(&loop->cache_worth, missed_bytes, read_bytes, now_usec);
	}
	return loop->cache_worth.share.value;
}

/* Reads the kernel's state and lets each bidder take its part. */
static int observe(struct loop *loop, struct canfs_purse *purse)
{
	bool guarded;
	int ret = read_kernel(loop, purse);

	if (ret) {
		be_blind(loop, ret, purse->now_usec);
		return ret;
	}
	loop->blind_usec = 0;
	for (size_t i = 0; i < loop->n; i++) {
		struct canfs_bidder *bidder = loop->bidders[i];
		int at = canfs_mounts_find(loop->mounts, &bidder->mount);

		if (at >= 0 && loop->stats[at].found)
			canfs_bidder_observe(
				bidder, &loop->stats[at], &purse->meminfo, purse->now_usec);
		purse->backlog_bytes += bidder->backlog_bytes;
		purse->coming_bytes += (uint64_t)(bidder->fill.value * CANFS_FILL_HORIZON_SEC);
	}
	purse->cache_worth = look_at_cache(loop, purse->now_usec);
	purse->bound_bytes = purse->meminfo.total_bytes / 100 * loop->config->hold_pct + 1;
	guarded = is_guarded(loop, &purse->meminfo);
	if (guarded != loop->guarded)
		canfs_log("memory guard: %llu MiB spare, %s",
			(unsigned long long)canfs_meminfo_spare_bytes(&purse->meminfo) >> 20,
			guarded ? "sending at any price" : "enough again");
	loop->guarded = purse->guarded = guarded;
	return 0;
}

static void bid(struct loop *loop, struct canfs_bidder *bidder, const struct canfs_purse *purse)
{
	const struct canfs_tag *tag;
	uint64_t chunk;

	canfs_feed_tick(&bidder->feed, purse->now_usec, canfs_bidder_rpcs(bidder),
		canfs_bidder_holds(bidder));
	tag = canfs_feed_price(&bidder->feed, purse->now_usec);
	chunk = canfs_bidder_bid(bidder, loop->config, tag, purse);
	canfs_act_report(bidder, tag, purse, &loop->actors);
	if (loop->config->writeback)
		canfs_act_accelerate(&loop->actors, bidder, chunk);
	canfs_act_readahead(&loop->actors, bidder, loop->config, purse->now_usec);
}

/* Returns false when the end has come. */
static bool tick(struct loop *loop)
{
	struct canfs_purse purse = { .now_usec = canfs_now_usec() };

	loop->ticked_usec = purse.now_usec;
	if (observe(loop, &purse))
		return !loop->ending;
	if (loop->ending) {
		bool late = purse.now_usec - loop->ended_usec > farewell_usec;

		return !late &&
		       canfs_act_release(&loop->actors, loop->bidders, loop->n, &purse) == -EAGAIN;
	}
	for (size_t i = 0; i < loop->n; i++)
		bid(loop, loop->bidders[i], &purse);
	canfs_act_defer(&loop->actors, loop->bidders, loop->n, loop->config, &purse);
	return true;
}

static bool is_busy(const struct loop *loop)
{
	if (loop->ending || (loop->actors.enforce && canfs_defer_active(loop->actors.defer)))
		return true;
	for (size_t i = 0; i < loop->n; i++) {
		const struct canfs_bidder *bidder = loop->bidders[i];

		if (canfs_bidder_holds(bidder) ||
			loop->ticked_usec - bidder->active_usec < idle_tick_usec)
			return true;
	}
	return false;
}

static void reload(struct loop *loop)
{
	struct canfs_config config;
	char error[CANFS_CONFIG_ERROR_MAX];

	if (!loop->options->config_file)
		return;
	canfs_config_defaults(&config);
	if (canfs_config_parse_file(&config, loop->options->config_file, error)) {
		canfs_log("%s; the running configuration stays", error);
		return;
	}
	if (loop->options->mode >= 0)
		config.mode = (enum canfs_mode)loop->options->mode;
	if (config.mode != loop->config->mode ||
		strcmp(config.state_dir, loop->config->state_dir) != 0) {
		canfs_log("%s: mode and state_dir are changed by a restart only",
			loop->options->config_file);
		config.mode = loop->config->mode;
		memcpy(config.state_dir, loop->config->state_dir, sizeof(config.state_dir));
	}
	*loop->config = config;
	for (size_t i = 0; i < loop->n; i++)
		canfs_bidder_configure(loop->bidders[i], loop->config);
	loop->mounts_changed = true;
	canfs_log("%s: reloaded", loop->options->config_file);
}

static void take_signal(struct loop *loop)
{
	struct signalfd_siginfo info;

	if (read(loop->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP) {
		reload(loop);
	} else if (!loop->ending) {
		canfs_log("ending: restoring what was changed");
		loop->ending = true;
		loop->ended_usec = canfs_now_usec();
	}
}

static int msec_until(uint64_t usec)
{
	uint64_t now = canfs_now_usec();

	return usec > now ? (int)((usec - now + 999) / 1000) : 0;
}

/* Waits for the next tick, a price, a signal or a mount. */
static void wait_for_news(struct loop *loop)
{
	struct pollfd fds[2 + BIDDERS_MAX] = {
		{ .fd = loop->signal_fd, .events = POLLIN },
		{ .fd = loop->mountinfo_fd, .events = POLLPRI },
	};
	/* An answer that no tick will take would keep us awake. */
	size_t asking = loop->ending || loop->blind_usec ? 0 : loop->n;

	for (size_t i = 0; i < asking; i++) {
		struct canfs_fsstat *fsstat = loop->bidders[i]->feed.fsstat;

		fds[2 + i].fd = canfs_fsstat_fd(fsstat);
		fds[2 + i].events = canfs_fsstat_events(fsstat);
	}
	poll(NULL, 0, msec_until(loop->ticked_usec + least_tick_usec));
	if (poll(fds, 2 + asking,
		    msec_until(loop->ticked_usec +
			       (is_busy(loop) ? busy_tick_usec : idle_tick_usec))) <= 0)
		return;
	if (fds[0].revents)
		take_signal(loop);
	if (fds[1].revents)
		loop->mounts_changed = true;
}

static int loop_open(struct loop *loop)
{
	char error[CANFS_CONFIG_ERROR_MAX];
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
	if (!ret)
		canfs_act_take_back(&loop->actors);
	return ret;
}

/* 0, or -errno: a knob could not be put back. */
static int loop_close(struct loop *loop)
{
	int ret = canfs_act_restore_all(&loop->actors);

	canfs_actors_close(&loop->actors);
	for (size_t i = 0; i < loop->n; i++)
		free_bidder(loop->bidders[i]);
	free(loop->stats);
	free(loop->mounts);
	if (loop->mountinfo_fd >= 0)
		close(loop->mountinfo_fd);
	if (loop->signal_fd >= 0)
		close(loop->signal_fd);
	return ret;
}

int canfs_loop_run(struct canfs_config *config, const struct canfs_loop_options *options)
{
	struct loop loop = { .config = config, .options = options };
	int ret = loop_open(&loop);
	int restored;

	if (!ret) {
		while (tick(&loop))
			wait_for_news(&loop);
	}
	restored = loop_close(&loop);
	return ret ? ret : restored;
}
