// SPDX-License-Identifier: LGPL-3.0-or-later
/* Reads the kernel's state at each tick, and updates the bidders with it. */
#include "client-agent/loop_internal.h"

#include <errno.h>
#include <string.h>

#include "client-agent/auction/arithmetic.h"
#include "client-agent/unread.h"
#include "common/clock.h"
#include "common/log.h"

static int refresh_mounts(struct loop *loop)
{
	const struct canfs_bidders_wanted wanted = { &loop->bidders, loop->config };
	int ret = canfs_mounts_read_wanted(
		loop->options->root, canfs_bidders_want, &wanted, loop->mounts);

	if (ret)
		return ret;
	loop->mounts_changed = false;
	loop->sampling = (struct canfs_sampling) { 0 };
	canfs_tuner_forget_gone(loop->actors.tuner, loop->mounts);
	canfs_bidders_refresh(&loop->bidders, loop->mounts, loop->config, &loop->actors);
	return 0;
}

/* Without /proc nothing is known. As without a price, the originals come back after the same time. */
static void be_blind(struct loop *loop, int error, uint64_t now_usec)
{
	if (!loop->blind_usec) {
		const char *lacks =
			error == -EPROTO ? canfs_meminfo_lack(loop->options->root) : NULL;

		canfs_log("/proc cannot be read (%s%s): doing nothing",
			lacks ? "/proc/meminfo: the line " : strerror(-error), lacks ? lacks : "");
		loop->blind_usec = now_usec;
		loop->gave_up = false;
	}
	if (loop->gave_up || now_usec - loop->blind_usec < canfs_config_lost_usec(loop->config))
		return;
	loop->gave_up = canfs_act_restore_all(&loop->actors) == 0;
	loop->blind_usec = now_usec; /* knobs that could not be restored are retried later */
}

/* A cgroup that does not exist has written nothing. A cgroup below another counts twice. */
static uint64_t low_priority_bytes(struct loop *loop, const struct canfs_host_state *host)
{
	const struct canfs_config_list *cgroups = &loop->config->low_priority_cgroups;
	uint64_t sum = 0, bytes;

	for (size_t i = 0; i < cgroups->n; i++) {
		int ret = canfs_cgroup_dirty_read(loop->options->root, cgroups->path[i], &bytes);

		canfs_unread_note(&loop->told_cgroup[i], ret, cgroups->path[i],
			"file_dirty of its memory.stat");
		if (ret == 0)
			sum += canfs_smaller(bytes, host->meminfo.dirty_bytes);
	}
	return canfs_smaller(sum, host->meminfo.dirty_bytes);
}

static int read_counters(struct loop *loop, const struct canfs_host_state *host)
{
	uint64_t began_usec = canfs_cpu_usec();
	int ret = canfs_mountstats_read(loop->options->root, loop->mounts, loop->stats);

	loop->low_priority_bytes = low_priority_bytes(loop, host);
	if (!ret) /* otherwise they stay due, as nothing is known until they can be read */
		canfs_sampling_done(&loop->sampling, &host->meminfo, canfs_cpu_usec() - began_usec,
			host->now_usec);
	return ret;
}

/* Sets *counted if the counters were due, too. */
static int read_kernel(struct loop *loop, struct canfs_host_state *host, bool *counted)
{
	bool refresh = loop->mounts_changed || canfs_bidders_left(&loop->bidders, &loop->actors);
	int ret = refresh ? refresh_mounts(loop) : 0;

	if (!ret)
		ret = canfs_meminfo_read(loop->options->root, &host->meminfo);
	*counted = !ret && canfs_sampling_is_due(&loop->sampling, &host->meminfo, host->now_usec);
	return *counted ? read_counters(loop, host) : ret;
}

/* Returns the counters of a bidder, or NULL. */
static const struct canfs_mountstats *stats_of(const struct loop *loop, struct canfs_bidder *bidder)
{
	int at = canfs_mounts_find(loop->mounts, &bidder->mount);
	bool found = at >= 0 && loop->stats[at].found;

	canfs_unread_note_counters(bidder, found, loop->options->root, loop->mounts, at);
	return found ? &loop->stats[at] : NULL;
}

/* If the kernel does not count this, the worth stays 0. */
static double update_cache_worth(struct loop *loop, uint64_t now_usec)
{
	struct canfs_vmstat vmstat;
	uint64_t fetched_bytes = 0, read_bytes = 0;
	int ret = -EAGAIN;

	if (canfs_cache_worth_is_due(&loop->cache_worth, now_usec))
		ret = canfs_vmstat_read(loop->options->root, &vmstat);
	canfs_unread_note(&loop->told_vmstat, ret, "/proc/vmstat",
		"workingset_activate_file or nr_dirty_background_threshold");
	if (ret == 0) {
		for (size_t i = 0; i < loop->bidders.n; i++) {
			fetched_bytes += loop->bidders.bidder[i]->seen.cache_fetched_bytes;
			read_bytes += loop->bidders.bidder[i]->seen.cache_read_bytes;
		}
		canfs_cache_worth_update(&loop->cache_worth, vmstat.missed_bytes, fetched_bytes,
			read_bytes, now_usec);
		if (!canfs_defer_active(loop->actors.defer))
			loop->flushing_bytes = vmstat.background_bytes;
	}
	return loop->cache_worth.share.value;
}

bool canfs_loop_is_busy(const struct loop *loop)
{
	bool sends = loop->guarded || canfs_defer_active(loop->actors.defer);

	for (size_t i = 0; i < loop->bidders.n; i++) {
		const struct canfs_bidder *bidder = loop->bidders.bidder[i];

		if (sends && canfs_bidder_holds(bidder))
			return true;
		if (bidder->write.verdict != CANFS_HOLD &&
			canfs_act_stake(bidder) == CANFS_STAKE_LARGE &&
			!canfs_act_rests(&loop->actors, bidder, loop->ticked_usec))
			return true;
	}
	return loop->ending;
}

int canfs_loop_observe(struct loop *loop, struct canfs_host_state *host)
{
	double cache_worth;
	bool counted;
	int ret = read_kernel(loop, host, &counted);

	if (ret) {
		be_blind(loop, ret, host->now_usec);
		return ret;
	}
	if (!counted && !loop->blind_usec && !canfs_loop_is_busy(loop))
		return -EAGAIN;
	loop->blind_usec = 0;
	host->low_priority_bytes = loop->low_priority_bytes;
	for (size_t i = 0; i < loop->bidders.n; i++) {
		struct canfs_bidder *bidder = loop->bidders.bidder[i];

		canfs_bidder_observe(bidder, counted ? stats_of(loop, bidder) : NULL,
			&host->meminfo, host->now_usec);
		host->backlog_bytes += bidder->held.backlog_bytes;
		host->coming_bytes += canfs_bidder_coming_bytes(bidder);
	}
	if (counted)
		canfs_interfaces_sample(&loop->interfaces, loop->options->root,
			loop->bidders.bidder, loop->bidders.n, host->now_usec);
	/* Each bidder may have counted data of another as its own. */
	host->backlog_bytes = canfs_smaller(
		host->backlog_bytes, host->meminfo.dirty_bytes + host->meminfo.writeback_bytes);
	cache_worth = update_cache_worth(loop, host->now_usec);
	host->flushing_bytes = loop->flushing_bytes;
	host->cache_used_bytes = canfs_cache_used_bytes(&loop->cache_worth, &host->meminfo);
	host->bound_bytes = canfs_defer_bound_bytes(
		&host->meminfo, host->cache_used_bytes, loop->config->hold_pct);
	/* While that much memory is free, held data has pushed nothing out. */
	host->cache_worth = host->meminfo.free_bytes < host->bound_bytes ? cache_worth : 0;
	loop->guarded = host->guarded = canfs_act_guard(&loop->actors, host, loop->guarded);
	loop->status_server.view.host = *host;
	return 0;
}
