/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One BDI (super block) of NFS mounts as it bids in the auction: what it holds, what that is worth to
 * this client, what its server asks, and what follows.
 *
 *	mountstats, meminfo --> observe --> backlog, confidence
 *	(backlog + what one more second of writing adds, of all
 *	 bidders) / bound, or the
 *	 worth of the page cache       --> own price of a write       \
 *	spare memory * confidence      --> own price of a read-ahead   > auction --> verdict, pace
 *	poller                           --> the server's prices       |
 *	interfaces.c                     --> the own network's prices /
 *
 * What is asked is the higher one of the last two: an operation costs as much as the most expensive resource that it uses (§3.2).
 *
 * Asks the server through its poller; touches no knob: that is for actuators/.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_BIDDER_H
#define CANFS_CLIENT_AGENT_AUCTION_BIDDER_H

#include <net/if.h>
#include "client-agent/auction/backlog.h"
#include "client-agent/config/config.h"
#include "client-agent/auction/poller.h"
#include "client-agent/kernel/handle.h"
#include "client-agent/kernel/mountstats.h"
#include "client-agent/auction/pace.h"
#include "client-agent/kernel/procfs.h"
#include "client-agent/auction/decisions.h"
#include "client-agent/auction/rates.h"
#include "client-agent/auction/in_flight.h"
#include "client-agent/auction/read_window.h"
#include "client-agent/auction/give_way.h"
#include "pricing/auction.h"
#include "pricing/confidence.h"
#include "pricing/utilization.h"

/*
 * A writer that will have filled the client by the time a price can have changed cannot be held: the
 * kernel would stop it until a long queue is written. So what is coming counts as if it were here.
 */
#define CANFS_FILL_HORIZON_SEC 1.0

/*
 * Nor is there anything to gain from holding a writer's data if the client is full in a moment all the same: its
 * writer then waits behind a longer queue. How fast it fills is known after half a second. While the server is
 * cheap what is held leaves as it comes; while it is expensive it is only piled up, and its writer, which will have
 * to wait for the disk all the same, has lost that time.
 */
#define CANFS_HOLD_KNOWN_USEC 500000
#define CANFS_HOLD_WORTH_SEC  2.0
#define CANFS_DEFER_WORTH_SEC 8.0

/* Holding less than this is holding nothing; the rest of more than that goes, too, once nothing more is written. */
#define CANFS_BACKLOG_SMALL_BYTES (1 << 20)
#define CANFS_BACKLOG_REST_BYTES  (16 << 10)

/*
 * What is held bids as low_priority_cgroups' once no more than this share of it can be others': they must not wait behind it
 * for memory.
 */
#define CANFS_LOW_PRIORITY_REST 0.1

/* The kernel's flusher comes 30 to 35 s after a file's first dirty page, whatever of it was sent before. */
#define CANFS_KERNEL_FLUSH_USEC 35000000

/* A slower writer takes a quarter of a minute to have a chunk to send. */
#define CANFS_FILL_SMALL_BYTES_PER_SEC CANFS_PACE_STOPPED_BYTES_PER_SEC

/* What is common to all bidders of this client at one moment. */
struct canfs_host_state {
	uint64_t now_usec;
	uint64_t bound_bytes;   /* what deferred data may take, of all BDIs together; > 0 */
	uint64_t backlog_bytes; /* what it takes ... */
	uint64_t coming_bytes;  /* ... and what CANFS_FILL_HORIZON_SEC more of the same will add */
	double cache_worth;     /* what the page cache is worth, [0, 1] (cache_worth.h) */
	uint64_t cache_used_bytes;
	uint64_t
		flushing_bytes; /* with more than this dirty the kernel's flushers send all there is, but for us; 0: not known */
	bool squeezes; /* writers may be made to wait sooner than the kernel would */
	struct canfs_meminfo meminfo;
	uint64_t low_priority_bytes; /* of meminfo.dirty_bytes, not less than it was */
	bool guarded;                /* memory is short: send, whatever it costs */
};

/* What its applications do, by the counters. */
struct canfs_bidder_seen {
	struct canfs_mountstats stats; /* as of usec */
	uint64_t usec;                 /* 0: never */
	uint64_t cache_read_bytes;     /* since the first sample: read through the cache ... */
	uint64_t cache_fetched_bytes;  /* ... and fetched into it */
	uint64_t background_bytes;     /* likewise: written back for them, O_DIRECT is not */
	uint32_t round_trip_usec;      /* of the network; 0: not known */
	uint64_t reading_usec;         /* when an application last read through the cache */
	uint64_t moved_usec;           /* when a byte was last written or sent */
	struct canfs_average fill;     /* they write so many bytes per second ... */
	double fill_peak;              /* ... and did lately: a blocked writer writes little */
};

/* This client's end of the way to the server: interfaces.c sets it. */
struct canfs_bidder_network {
	char interface[IF_NAMESIZE]; /* of the route; "": not known, or not to be watched */
	uint64_t route_due_usec;     /* it is asked for again */
	uint64_t usec;               /* of the last sample; 0: none */
	uint64_t background_bytes;   /* as seen then, likewise ... */
	uint64_t fetched_bytes;
	struct canfs_average fetched; /* bytes per second */
	double bytes_per_sec;         /* its speed; 0: not known, all below is 0 then */
	double used_by_others;        /* part of it that is not write-back, as that meets it */
	double write;                 /* what it asks */
	double readahead;
};

/* What is written and not committed. */
struct canfs_bidder_held {
	struct canfs_backlog backlog;
	struct canfs_in_flight in_flight;
	uint64_t backlog_bytes;
	uint64_t writeback_bytes; /* of the whole system */
	uint64_t in_flight_bytes; /* of the backlog: sent, not yet committed */
	uint64_t clean_usec;      /* when nothing was dirty last */
	bool was_clean;
	bool has_rest;        /* what is unsent is or was more than CANFS_BACKLOG_SMALL_BYTES */
	bool is_low_priority; /* all but CANFS_LOW_PRIORITY_REST of it */
};

/* What follows from its verdicts: the actuators' own. */
struct canfs_bidder_act {
	uint64_t readahead_due_usec; /* not before, read_ahead_kb is moved again */
	uint64_t released_usec;      /* when a release last sent */
	uint64_t
		leaving_usec; /* since when it is drained, as it may not hold any more; 0: it is not */
	uint64_t grown_usec; /* when a file was last seen that its writer makes longer; 0: never */
	uint64_t asked_usec; /* when it was last to send */
	uint64_t cheap_usec; /* when the verdict was last another one than DEFER */
	bool unwanted;       /* not in the configuration any more: goes as soon as it is drained */
};

/* What the log has been told of it. */
struct canfs_bidder_told {
	uint64_t due_usec; /* nothing more before */
	enum canfs_verdict write;
	enum canfs_verdict readahead;
	bool no_price;
	unsigned int uncounted; /* consecutive samples without the mount's counters */
};

struct canfs_bidder {
	struct canfs_mount mount; /* the first one of its BDI, stands for it */
	struct canfs_terms terms; /* the configuration's for that mount point */
	struct canfs_poller poller;
	struct canfs_bidder_seen seen;
	struct canfs_bidder_network network;
	struct canfs_bidder_held held;
	struct canfs_give_way give_way; /* to others who wait for the server */

	struct canfs_auction write;
	struct canfs_auction readahead;
	struct canfs_auction beyond; /* more read-ahead than the link needs (read_window.h) */
	struct canfs_pace pace;
	struct canfs_confidence confidence;
	double own_write; /* the last bids */
	double own_readahead;
	uint64_t bid_usec;        /* last canfs_bidder_bid(); 0: never */
	uint64_t deferred_usec;   /* for so long it has held data by the verdict */
	uint64_t sent_until_usec; /* last step of the pace; 0: never */

	struct canfs_bidder_act act;
	struct canfs_bidder_told told;
	struct canfs_decisions decisions; /* what canfsctl shows besides */
	struct canfs_rates rates;         /* likewise */
};

/*
 * Which server to ask for the prices of a mount: *target points into mount and handle. 0, or -EDESTADDRREQ if
 * the mount names no server address. Sends no request. Looks the mount point up once, for the handle: repeated lookups
 * would keep an automount from expiring.
 */
int canfs_bidder_target(const struct canfs_mount *mount, uint8_t handle[CANFS_MOUNT_HANDLE_MAX],
	struct canfs_fsstat_target *target);

/*
 * Takes the mount's terms from config. seed: see canfs_poller_init(). 0; -EDESTADDRREQ if the mount
 * names no server address; -ENOMEM.
 */
int canfs_bidder_init(struct canfs_bidder *bidder, const struct canfs_mount *mount,
	const struct canfs_agent_config *config, unsigned int seed);
void canfs_bidder_fini(struct canfs_bidder *bidder);

/* Takes new terms (a reloaded configuration) without forgetting prices or verdicts. */
void canfs_bidder_configure(struct canfs_bidder *bidder, const struct canfs_agent_config *config);

/*
 * Takes the counters, stats->found must be true, or goes by the last ones (NULL: not read this time), and sets
 * what is held by what the system has dirty now.
 */
void canfs_bidder_observe(struct canfs_bidder *bidder, const struct canfs_mountstats *stats,
	const struct canfs_meminfo *meminfo, uint64_t now_usec);

/* Its network is not watched, or no more. */
void canfs_bidder_forget_network(struct canfs_bidder *bidder);

/* What is asked all in all, by the server's prices: of each operation the higher price, its own network's being named as bottleneck. */
struct canfs_tag canfs_bidder_asked(
	const struct canfs_bidder *bidder, const struct canfs_tag *server);

/* Cumulative READ and WRITE requests, for the poller. */
uint64_t canfs_bidder_rpcs(const struct canfs_bidder *bidder);

/* Is data held back that the server should be asked about? */
bool canfs_bidder_holds(const struct canfs_bidder *bidder);

/* Do applications write so much that there will soon be data to hold or to send? */
bool canfs_bidder_fills(const struct canfs_bidder *bidder);

/* What CANFS_FILL_HORIZON_SEC more of the same will add. */
uint64_t canfs_bidder_coming_bytes(const struct canfs_bidder *bidder);

/* Did an application read through the cache in the last second? Else read-ahead is nobody's business. */
bool canfs_bidder_reads(const struct canfs_bidder *bidder, uint64_t now_usec);

/*
 * Would the client have headroom for CANFS_HOLD_WORTH_SEC of what it writes (CANFS_DEFER_WORTH_SEC while the server is expensive),
 * so that the flushing point may be raised?
 */
bool canfs_bidder_is_worth_holding(
	const struct canfs_bidder *bidder, const struct canfs_host_state *host);

/*
 * Holds both auctions at the prices of tag (NULL: none, the verdicts become CANFS_HOLD), or its own network's where that is
 * more expensive. Returns how many bytes are to be sent now.
 */
uint64_t canfs_bidder_bid(struct canfs_bidder *bidder, const struct canfs_tag *tag,
	const struct canfs_host_state *host);

#endif
