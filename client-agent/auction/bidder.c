// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/auction/bidder.h"
#include "client-agent/auction/arithmetic.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "client-agent/auction/own_network.h"
#include "pricing/price.h"

/* Read-ahead is judged by the last few seconds, which is about the length of a streaming phase. */
static const double confidence_tau_sec = 5;

/* Averaged over about as long as it is projected. A single large write is no stream. */
static const double fill_tau_sec = 0.5;
static const double fill_peak_tau_sec = 10;

/*
 * The kernel sends data older than 30 s and checks every 5 s. If nothing moved for longer than
 * that, no data is left.
 */
static const uint64_t quiet_usec = 40000000;

/* Read-ahead may use spare memory freely while that is more than this share of RAM. */
static const double ample_memory_share = 0.25;

/* k of the client's memory, and of its page cache: see pricing/price.h. */
static const double k_memory = 32;

/* What data of a low-priority cgroup counts in the bid. */
static const double low_priority_share = 0.5;

static struct canfs_poller_terms poller_terms(const struct canfs_agent_config *config)
{
	struct canfs_poller_terms terms = canfs_poller_defaults;

	terms.idle_usec = config->price_idle_sec * 1000000ull;
	terms.lost_usec = canfs_config_lost_usec(config);
	terms.service_port = (uint16_t)config->price_port;
	return terms;
}

/* Asks with the NFS version of the mount: if the mount works, so do these requests. */
static struct canfs_fsstat_target endpoint_of(const struct canfs_mount *mount)
{
	return (struct canfs_fsstat_target) {
		.address = mount->address,
		.version = mount->version == 4 ? 4 : 3,
		.nfs_port = mount->tcp ? mount->port : 0,
		.mount_port = mount->mount_port,
		.path = mount->export_path,
	};
}

int canfs_bidder_target(const struct canfs_mount *mount, uint8_t handle[CANFS_MOUNT_HANDLE_MAX],
	struct canfs_fsstat_target *target)
{
	*target = endpoint_of(mount);
	if (mount->address.ss_family == AF_UNSPEC)
		return -EDESTADDRREQ;
	if (mount->version == target->version &&
		!canfs_mount_handle(
			mount->mountpoint, target->version, handle, &target->handle_len))
		target->handle = handle;
	return 0;
}

int canfs_bidder_init(struct canfs_bidder *bidder, const struct canfs_mount *mount,
	const struct canfs_agent_config *config, unsigned int seed)
{
	struct canfs_poller_terms poller = poller_terms(config);
	const struct canfs_terms *terms = canfs_config_terms(config, mount->mountpoint);
	struct canfs_fsstat_target target;
	uint8_t handle[CANFS_MOUNT_HANDLE_MAX];
	int ret = canfs_bidder_target(mount, handle, &target);

	if (ret < 0)
		return ret;
	*bidder = (struct canfs_bidder) { .mount = *mount, .terms = *terms };
	canfs_auction_init(&bidder->write, &canfs_auction_defaults);
	canfs_auction_init(&bidder->readahead, &canfs_auction_defaults);
	canfs_auction_init(&bidder->beyond, &canfs_auction_defaults);
	canfs_pace_init(&bidder->pace);
	canfs_confidence_init(&bidder->confidence, confidence_tau_sec);
	canfs_average_init(&bidder->seen.fill, fill_tau_sec);
	canfs_give_way_init(&bidder->give_way);
	canfs_bidder_forget_network(bidder);
	return canfs_poller_init(&bidder->poller, &target, &poller, seed);
}

void canfs_bidder_fini(struct canfs_bidder *bidder)
{
	canfs_poller_fini(&bidder->poller);
}

void canfs_bidder_forget_network(struct canfs_bidder *bidder)
{
	bidder->network = (struct canfs_bidder_network) { 0 };
	canfs_average_init(&bidder->network.fetched, CANFS_OWN_NETWORK_TAU_SEC);
}

void canfs_bidder_configure(struct canfs_bidder *bidder, const struct canfs_agent_config *config)
{
	const struct canfs_poller_terms poller = poller_terms(config);
	/*
	 * Does not look the mount point up again. Repeated lookups would keep an automount from
	 * expiring.
	 */
	const struct canfs_fsstat_target target = endpoint_of(&bidder->mount);

	bidder->terms = *canfs_config_terms(config, bidder->mount.mountpoint);
	canfs_poller_configure(&bidder->poller, &target, &poller);
}

static uint64_t rpcs_of(const struct canfs_mountstats *stats)
{
	return stats->read.ops + stats->write.ops;
}

static void take_counters(
	struct canfs_bidder *bidder, const struct canfs_mountstats *stats, uint64_t now_usec)
{
	const struct canfs_mountstats *last = &bidder->seen.stats;

	if (bidder->seen.usec) {
		double elapsed_sec = (double)(now_usec - bidder->seen.usec) / 1e6;
		uint64_t direct = canfs_growth(stats->direct_read_bytes, last->direct_read_bytes);
		uint64_t written =
			canfs_growth(stats->normal_write_bytes, last->normal_write_bytes);
		uint64_t read = canfs_growth(stats->normal_read_bytes, last->normal_read_bytes);
		uint64_t fetched = canfs_growth(
			canfs_growth(stats->server_read_bytes, last->server_read_bytes), direct);
		uint64_t direct_written =
			canfs_growth(stats->direct_write_bytes, last->direct_write_bytes);

		bidder->seen.background_bytes += canfs_growth(
			canfs_growth(stats->server_write_bytes, last->server_write_bytes),
			direct_written);
		bidder->seen.cache_read_bytes += read;
		bidder->seen.cache_fetched_bytes += fetched;
		canfs_confidence_add(&bidder->confidence, read, fetched, elapsed_sec);
		if (elapsed_sec > 0)
			canfs_average_add(
				&bidder->seen.fill, (double)written / elapsed_sec, elapsed_sec);
		bidder->seen.fill_peak = fmax(bidder->seen.fill.value,
			bidder->seen.fill_peak * exp(-elapsed_sec / fill_peak_tau_sec));
	}
	if (bidder->seen.usec && stats->normal_read_bytes != last->normal_read_bytes)
		bidder->seen.reading_usec = now_usec;
	if (stats->normal_write_bytes != last->normal_write_bytes ||
		stats->server_write_bytes != last->server_write_bytes || !bidder->seen.usec)
		bidder->seen.moved_usec = now_usec;
	canfs_rates_note(&bidder->rates, stats, now_usec);
	bidder->seen.stats = *stats;
	bidder->seen.usec = now_usec;
}

/*
 * Between two samples of the counters, growth of Writeback counts as ours if any of our data moved
 * at the last sample.
 */
static uint64_t in_flight(struct canfs_bidder *bidder, const struct canfs_mountstats *stats,
	uint64_t writeback_bytes, uint64_t now_usec)
{
	bool moves = bidder->seen.moved_usec == bidder->seen.usec;
	uint64_t more = moves ? canfs_growth(writeback_bytes, bidder->held.writeback_bytes) : 0;

	bidder->held.writeback_bytes = writeback_bytes;
	return stats ? canfs_in_flight_update(
			       &bidder->held.in_flight, stats, writeback_bytes, now_usec)
		     : canfs_smaller(bidder->held.in_flight_bytes + more, writeback_bytes);
}

static void note_rest(struct canfs_bidder *bidder, uint64_t unsent)
{
	if (unsent >= CANFS_BACKLOG_SMALL_BYTES)
		bidder->held.has_rest = true;
	else if (unsent < CANFS_BACKLOG_REST_BYTES)
		bidder->held.has_rest = false;
}

/* Returns true if there is nothing that the kernel's flusher would send. */
static bool is_clean(const struct canfs_bidder *bidder, uint64_t unsent, uint64_t now_usec)
{
	/*
	 * For the kernel, a file that is written all the time is never clean, however little is
	 * unsent.
	 */
	return !bidder->held.clean_usec ||
	       now_usec - bidder->held.clean_usec >= CANFS_KERNEL_FLUSH_USEC ||
	       (unsent < CANFS_BACKLOG_SMALL_BYTES && !canfs_bidder_fills(bidder));
}

void canfs_bidder_observe(struct canfs_bidder *bidder, const struct canfs_mountstats *stats,
	const struct canfs_meminfo *meminfo, uint64_t now_usec)
{
	uint64_t unsent;
	bool clean;

	if (stats)
		take_counters(bidder, stats, now_usec);
	if (!bidder->seen.usec)
		return;
	if (now_usec - bidder->seen.moved_usec >= quiet_usec)
		canfs_backlog_forget(&bidder->held.backlog);
	bidder->held.in_flight_bytes = in_flight(bidder, stats, meminfo->writeback_bytes, now_usec);
	if (stats)
		canfs_backlog_update(&bidder->held.backlog,
			stats->normal_write_bytes + stats->direct_write_bytes,
			stats->server_write_bytes, meminfo->dirty_bytes,
			bidder->held.in_flight_bytes);
	bidder->held.backlog_bytes = canfs_backlog_bytes(
		&bidder->held.backlog, meminfo->dirty_bytes, bidder->held.in_flight_bytes);
	unsent = canfs_smaller(bidder->held.backlog.unsent_bytes, meminfo->dirty_bytes);
	note_rest(bidder, unsent);
	clean = is_clean(bidder, unsent, now_usec);
	/*
	 * The first sample with held data counts as clean, because an idle client samples less
	 * often.
	 */
	if (clean || bidder->held.was_clean)
		bidder->held.clean_usec = now_usec;
	bidder->held.was_clean = clean;
}

uint64_t canfs_bidder_rpcs(const struct canfs_bidder *bidder)
{
	return rpcs_of(&bidder->seen.stats);
}

bool canfs_bidder_holds(const struct canfs_bidder *bidder)
{
	bool rest = bidder->held.has_rest && !canfs_bidder_fills(bidder);

	return bidder->held.backlog_bytes >=
	       (rest ? CANFS_BACKLOG_REST_BYTES : CANFS_BACKLOG_SMALL_BYTES);
}

bool canfs_bidder_gathers(const struct canfs_bidder *bidder)
{
	return bidder->pace.gathering && bidder->held.backlog_bytes < CANFS_PACE_WORTH_BYTES &&
	       bidder->seen.fill.value < CANFS_PACE_WORTH_BYTES;
}

bool canfs_bidder_fills(const struct canfs_bidder *bidder)
{
	return bidder->seen.fill.value >= CANFS_FILL_SMALL_BYTES_PER_SEC;
}

uint64_t canfs_bidder_coming_bytes(const struct canfs_bidder *bidder)
{
	return (uint64_t)(bidder->seen.fill.value * CANFS_FILL_HORIZON_SEC);
}

bool canfs_bidder_reads(const struct canfs_bidder *bidder, uint64_t now_usec)
{
	return now_usec - bidder->seen.reading_usec <= 1000000;
}

/*
 * CA-NFS §2.2: "a client's willingness to perform read-ahead depends on its available memory and
 * the effectiveness of the operation".
 */
static double readahead_scale(
	const struct canfs_bidder *bidder, const struct canfs_meminfo *meminfo)
{
	double ample = ample_memory_share * (double)meminfo->total_bytes;
	double spare = (double)canfs_meminfo_spare_bytes(meminfo);

	return bidder->confidence.average.value * (spare < ample ? spare / ample : 1);
}

/*
 * An idle client asks only every ten seconds, so its price may be outdated. The first held data
 * makes the poller ask, and waits for the answer.
 */
static bool may_send(const struct canfs_bidder *bidder, uint64_t now_usec)
{
	return canfs_bidder_holds(bidder) && canfs_poller_is_current(&bidder->poller, now_usec);
}

/* Returns what is left of the bound after the other bidders have filled their part. */
static uint64_t headroom(const struct canfs_bidder *bidder, const struct canfs_host_state *host)
{
	uint64_t others = canfs_growth(host->coming_bytes, canfs_bidder_coming_bytes(bidder));

	return canfs_growth(host->bound_bytes, host->backlog_bytes + others);
}

static bool is_full_within(
	const struct canfs_bidder *bidder, const struct canfs_host_state *host, double sec)
{
	return (double)headroom(bidder, host) < sec * bidder->seen.fill_peak;
}

bool canfs_bidder_is_worth_holding(
	const struct canfs_bidder *bidder, const struct canfs_host_state *host)
{
	double worth_sec =
		bidder->write.verdict == CANFS_DEFER ? CANFS_DEFER_WORTH_SEC : CANFS_HOLD_WORTH_SEC;

	return canfs_growth(host->now_usec, bidder->held.clean_usec) >= CANFS_HOLD_KNOWN_USEC &&
	       !is_full_within(bidder, host, worth_sec);
}

static void give_way(struct canfs_bidder *bidder, const struct canfs_tag *tag,
	const struct canfs_host_state *host)
{
	struct canfs_give_way_view view = {
		.now_usec = host->now_usec,
		.is_quiet = !canfs_bidder_holds(bidder) && !canfs_bidder_fills(bidder),
		.is_too_fast = is_full_within(bidder, host, CANFS_DEFER_WORTH_SEC),
		.sent_bytes = bidder->seen.stats.server_write_bytes + bidder->held.in_flight_bytes,
		.price = tag ? tag->write : NAN,
		.commits_wait = tag && tag->bottleneck == CANFS_LOG,
		.price_usec = canfs_poller_price_usec(&bidder->poller, host->now_usec),
	};

	canfs_give_way_update(&bidder->give_way, &view);
}

static uint64_t send_paced(struct canfs_bidder *bidder, double own_price, double asked,
	const struct canfs_host_state *host)
{
	struct canfs_pace_view view = {
		.own_price = own_price,
		.server_price = asked,
		.network_bytes_per_sec = bidder->network.bytes_per_sec,
		.held_usec = canfs_growth(host->now_usec, bidder->held.clean_usec),
		.held_bytes =
			canfs_smaller(bidder->held.backlog.unsent_bytes, host->meminfo.dirty_bytes),
		.headroom_bytes = headroom(bidder, host),
		.fill_bytes_per_sec = bidder->seen.fill.value,
		.in_flight_bytes = bidder->held.in_flight_bytes,
		.elapsed_usec = bidder->sent_until_usec
					? canfs_growth(host->now_usec, bidder->sent_until_usec)
					: 0,
	};

	bidder->sent_until_usec = host->now_usec;
	return canfs_pace_step(&bidder->pace, &view);
}

/* Keeps the last measured value while there is no connection. */
static void note_round_trip(struct canfs_bidder *bidder)
{
	const struct canfs_fsstat *fsstat = bidder->poller.fsstat;
	uint32_t round_trip_usec = fsstat ? canfs_fsstat_round_trip_usec(fsstat) : 0;

	if (round_trip_usec > 0)
		bidder->seen.round_trip_usec = round_trip_usec;
}

struct canfs_tag canfs_bidder_asked(
	const struct canfs_bidder *bidder, const struct canfs_tag *server)
{
	struct canfs_tag asked = *server;

	if (bidder->network.write > asked.write) {
		asked.write = bidder->network.write;
		asked.bottleneck = CANFS_OWN_NETWORK;
	}
	asked.readahead = fmax(asked.readahead, bidder->network.readahead);
	return asked;
}

/*
 * Low-priority data is known only for the whole system, not per mount. So dirty data that may
 * belong to others counts as theirs, and as written to this mount.
 */
static bool is_low_priority(const struct canfs_bidder *bidder, const struct canfs_host_state *host)
{
	uint64_t dirty = host->meminfo.dirty_bytes;
	uint64_t others = canfs_growth(dirty, host->low_priority_bytes);
	uint64_t unsent = canfs_smaller(bidder->held.backlog.unsent_bytes, dirty);

	return host->low_priority_bytes > 0 && unsent > 0 &&
	       (double)others <= CANFS_LOW_PRIORITY_REST * (double)unsent;
}

/*
 * §2.1: deferring takes memory from writers and from readers. §5: "charging different processes
 * different prices".
 */
static double write_bid(const struct canfs_bidder *bidder, const struct canfs_host_state *host)
{
	double filled =
		(double)(host->backlog_bytes + host->coming_bytes) / (double)host->bound_bytes;
	double price =
		canfs_own_price(&bidder->write.terms, fmax(filled, host->cache_worth), k_memory);

	return bidder->held.is_low_priority
		       ? fmax(price * low_priority_share, bidder->write.terms.price_min)
		       : price;
}

uint64_t canfs_bidder_bid(struct canfs_bidder *bidder, const struct canfs_tag *tag,
	const struct canfs_host_state *host)
{
	uint64_t elapsed = bidder->bid_usec ? host->now_usec - bidder->bid_usec : 0;
	struct canfs_tag asked;

	bidder->bid_usec = host->now_usec;
	if (bidder->write.verdict == CANFS_DEFER && canfs_bidder_holds(bidder))
		bidder->deferred_usec += elapsed;
	if (canfs_bidder_reads(bidder, host->now_usec))
		note_round_trip(bidder);
	give_way(bidder, tag, host);
	bidder->held.is_low_priority = is_low_priority(bidder, host);
	bidder->own_write = write_bid(bidder, host);
	bidder->own_readahead = canfs_own_price(
		&bidder->readahead.terms, readahead_scale(bidder, &host->meminfo), k_memory);
	if (!tag) {
		canfs_auction_reset(&bidder->write);
		canfs_auction_reset(&bidder->readahead);
		canfs_auction_reset(&bidder->beyond);
		return host->guarded ? canfs_pace_blind(
					       &bidder->pace, bidder->held.in_flight_bytes, elapsed)
				     : 0;
	}
	asked = canfs_bidder_asked(bidder, tag);
	canfs_auction_hold(
		&bidder->readahead, bidder->own_readahead, asked.readahead, host->now_usec);
	canfs_auction_hold(&bidder->beyond, CANFS_READ_BEYOND_WORTH * bidder->own_readahead,
		asked.readahead, host->now_usec);
	canfs_auction_hold(&bidder->write, bidder->own_write, asked.write, host->now_usec);
	if (host->guarded && canfs_bidder_holds(bidder))
		return send_paced(bidder, CANFS_PRICE_MAX, 0, host);
	if (!may_send(bidder, host->now_usec))
		return 0;
	return send_paced(bidder, bidder->own_write, asked.write, host);
}
