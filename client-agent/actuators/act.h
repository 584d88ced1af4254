/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What follows an auction. On a mount in enforce mode the kernel's knobs are turned; on one in observe
 * mode the same lines are logged and nothing is touched.
 *
 *	data held, and worth it       raise the flushing point (defer.c), of a cheap server for what we send: what
 *	                              leaves is for the pace to say, and lowering it would dump the rest at once
 *	readers need the page cache   let writers wait sooner than the kernel would (defer.c), and drop what
 *	                              they wrote once it is safe (accelerate.c)
 *	a writer gives way            let it wait sooner, too: others' commits wait behind what it has sent
 *	(give_way.c)
 *	bytes to send                 send a chunk (accelerate.c)
 *	no price, switched off,       release: drain at a steady pace, lower in stages
 *	long nothing to hold,
 *	memory or page cache is short
 *	the same on one of several    drain it at a steady pace, then take its share
 *	no price, switched off,       read_ahead_kb as it was
 *	or not managed any more
 *
 * What has failed is tried again a minute later, not at every tick.
 */
#ifndef CANFS_CLIENT_AGENT_ACTUATORS_ACT_H
#define CANFS_CLIENT_AGENT_ACTUATORS_ACT_H

#include "client-agent/actuators/accelerate.h"
#include "client-agent/auction/bidder.h"
#include "client-agent/actuators/defer.h"
#include "client-agent/actuators/readahead.h"
#include "client-agent/kernel/tuner.h"

/* After a failure, or when memory was needed otherwise, nothing is tried for so long: the log must not fill up. */
#define CANFS_ACT_REST_USEC 60000000u

/* The same after too many changes in a minute. */
#define CANFS_ACT_QUOTA_USEC 5000000u

struct canfs_actors {
	const char *root;
	struct canfs_journal *journal;
	struct canfs_tuner *tuner;
	struct canfs_defer *defer;
	struct canfs_accelerator *accelerator;

	/* When what happened last. */
	struct {
		uint64_t guarded_usec; /* memory was found short */
		uint64_t held_usec;    /* something was held back */
		uint64_t written_usec; /* somebody wrote to a server with a price */
	} last;
	/* What is not to be done before. */
	struct {
		uint64_t defer_due_usec;   /* after the last time; longer after a failure */
		uint64_t release_due_usec; /* after a failure */
		uint64_t until_usec;       /* nothing is held until then, since memory is ... */
		const char *why;           /* ... needed otherwise */
	} rest;
	/* The page cache: until when readers of our mounts use much of it, or somebody misses it. */
	struct {
		uint64_t used_until_usec;
		uint64_t crowded_until_usec; /* what is written leaves it to them */
	} cache;
	/* The kernel's limits are below their originals. */
	struct {
		bool active;
		uint64_t dirty_bytes; /* so much was dirty ... */
		uint64_t since_usec;  /* ... when that last got less meanwhile */
	} squeeze;
	/* It was said that these do not work here. */
	struct {
		bool defer, readahead;
	} warned;

	/* For status/: what was decided that is no single mount's. */
	struct canfs_decisions decisions;
};

/*
 * Opens the journal and starts the actuators. error: room for one line, "" if there is nothing to
 * say (also a warning on success). 0 or -errno.
 */
int canfs_actors_open(struct canfs_actors *actors, const struct canfs_agent_config *config,
	const char *root, char *error, size_t error_size);

/*
 * Puts back what an agent that crashed has left changed, drained at a steady pace. Blocks for some
 * seconds if there is much to drain. 0, or the first -errno: the journal then keeps the rest.
 */
int canfs_act_take_back(struct canfs_actors *actors);

/* Closes all, and forgets what is someone else's. Restores nothing: see canfs_act_release(). */
void canfs_actors_close(struct canfs_actors *actors);

/* What must stay of MemAvailable - Dirty - Writeback, or held data is sent at any price. */
#define CANFS_ACT_GUARD_BYTES (UINT64_C(100) << 20)

/*
 * Returns true if memory is short. MemAvailable counts dirty pages as available; this guard does
 * not. Enough again is half as much more, for five seconds. guarded is the last result. Logs a
 * change.
 */
bool canfs_act_guard(
	struct canfs_actors *actors, const struct canfs_host_state *host, bool guarded);

/* Says what the auctions of this bidder came to, if it is news and the last news is a second old. */
void canfs_act_report(struct canfs_bidder *bidder, const struct canfs_tag *tag,
	const struct canfs_host_state *host);

/* Says and remembers what was done to knobs, and why; changes is empty then. */
void canfs_act_log_changes(struct canfs_decisions *decisions, const char *who, const char *why,
	struct canfs_changes *changes);

/*
 * Sends chunk_bytes of the bidder's backlog, if any and if it is to be enforced, and the kernel does not send it all anyway. What was
 * overwritten may rest (flush.h) until half of the headroom is left, or so much is dirty that the kernel alone would send it.
 */
void canfs_act_accelerate(struct canfs_actors *actors, struct canfs_bidder *bidder,
	const struct canfs_host_state *host, uint64_t chunk_bytes);

/* True if there is nothing to pace: the server is cheap, and all known files are only rewritten. */
bool canfs_act_rests(
	const struct canfs_actors *actors, const struct canfs_bidder *bidder, uint64_t now_usec);

/* Has the bidder's BDI a share of the flushing point that is ours to take back? */
bool canfs_act_has_share(const struct canfs_actors *actors, const struct canfs_bidder *bidder);

/*
 * Raises, keeps or releases the flushing point for all bidders together. One that may not hold any more while
 * others do is drained at a steady pace before it loses its share.
 */
void canfs_act_defer(struct canfs_actors *actors, struct canfs_bidder *const bidders[], size_t n,
	const struct canfs_host_state *host);

/*
 * Moves read_ahead_kb one step towards what the auction says; back to the original without a price,
 * or if the bidder's terms say off or observe. DEFER never raises it and ACCELERATE never lowers it,
 * whatever the bounds.
 */
void canfs_act_readahead(
	struct canfs_actors *actors, struct canfs_bidder *bidder, uint64_t now_usec);

/* read_ahead_kb of a bidder that goes, or has no price, is as it was. 0 or -errno. */
int canfs_act_let_go(struct canfs_actors *actors, struct canfs_bidder *bidder);

/*
 * One step towards the originals of the flushing point: drains what is held, lowers in stages. 0: all
 * is as it was; -EAGAIN: go on; another -errno: a knob could not be put back.
 */
int canfs_act_release(struct canfs_actors *actors, struct canfs_bidder *const bidders[], size_t n,
	const struct canfs_host_state *host);

/* At the end: read-ahead back everywhere, and whatever of the flushing point is still raised.
 * 0, or the first -errno: the journal then keeps the rest. */
int canfs_act_restore_all(struct canfs_actors *actors);

#endif
