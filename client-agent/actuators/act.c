// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/actuators/act.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "client-agent/auction/arithmetic.h"
#include "client-agent/auction/cache_worth.h"
#include "common/log.h"

#define MIB (1 << 20)

/* A raised flushing point is released when nobody has needed it for this long. */
static const uint64_t linger_usec = 60000000;

/* Memory must be enough for this long before the guard becomes inactive. */
static const uint64_t guard_usec = 5000000;

/* Interval between updates of a raised flushing point. One reads a dozen files, and memory changes slowly. */
static const uint64_t apply_usec = 2000000;

/* Dirty data must decrease by a sixteenth in this time. Otherwise writers would wait for a dead server. */
static const uint64_t squeeze_usec = 20000000;
static const uint64_t squeeze_part = 16;

/*
 * Interval of looks at a mount that we send nothing of: data is deferred, its files are only
 * rewritten, or the kernel sends them.
 */
static const uint64_t look_usec = 500000;

/*
 * For files that are only rewritten, the flushing point is raised after the server was expensive for this
 * long. A burst of the kernel's own makes the server expensive for about a second.
 */
static const uint64_t burst_usec = 2000000;

/* A file that grew within this time is growing. */
static const uint64_t growth_usec = 1000000;

/* Longest drain of a mount that may no longer hold data. After 30 s the kernel sends all data anyway. */
static const uint64_t leave_usec = 30000000;

/* Reasons to squeeze the kernel's limits, and their targets: see canfs_defer_squeeze(). */
struct squeeze_reason {
	const char *why;
	uint64_t to_bytes;
};

static const struct squeeze_reason cache_is_needed = { "readers need the page cache", 0 };
/* Enough to keep a disk busy, and little for others to wait behind. */
static const struct squeeze_reason server_is_busy = { "others' commits wait for the server",
	32 * MIB };

bool canfs_act_guard(struct canfs_actors *actors, const struct canfs_host_state *host, bool guarded)
{
	uint64_t spare_bytes = canfs_meminfo_spare_bytes(&host->meminfo);
	bool is_short =
		spare_bytes < CANFS_ACT_GUARD_BYTES + (guarded ? CANFS_ACT_GUARD_BYTES / 2 : 0);

	/* Our own sending frees memory for a moment. */
	if (is_short)
		actors->last.guarded_usec = host->now_usec;
	else if (guarded)
		is_short = host->now_usec - actors->last.guarded_usec < guard_usec;
	if (is_short != guarded)
		canfs_log("memory guard: %s",
			canfs_decisions_note(&actors->decisions, host->now_usec, "memory guard",
				guarded ? "active" : "inactive", guarded ? "inactive" : "active",
				canfs_no_bids, "%llu MiB spare, %s",
				(unsigned long long)spare_bytes / MIB,
				is_short ? "sending at any price" : "enough again")
				->reason);
	return is_short;
}

static bool acts_on_writes(const struct canfs_bidder *bidder)
{
	return bidder->terms.mode == CANFS_ENFORCE && bidder->terms.writeback;
}

/* Overwritten data takes no additional page cache. */
static bool grows(const struct canfs_bidder *bidder, uint64_t now_usec)
{
	return bidder->act.grown_usec && now_usec - bidder->act.grown_usec < growth_usec;
}

bool canfs_act_rests(
	const struct canfs_actors *actors, const struct canfs_bidder *bidder, uint64_t now_usec)
{
	struct canfs_accelerate_status status;

	canfs_accelerate_status(actors->accelerator, bidder->mount.bdi, &status);
	return acts_on_writes(bidder) && bidder->write.verdict == CANFS_ACCELERATE &&
	       status.rewrites && !status.sends && !grows(bidder, now_usec);
}

/* Data that rests counts, too: what a new price could send shows whether its files grow. */
enum canfs_stake canfs_act_stake(const struct canfs_bidder *bidder)
{
	if (!canfs_bidder_holds(bidder))
		return CANFS_STAKE_NONE;
	return canfs_bidder_gathers(bidder) || !acts_on_writes(bidder) ? CANFS_STAKE_SMALL
								       : CANFS_STAKE_LARGE;
}

/*
 * Above its own flushing point the kernel sends everything. A helper that sent the same files at the
 * same time would only cost processor time, so it just looks which files grow. While the flushing
 * point is raised, the kernel does not send. Data that rests, because it may be overwritten again,
 * then rests no longer than it would with the kernel.
 *
 * While data is deferred, a look finds the files that grow. When the server is cheap they may have
 * stopped growing, and would pass for files that are rewritten.
 */
void canfs_act_accelerate(struct canfs_actors *actors, struct canfs_bidder *bidder,
	const struct canfs_host_state *host, uint64_t chunk_bytes)
{
	uint64_t coming_bytes = grows(bidder, host->now_usec) ? host->coming_bytes : 0;
	bool is_filling = host->backlog_bytes + coming_bytes > host->bound_bytes / 2;
	bool is_past = host->flushing_bytes > 0 && host->meminfo.dirty_bytes > host->flushing_bytes;
	bool only_looks = chunk_bytes ? is_past && !canfs_defer_active(actors->defer)
				      : bidder->write.verdict == CANFS_DEFER;
	bool hurries = !only_looks && (host->guarded || is_filling || is_past);
	bool is_due = host->now_usec - bidder->act.asked_usec >= look_usec;

	if (bidder->write.verdict != CANFS_DEFER)
		bidder->act.cheap_usec = host->now_usec;
	if (!acts_on_writes(bidder) || !canfs_bidder_holds(bidder) || !(chunk_bytes || only_looks))
		return;
	if (!is_due && !hurries && (only_looks || canfs_act_rests(actors, bidder, host->now_usec)))
		return;
	bidder->act.asked_usec = host->now_usec;
	/* -EBUSY: the server is slower than the pace; the next tick tries again. */
	(void)canfs_accelerate(
		actors->accelerator, bidder->mount.bdi, only_looks ? 0 : chunk_bytes, hurries);
}

/* The bidders that may hold data. */
struct holders {
	size_t n;
	const struct canfs_mount *mount[CANFS_DEFER_BDIS_MAX];
	size_t switched_on; /* in enforce mode, with or without a price */
	size_t priced;      /* n without those that are being drained */
	bool wanted;
	bool paced;            /* held data leaves at our pace, or waits for a lower price */
	bool give_way;         /* others wait for the server */
	uint64_t coming_bytes; /* to growing files on mounts with a price; as in the host state */
};

bool canfs_act_has_share(const struct canfs_actors *actors, const struct canfs_bidder *bidder)
{
	return canfs_knob_is_ours(actors->tuner, CANFS_KNOB_MIN_RATIO, bidder->mount.bdi);
}

/*
 * Without its share, the kernel would send all of a mount's data at once. So a mount that may no longer
 * hold, while others may, keeps its share until it is drained.
 */
static bool is_leaving(const struct canfs_actors *actors, struct canfs_bidder *bidder,
	const struct canfs_host_state *host)
{
	if (!canfs_act_has_share(actors, bidder) || !canfs_bidder_holds(bidder)) {
		bidder->act.leaving_usec = 0;
		return false;
	}
	if (!bidder->act.leaving_usec)
		bidder->act.leaving_usec = host->now_usec;
	return host->now_usec - bidder->act.leaving_usec < leave_usec;
}

static bool is_deferred(const struct canfs_bidder *bidder,
	const struct canfs_accelerate_status *status, uint64_t now_usec)
{
	return bidder->write.verdict == CANFS_DEFER &&
	       (!status->rewrites || grows(bidder, now_usec) ||
		       now_usec - bidder->act.cheap_usec >= burst_usec);
}

/*
 * While the server is cheap, we do not send data that rests because it may be overwritten again. So
 * the kernel must send it as usual.
 */
static bool is_paced(const struct canfs_bidder *bidder,
	const struct canfs_accelerate_status *status, uint64_t now_usec)
{
	return is_deferred(bidder, status, now_usec) || status->sends;
}

static void find_holders(const struct canfs_actors *actors, struct canfs_bidder *const bidders[],
	size_t n, const struct canfs_host_state *host, struct holders *holders)
{
	*holders = (struct holders) { 0 };
	for (size_t i = 0; i < n && holders->n < CANFS_DEFER_BDIS_MAX; i++) {
		struct canfs_bidder *bidder = bidders[i];
		bool may_hold = acts_on_writes(bidder) && bidder->write.verdict != CANFS_HOLD;
		struct canfs_accelerate_status status = { 0 };
		bool paced;

		if (may_hold)
			canfs_accelerate_status(actors->accelerator, bidder->mount.bdi, &status);
		if (status.grows)
			bidder->act.grown_usec = host->now_usec;
		paced = may_hold && is_paced(bidder, &status, host->now_usec);
		holders->switched_on += acts_on_writes(bidder);
		holders->priced += may_hold;
		if (may_hold && grows(bidder, host->now_usec))
			holders->coming_bytes += canfs_bidder_coming_bytes(bidder);
		holders->give_way |= may_hold && bidder->give_way.active;
		if (may_hold)
			bidder->act.leaving_usec = 0;
		else if (!is_leaving(actors, bidder, host))
			continue;
		holders->mount[holders->n] = &bidder->mount;
		holders->n++;
		holders->paced |= paced;
		/* Also for a cheap server: it may become expensive before a running flusher can be stopped. */
		holders->wanted |= paced && canfs_bidder_holds(bidder) &&
				   canfs_bidder_is_worth_holding(bidder, host);
	}
}

static void warn(struct canfs_actors *actors, int error)
{
	if (actors->warned.defer)
		return;
	actors->warned.defer = true;
	canfs_log("defer: not possible here (%s); only accelerating", canfs_tuner_strerror(error));
}

static bool is_crowded(const struct canfs_actors *actors, const struct canfs_host_state *host)
{
	return host->now_usec < actors->cache.crowded_until_usec;
}

/* Returns why the flushing point must be released, or NULL. */
static const char *reason_to_release(const struct canfs_actors *actors,
	const struct holders *holders, const struct canfs_host_state *host)
{
	if (host->now_usec < actors->rest.until_usec)
		return actors->rest.why;
	if (!holders->switched_on)
		return "no mount is in mode enforce with write-back enabled";
	if (!holders->priced)
		return "no price";
	if (!canfs_defer_available(actors->defer))
		return "not possible here";
	if (actors->squeeze.active)
		return "neither the page cache nor the server is crowded, or nobody writes";
	if (is_crowded(actors, host))
		return cache_is_needed.why;
	if (holders->give_way)
		return server_is_busy.why;
	return host->now_usec - actors->last.held_usec > linger_usec ? "not needed" : NULL;
}

/* Does not refill memory that others need, and lets a release finish. */
static void leave_memory_to_others(struct canfs_actors *actors, const struct canfs_host_state *host)
{
	bool used = canfs_cache_is_crowded(host->cache_used_bytes, &host->meminfo);

	if (used)
		actors->cache.used_until_usec = host->now_usec + CANFS_ACT_REST_USEC;
	if (used || host->cache_worth >= CANFS_CACHE_WORTH_NEEDED)
		actors->cache.crowded_until_usec = host->now_usec + CANFS_ACT_REST_USEC;
	canfs_accelerate_drop_behind(actors->accelerator, is_crowded(actors, host));
	if (!host->guarded)
		return;
	actors->rest.why = "memory is low";
	actors->rest.until_usec = host->now_usec + CANFS_ACT_REST_USEC;
}

/*
 * Writers must not push out what readers use (§3.3). Applies while somebody writes to a server with a
 * price, or did so within the last minute.
 */
static bool crowds_cache(const struct canfs_actors *actors, const struct canfs_host_state *host)
{
	uint64_t since_usec = host->now_usec - actors->last.written_usec;

	/* Cache misses may come from local files, or from a container at its own limit. */
	return host->now_usec < actors->cache.used_until_usec &&
	       (actors->squeeze.active ? since_usec < CANFS_ACT_REST_USEC : !since_usec);
}

/*
 * Writers must not fill the queue in which others' commits wait. A squeeze does not start while much
 * data of other file systems is dirty, because their writers would wait, too. Later this cannot be
 * known: of 32 MiB most may seem to be another file system's.
 */
static bool crowds_server(const struct canfs_actors *actors, const struct holders *holders,
	const struct canfs_host_state *host)
{
	uint64_t dirty = host->meminfo.dirty_bytes + host->meminfo.writeback_bytes;

	return holders->give_way &&
	       (actors->squeeze.active ||
		       canfs_growth(dirty, host->backlog_bytes) < server_is_busy.to_bytes);
}

/* Returns the reason to squeeze, or NULL. A running squeeze does not end because memory is short. */
static const struct squeeze_reason *reason_to_squeeze(const struct canfs_actors *actors,
	const struct holders *holders, const struct canfs_host_state *host)
{
	bool may_begin =
		!canfs_defer_active(actors->defer) && host->now_usec >= actors->rest.until_usec;

	if (!holders->priced || !canfs_defer_available(actors->defer) ||
		!(actors->squeeze.active || may_begin))
		return NULL;
	return crowds_server(actors, holders, host) ? &server_is_busy
	       : crowds_cache(actors, host)         ? &cache_is_needed
						    : NULL;
}

static void release(struct canfs_actors *actors, struct canfs_bidder *const bidders[], size_t n,
	const struct canfs_host_state *host, const char *reason)
{
	int ret;

	if (host->now_usec < actors->rest.release_due_usec)
		return;
	ret = canfs_act_release(actors, bidders, n, host);
	if (ret == -EAGAIN)
		return;
	if (ret)
		actors->rest.release_due_usec = host->now_usec + CANFS_ACT_REST_USEC;
	canfs_log("defer: %sreleased: %s%s%s", ret ? "not " : "", reason, ret ? ": " : "",
		ret ? strerror(-ret) : "");
	canfs_decisions_note(&actors->decisions, host->now_usec, "flushing point",
		actors->squeeze.active ? "squeezed" : "raised", ret ? strerror(-ret) : "released",
		canfs_no_bids, "%s", reason);
	actors->squeeze.active = false;
}

static void send_chunk(struct canfs_actors *actors, const struct canfs_bidder *bidder,
	uint64_t chunk_bytes, bool hurries)
{
	/* -EBUSY: the server is slower than the pace; the next tick tries again. */
	if (chunk_bytes && canfs_bidder_holds(bidder))
		canfs_accelerate(actors->accelerator, bidder->mount.bdi, chunk_bytes, hurries);
}

/* Sends at a pace that any server sustains. */
static void drain(struct canfs_actors *actors, struct canfs_bidder *bidder,
	const struct canfs_host_state *host)
{
	uint64_t elapsed = host->now_usec - bidder->act.released_usec;

	bidder->act.released_usec = host->now_usec;
	if (elapsed <= 1000000) /* otherwise the drain starts now */
		send_chunk(actors, bidder,
			canfs_pace_blind(&bidder->pace, bidder->held.in_flight_bytes, elapsed),
			true);
}

static void note_failure(struct canfs_actors *actors, int error, uint64_t now_usec)
{
	if (error == -EDQUOT) {
		actors->rest.defer_due_usec = now_usec + CANFS_ACT_QUOTA_USEC;
	} else if (error) {
		actors->rest.defer_due_usec = now_usec + CANFS_ACT_REST_USEC;
		warn(actors, error);
	}
}

static bool is_draining(struct canfs_actors *actors, const struct canfs_host_state *host)
{
	uint64_t dirty = host->meminfo.dirty_bytes + host->meminfo.writeback_bytes;

	if (!actors->squeeze.active ||
		dirty < actors->squeeze.dirty_bytes - actors->squeeze.dirty_bytes / squeeze_part) {
		actors->squeeze.dirty_bytes = dirty;
		actors->squeeze.since_usec = host->now_usec;
	}
	return host->now_usec - actors->squeeze.since_usec < squeeze_usec;
}

/* The limits follow the dirty data down. If it does not decrease, all writers wait at them, on any file system. */
static void squeeze(struct canfs_actors *actors, const struct squeeze_reason *reason,
	const struct canfs_host_state *host)
{
	struct canfs_changes changes = { 0 };
	bool draining;
	int ret;

	if (host->now_usec < actors->rest.defer_due_usec)
		return;
	draining = is_draining(actors, host);
	actors->squeeze.active = true;
	ret = canfs_defer_squeeze(actors->defer, reason->to_bytes, &host->meminfo, &changes);
	canfs_act_log_changes(&actors->decisions, "squeeze", reason->why, &changes);
	if (ret != -EAGAIN) {
		note_failure(actors, ret, host->now_usec);
	} else if (!draining) {
		actors->squeeze.active = false;
		actors->rest.why = "dirty data does not decrease";
		actors->rest.until_usec = host->now_usec + CANFS_ACT_REST_USEC;
	}
}

void canfs_act_defer(struct canfs_actors *actors, struct canfs_bidder *const bidders[], size_t n,
	const struct canfs_host_state *host)
{
	struct holders holders;
	struct canfs_changes changes = { 0 };
	const struct squeeze_reason *squeezed_for;
	const char *reason;
	bool active = canfs_defer_active(actors->defer);
	int ret;

	find_holders(actors, bidders, n, host, &holders);
	if (holders.wanted ||
		(active && host->backlog_bytes >= CANFS_BACKLOG_SMALL_BYTES && holders.paced))
		actors->last.held_usec = host->now_usec;
	if (holders.coming_bytes >= CANFS_BACKLOG_SMALL_BYTES)
		actors->last.written_usec = host->now_usec;
	leave_memory_to_others(actors, host);
	squeezed_for = reason_to_squeeze(actors, &holders, host);
	if (squeezed_for) {
		squeeze(actors, squeezed_for, host);
		return;
	}
	if (!active)
		actors->squeeze.active = false;
	reason = reason_to_release(actors, &holders, host);
	if (reason && active)
		release(actors, bidders, n, host, reason);
	for (size_t i = 0; i < n && !reason; i++) {
		if (bidders[i]->act.leaving_usec)
			drain(actors, bidders[i], host);
	}
	if (reason || (!holders.wanted && !active) || host->now_usec < actors->rest.defer_due_usec)
		return;
	ret = canfs_defer_apply(actors->defer, host->bound_bytes, holders.mount, holders.n,
		&host->meminfo, &changes);
	canfs_act_log_changes(&actors->decisions, "defer", "data is held back", &changes);
	actors->rest.defer_due_usec = host->now_usec + apply_usec;
	note_failure(actors, ret, host->now_usec);
}

int canfs_act_release(struct canfs_actors *actors, struct canfs_bidder *const bidders[], size_t n,
	const struct canfs_host_state *host)
{
	struct canfs_changes changes = { 0 };
	int ret;

	for (size_t i = 0; i < n; i++) {
		/* Data of a mount that was switched off meanwhile must leave, too. */
		if (acts_on_writes(bidders[i]) || canfs_act_has_share(actors, bidders[i]))
			drain(actors, bidders[i], host);
	}
	ret = canfs_defer_restore_step(actors->defer, &host->meminfo, 4 * MIB, &changes);
	canfs_act_log_changes(
		&actors->decisions, "release", "restoring the original value in stages", &changes);
	return ret;
}
