/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A bidder is one BDI (super block) of NFS mounts in the auction. It knows what the BDI holds, what
 * that is worth to this client, what the server asks, and the verdict.
 *
 *	mountstats, meminfo --> observe --> backlog, confidence
 *	(backlog + what one more second of writing adds, of all
 *	 bidders) / bound, or the
 *	 worth of the page cache       --> own price of a write       \
 *	spare memory * confidence      --> own price of a read-ahead   > auction --> verdict, pace
 *	poller                           --> the server's prices       |
 *	interfaces.c                     --> the own network's prices /
 *
 * The asked price is the higher one of the server's and the own network's: an operation costs as
 * much as the most expensive resource that it uses (§3.2).
 *
 * A bidder asks the server through its poller. It turns no knob; actuators/ does that.
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
 * A writer that fills memory before a price can change cannot be held: the kernel would block it
 * until a long queue is written. So data that is expected within this time counts as held.
 */
#define CANFS_FILL_HORIZON_SEC 1.0

/*
 * Holding data is useless if memory will be full in a moment anyway: the writer then waits behind a
 * longer queue. The flushing point is raised only if memory has room for CANFS_HOLD_WORTH_SEC of
 * writing, or for CANFS_DEFER_WORTH_SEC while the server is expensive. A cheap server takes the
 * data as it comes. For an expensive server data only piles up. The writer must wait for the disk
 * in the end, and has lost that time. The fill rate is known after CANFS_HOLD_KNOWN_USEC.
 */
#define CANFS_HOLD_KNOWN_USEC 500000
#define CANFS_HOLD_WORTH_SEC  2.0
#define CANFS_DEFER_WORTH_SEC 8.0

/*
 * A smaller backlog counts as empty. Once writing stops, a larger backlog is sent down to the
 * second value.
 */
#define CANFS_BACKLOG_SMALL_BYTES (1 << 20)
#define CANFS_BACKLOG_REST_BYTES  (16 << 10)

/*
 * Held data bids at low priority if at most this share of it may belong to others than
 * low_priority_cgroups. Others must not wait for memory behind low-priority data.
 */
#define CANFS_LOW_PRIORITY_REST 0.1

/*
 * The kernel's flusher writes a file back 30 to 35 s after its first dirty page, even if parts of
 * the file were sent before.
 */
#define CANFS_KERNEL_FLUSH_USEC 35000000

/* A slower writer needs a quarter of a minute to fill a chunk. */
#define CANFS_FILL_SMALL_BYTES_PER_SEC CANFS_PACE_STOPPED_BYTES_PER_SEC

/* State of this host at one moment, common to all bidders. */
struct canfs_host_state {
	uint64_t now_usec;
	uint64_t bound_bytes;   /* limit for deferred data of all BDIs together; > 0 */
	uint64_t backlog_bytes; /* the deferred data now ... */
	uint64_t coming_bytes;  /* ... and what CANFS_FILL_HORIZON_SEC of writing will add */
	double cache_worth;     /* worth of the page cache, [0, 1] (cache_worth.h) */
	uint64_t cache_used_bytes;
	uint64_t
		flushing_bytes; /* the kernel's own limit: if more is dirty, its flushers would send all dirty data; 0: not known */
	struct canfs_meminfo meminfo;
	uint64_t low_priority_bytes; /* part of meminfo.dirty_bytes; of the last sample */
	bool guarded;                /* memory is short: send at any price */
};

/* What the applications of the BDI do, from the counters. */
struct canfs_bidder_seen {
	struct canfs_mountstats stats; /* as of usec */
	uint64_t usec;                 /* 0: no sample yet */
	uint64_t cache_read_bytes;     /* since the first sample: read through the cache ... */
	uint64_t cache_fetched_bytes;  /* ... and fetched into it */
	uint64_t background_bytes;     /* since the first sample: written back, without O_DIRECT */
	uint32_t round_trip_usec;      /* network round trip; 0: not known */
	uint64_t reading_usec;         /* last read of an application through the cache */
	uint64_t moved_usec;           /* last time that a byte was written or sent */
	struct canfs_average fill;     /* bytes per second that applications write now ... */
	double fill_peak;              /* ... and wrote lately: a blocked writer writes little */
};

/* This client's own network on the way to the server. interfaces.c sets these members. */
struct canfs_bidder_network {
	char interface[IF_NAMESIZE]; /* of the route; "": not known, or not to be watched */
	uint64_t route_due_usec;     /* next lookup of the route */
	uint64_t usec;               /* of the last sample; 0: none */
	uint64_t background_bytes;   /* the counters in seen at that sample */
	uint64_t fetched_bytes;
	struct canfs_average fetched; /* bytes per second */
	double bytes_per_sec;         /* link speed; 0: not known, then all members below are 0 */
	double used_by_others;        /* utilization by others as write-back meets it, [0, 1] */
	double write;                 /* the own network's price of each operation */
	double readahead;
};

/* Data that is written but not yet committed. */
struct canfs_bidder_held {
	struct canfs_backlog backlog;
	struct canfs_in_flight in_flight;
	uint64_t backlog_bytes;
	uint64_t writeback_bytes; /* of the whole system */
	uint64_t in_flight_bytes; /* part of the backlog: sent, not yet committed */
	uint64_t clean_usec;      /* last time that nothing was dirty */
	bool was_clean;
	bool has_rest;        /* unsent data has exceeded CANFS_BACKLOG_SMALL_BYTES */
	bool is_low_priority; /* all of the data but CANFS_LOW_PRIORITY_REST */
};

/* State of the actuators for this bidder. */
struct canfs_bidder_act {
	uint64_t readahead_due_usec; /* earliest next change of read_ahead_kb */
	uint64_t released_usec;      /* last step of a release */
	uint64_t
		leaving_usec; /* start of draining a BDI that may not hold data any more; 0: not draining */
	uint64_t grown_usec; /* last time that a writer extended a file; 0: never */
	uint64_t asked_usec; /* last request to the helper */
	uint64_t cheap_usec; /* last time that the verdict was not DEFER */
	bool unwanted;       /* not in the configuration any more: removed once drained */
};

/* State of the bidder's log messages. */
struct canfs_bidder_told {
	uint64_t due_usec; /* earliest next message */
	enum canfs_verdict write;
	enum canfs_verdict readahead;
	bool no_price;
	unsigned int uncounted; /* consecutive samples without the mount's counters */
};

struct canfs_bidder {
	struct canfs_mount mount; /* the first mount of its BDI represents the BDI */
	struct canfs_terms terms; /* from the configuration, for that mount point */
	struct canfs_poller poller;
	struct canfs_bidder_seen seen;
	struct canfs_bidder_network network;
	struct canfs_bidder_held held;
	struct canfs_give_way give_way; /* to other clients that wait for the server */

	struct canfs_auction write;
	struct canfs_auction readahead;
	struct canfs_auction beyond; /* read-ahead beyond what the link needs (read_window.h) */
	struct canfs_pace pace;
	struct canfs_confidence confidence;
	double own_write; /* the last own prices */
	double own_readahead;
	uint64_t bid_usec;        /* last canfs_bidder_bid(); 0: never */
	uint64_t deferred_usec;   /* total time that it held data by verdict */
	uint64_t sent_until_usec; /* last step of the pace; 0: never */

	struct canfs_bidder_act act;
	struct canfs_bidder_told told;
	struct canfs_decisions decisions; /* for canfsctl only */
	struct canfs_rates rates;         /* for canfsctl only */
};

/*
 * Sets *target to the server to ask for the prices of a mount. *target points into mount and
 * handle. Returns 0, or -EDESTADDRREQ if the mount names no server address. Sends no request. Looks
 * the mount point up once, for the handle; repeated lookups would keep an automount from expiring.
 */
int canfs_bidder_target(const struct canfs_mount *mount, uint8_t handle[CANFS_MOUNT_HANDLE_MAX],
	struct canfs_fsstat_target *target);

/*
 * Takes the mount's terms from config. seed: see canfs_poller_init(). Returns 0, -EDESTADDRREQ if
 * the mount names no server address, or -ENOMEM.
 */
int canfs_bidder_init(struct canfs_bidder *bidder, const struct canfs_mount *mount,
	const struct canfs_agent_config *config, unsigned int seed);
void canfs_bidder_fini(struct canfs_bidder *bidder);

/* Takes new terms (a reloaded configuration). Keeps prices and verdicts. */
void canfs_bidder_configure(struct canfs_bidder *bidder, const struct canfs_agent_config *config);

/*
 * Takes a sample. stats are new counters, with stats->found set; NULL if the counters were not read
 * this time. Updates the held data from the dirty memory of the system.
 */
void canfs_bidder_observe(struct canfs_bidder *bidder, const struct canfs_mountstats *stats,
	const struct canfs_meminfo *meminfo, uint64_t now_usec);

/* Resets the network state: the network is not watched, or not any more. */
void canfs_bidder_forget_network(struct canfs_bidder *bidder);

/*
 * Returns the asked prices: for each operation the higher one of the server's price and the own
 * network's. If the own network sets the price of a write, it is the bottleneck.
 */
struct canfs_tag canfs_bidder_asked(
	const struct canfs_bidder *bidder, const struct canfs_tag *server);

/* Cumulative READ and WRITE requests, for the poller. */
uint64_t canfs_bidder_rpcs(const struct canfs_bidder *bidder);

/* Returns true if data is held, so that the server must be asked for its price. */
bool canfs_bidder_holds(const struct canfs_bidder *bidder);

/* Returns true if the held data is not worth a COMMIT yet (pace.h), nor will be within a second. */
bool canfs_bidder_gathers(const struct canfs_bidder *bidder);

/* Returns true if applications write so fast that there will soon be data to hold or to send. */
bool canfs_bidder_fills(const struct canfs_bidder *bidder);

/* Returns the bytes that CANFS_FILL_HORIZON_SEC of writing at the present rate will add. */
uint64_t canfs_bidder_coming_bytes(const struct canfs_bidder *bidder);

/*
 * Returns true if an application read through the cache in the last second. Otherwise read-ahead
 * does not matter.
 */
bool canfs_bidder_reads(const struct canfs_bidder *bidder, uint64_t now_usec);

/*
 * Returns true if the flushing point may be raised for this bidder: the client has headroom for
 * CANFS_HOLD_WORTH_SEC of its writing, or for CANFS_DEFER_WORTH_SEC while the server is expensive.
 */
bool canfs_bidder_is_worth_holding(
	const struct canfs_bidder *bidder, const struct canfs_host_state *host);

/*
 * Holds all auctions at the prices of tag, or at the own network's prices where those are higher.
 * If tag is NULL there is no price, and the verdicts become CANFS_HOLD. Returns how many bytes to
 * send now.
 */
uint64_t canfs_bidder_bid(struct canfs_bidder *bidder, const struct canfs_tag *tag,
	const struct canfs_host_state *host);

#endif
