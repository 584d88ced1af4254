/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Carries out the verdicts of the auctions. On a mount in enforce mode this changes the kernel's
 * knobs. On a mount in observe mode it only logs the verdicts.
 *
 *	held data is worth holding    raise the flushing point (defer.c). It stays up while the server is cheap and
 *	                              we send: if it were lowered, the kernel would send the rest at once, unpaced
 *	readers need the page cache   throttle writers earlier than the kernel would (defer.c), and drop their
 *	                              data from the page cache once it is safe (accelerate.c)
 *	a writer gives way            throttle it earlier, too: others' commits wait behind what it has sent
 *	(give_way.c)
 *	bytes to send                 send a chunk (accelerate.c)
 *	no price, switched off,       release the flushing point: drain at a steady pace, lower it in stages
 *	nothing held for a minute,
 *	memory or page cache is short
 *	the same for one of several   drain this mount at a steady pace, then take its share back
 *	no price, switched off,       restore read_ahead_kb
 *	or no longer managed
 *
 * After a failure, the next try comes a minute later.
 */
#ifndef CANFS_CLIENT_AGENT_ACTUATORS_ACT_H
#define CANFS_CLIENT_AGENT_ACTUATORS_ACT_H

#include "client-agent/actuators/accelerate.h"
#include "client-agent/auction/bidder.h"
#include "client-agent/actuators/defer.h"
#include "client-agent/actuators/readahead.h"
#include "client-agent/kernel/tuner.h"

/* Pause after a failure, or after others needed the memory. It also keeps the log short. */
#define CANFS_ACT_REST_USEC 60000000u

/* Pause after too many changes in a minute. */
#define CANFS_ACT_QUOTA_USEC 5000000u

struct canfs_actors {
	const char *root;
	struct canfs_journal *journal;
	struct canfs_tuner *tuner;
	struct canfs_defer *defer;
	struct canfs_accelerator *accelerator;

	/* Times of the last events. */
	struct {
		uint64_t guarded_usec; /* memory was short */
		uint64_t held_usec;    /* data was held */
		uint64_t written_usec; /* somebody wrote to a server with a price */
	} last;
	/* Earliest times of the next tries. */
	struct {
		uint64_t defer_due_usec;   /* of canfs_defer_apply(); later after a failure */
		uint64_t release_due_usec; /* of a release that failed */
		uint64_t until_usec;       /* nothing is held until then ... */
		const char *why;           /* ... for this reason */
	} rest;
	/* The page cache. */
	struct {
		uint64_t used_until_usec; /* readers of our mounts use much of it */
		uint64_t
			crowded_until_usec; /* the same, or readers miss evicted data: written data is dropped */
	} cache;
	/* The kernel's limits are below their originals. */
	struct {
		bool active;
		uint64_t dirty_bytes; /* dirty data when it last decreased clearly ... */
		uint64_t since_usec;  /* ... at this time */
	} squeeze;
	/* These failures have been logged. */
	struct {
		bool defer, readahead;
	} warned;

	/* For status/: decisions that concern no single mount. */
	struct canfs_decisions decisions;
};

/*
 * Opens the journal and starts the actuators. Returns 0 or -errno. Sets error to one line, which may
 * be a warning on success, or to "".
 */
int canfs_actors_open(struct canfs_actors *actors, const struct canfs_agent_config *config,
	const char *root, char *error, size_t error_size);

/*
 * Restores the knobs that a crashed agent has left changed, after a drain at a steady pace. Blocks for
 * some seconds if there is much to drain. Returns 0, or the first -errno; the journal then keeps the
 * remaining knobs.
 */
int canfs_act_take_back(struct canfs_actors *actors);

/* Closes everything and forgets knobs that someone else has changed. Restores nothing. */
void canfs_actors_close(struct canfs_actors *actors);

/* If MemAvailable - Dirty - Writeback falls below this, held data is sent at any price. */
#define CANFS_ACT_GUARD_BYTES (UINT64_C(100) << 20)

/*
 * Returns true if memory is short. MemAvailable counts dirty pages as available; this guard does
 * not. The shortage ends when 1.5 times the guard has been free for five seconds. guarded is the
 * last result. Logs a change.
 */
bool canfs_act_guard(
	struct canfs_actors *actors, const struct canfs_host_state *host, bool guarded);

/* Logs a new verdict of this bidder, at most once a second. */
void canfs_act_report(struct canfs_bidder *bidder, const struct canfs_tag *tag,
	const struct canfs_host_state *host);

/* Logs and notes the changes of knobs with their reason, and empties changes. */
void canfs_act_log_changes(struct canfs_decisions *decisions, const char *who, const char *why,
	struct canfs_changes *changes);

/*
 * Sends chunk_bytes of the bidder's backlog, unless the kernel sends all of it anyway. Only in enforce
 * mode. Data that may be overwritten again rests (flush.h) until half of the bound is used, memory
 * is short, or so much is dirty that the kernel alone would send it. chunk_bytes 0: at most checks
 * which files grow.
 */
void canfs_act_accelerate(struct canfs_actors *actors, struct canfs_bidder *bidder,
	const struct canfs_host_state *host, uint64_t chunk_bytes);

/* Returns true if there is nothing to pace: the server is cheap, and all known files are only rewritten. */
bool canfs_act_rests(
	const struct canfs_actors *actors, const struct canfs_bidder *bidder, uint64_t now_usec);

/* Returns how much of the bidder's held data depends on the next price. */
enum canfs_stake canfs_act_stake(const struct canfs_bidder *bidder);

/* Returns true if we have given the bidder's BDI a share of the flushing point. */
bool canfs_act_has_share(const struct canfs_actors *actors, const struct canfs_bidder *bidder);

/*
 * Raises, keeps or releases the flushing point for all bidders together. A bidder that may no longer
 * hold, while others may, is drained at a steady pace before it loses its share.
 */
void canfs_act_defer(struct canfs_actors *actors, struct canfs_bidder *const bidders[], size_t n,
	const struct canfs_host_state *host);

/*
 * Moves read_ahead_kb one step in the direction of the verdict. Restores it without a price, and if
 * the bidder's terms say off or observe. DEFER never raises it and ACCELERATE never lowers it,
 * whatever the bounds.
 */
void canfs_act_readahead(
	struct canfs_actors *actors, struct canfs_bidder *bidder, uint64_t now_usec);

/* Restores read_ahead_kb of a bidder that leaves or has no price. Returns 0 or -errno. */
int canfs_act_let_go(struct canfs_actors *actors, struct canfs_bidder *bidder);

/*
 * Takes one step towards the originals of the flushing point: drains held data, lowers the limits in
 * stages. Returns 0 if all is restored, -EAGAIN if more steps are needed, or another -errno if a knob
 * could not be restored.
 */
int canfs_act_release(struct canfs_actors *actors, struct canfs_bidder *const bidders[], size_t n,
	const struct canfs_host_state *host);

/*
 * Restores read-ahead everywhere, and all knobs of the flushing point at once. Returns 0, or the
 * first -errno; the journal then keeps the remaining knobs.
 */
int canfs_act_restore_all(struct canfs_actors *actors);

#endif
