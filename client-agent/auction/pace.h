/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How fast deferred data leaves. The auction says where it is cheaper (CA-NFS §3.2), the pace says how
 * much goes: a client that sent all it holds at its first cheap price would only move the damage, and
 * many clients would do so at once. Chosen by simulation of 2 to 10,000 clients (doc/herd.md).
 *
 *	sent    | rate
 *	        |-------.            The price acts at once, and not as a switch: from the own price on
 *	        |        \           what is sent tapers off, as the square of what is left of the taper.
 *	        |         `.         So clients neither all stop nor all begin at the same price, and a
 *	      0 |___________`- _____ server that is only just too expensive is not left idle.
 *	            own    own + TAPER        server's price
 *
 * The rate learns slowly what share is ours. It grows while the server is cheaper, fast if it is idle;
 * sinks within the taper; is halved once when the server has become too expensive for us, and then
 * remembered until it is cheap. Only whole chunks are sent: a client whose share is small sends one
 * now and then.
 *
 * What is sent is committed, and a COMMIT costs the server's disk a flush, however little it brings.
 * So less than CANFS_PACE_WORTH_BYTES is gathered first, and then sent at once, unless memory has a
 * price, it gets old, or the writer stops: a log that is written to costs a flush every few MiB
 * instead of each.
 *
 * For the same reason what leaves leaves in batches of a quarter of a second's worth, 16 MiB at most: a disk that gets 33 MB/s in
 * pieces of 3 MiB, each with its fsync, is busy with flushes and seeks for as long as with writing, and a reader beside it waits for
 * them. (bench/run k-sensitivity, disk: the reader's reads 38 -> 47 a second; with half a second as many, and longer waits.)
 *
 * What is held has a deadline: after 30 s the kernel sends all of it at once. So the deadline is a
 * resource, too, whose use has a price: the client that has held longest outbids the others, is drained and
 * starts anew. That is also what makes clients take turns.
 *
 * After a long spell of high prices (a reader's, say) the rate of a lone client would run away: the server is idle,
 * and the pile is gone in a second (CA-NFS §4.3). So what was held back leaves as evenly as it came: for as long
 * again as the spell has lasted, or what is left until the kernel would send it, while as much more comes.
 *
 *	held |      .'`.           spell: the taper leaves less than 0.7 of the rate, for 4 s at least, but for pauses of 0.5 s.
 *	     |    .'    `.         A herd's own queue is expensive for a shorter time; if each of many clients were
 *	   0 |__.'________`.___    always bound, they would leave the server idle (doc/herd.md).
 *	       high   | cheap
 *
 * The rate may have sunk to nothing meanwhile: once the server is cheap, or the data old, it starts with most of
 * that. While memory has a price there is no upper bound.
 *
 * Prices lag: a server takes data into its memory at once and becomes expensive only when its disk has to
 * swallow it. So what is on its way (sent, not yet committed) is bounded by what the rate sends in
 * CANFS_PACE_WINDOW_USEC: the round trip of a COMMIT, which needs no price, closes it. After a spell the next batch is earned
 * meanwhile, and no more than that: earned only afterwards, a server that takes 0.25 s for a batch would have half the rate, and the
 * pile were still there when its readers come back. (Otherwise it is not: of a herd, 64 clients' backlog would be a quarter higher.)
 *
 * Where the speed of the client's own network is known, nothing above it is learned: an idle server would let the rate grow
 * to many times that, and it would then have to sink for many seconds before the link has a gap. Nor is all of the link
 * taken while memory costs nothing: what others want of it shows in what is left (own_network.h).
 *
 * A client that would be full in a second sends at least what is written, as far as the window lets
 * it: it should not stop a writer that the kernel alone would let go on. (A window of a second for it
 * would send more if COMMITs are slow, and nearly doubles the backlog of two such clients.)
 *
 * Pure: no I/O, no clock.
 */
#ifndef CANFS_CLIENT_AGENT_AUCTION_PACE_H
#define CANFS_CLIENT_AGENT_AUCTION_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define CANFS_PACE_CHUNK_BYTES (1 << 20)
#define CANFS_PACE_WORTH_BYTES                                                                     \
	(4 << 20) /* what a spinning disk writes in the time of two flushes */
#define CANFS_PACE_BATCH_SEC             0.25
#define CANFS_PACE_BATCH_MAX_BYTES       (16 << 20) /* a spinning disk writes it in 0.1 s */
#define CANFS_PACE_STOPPED_BYTES_PER_SEC (64 << 10) /* less is no writing */
#define CANFS_PACE_MIN_BYTES_PER_SEC                                                               \
	4096.0 /* 10,000 clients of which each must get less than 10 kB/s */
#define CANFS_PACE_START_BYTES_PER_SEC (12.0 * (1 << 20))
#define CANFS_PACE_MAX_BYTES_PER_SEC   (256.0 * (1 << 20))
#define CANFS_PACE_BLIND_BYTES_PER_SEC (32.0 * (1 << 20)) /* any server's disk sustains this */

/* In prices: the least bid, and how much more expensive than the bid a server must be to get nothing. */
#define CANFS_PACE_BID_MIN 0.18
#define CANFS_PACE_TAPER   0.80

/* Of what is unsent: the price is 1 when it is so old. Well before the kernel's 30 s, as there is a queue. */
#define CANFS_PACE_DEADLINE_USEC 20000000
#define CANFS_PACE_DEADLINE_K    6.0

/* A spell of high prices; and how old nothing should get that was held back in one. */
#define CANFS_PACE_EXPENSIVE_SHARE 0.7 /* the taper leaves less */
#define CANFS_PACE_SPELL_USEC      4000000
#define CANFS_PACE_GONE_USEC       29000000

/* Of the own network's speed, while nothing is urgent. */
#define CANFS_PACE_NETWORK_SHARE 0.8

#define CANFS_PACE_WINDOW_USEC      150000
#define CANFS_PACE_WINDOW_MIN_BYTES (4 << 20) /* keeps a server with slow COMMITs going */

/* No more than this is asked for at once, however late the caller is. */
#define CANFS_PACE_BURST_MAX_BYTES (32 << 20)

struct canfs_pace {
	double rate_bytes_per_sec; /* [MIN, MAX]: our share, as far as it is known */
	double credit_bytes;       /* earned and not yet sent */
	uint64_t since_halved_usec;
	double expensive_sec;      /* this spell has lasted so long, pauses not counted ... */
	double cheap_sec;          /* ... and it is cheap for so long */
	double even_bytes_per_sec; /* bound of the rate after one; 0: none */
	double even_sec;           /* for so long */
	bool borne;                /* the server took something since then */
	bool gathering;            /* too little for a COMMIT so far */
};

/* What a step depends on. */
struct canfs_pace_view {
	double own_price;             /* of the memory that is held */
	double server_price;          /* the higher one of the server's and the own network's */
	double network_bytes_per_sec; /* speed of the own network; 0: not known */
	uint64_t held_usec;           /* so long the kernel has known of something dirty */
	uint64_t held_bytes;          /* not yet sent */
	uint64_t headroom_bytes;      /* until nothing more may be held */
	double fill_bytes_per_sec;    /* what applications write */
	uint64_t on_its_way_bytes;    /* sent and not yet committed */
	uint64_t elapsed_usec; /* since the last step, however long nothing was held in between */
};

void canfs_pace_init(struct canfs_pace *pace);

/*
 * To be called while something is held. Returns the bytes to send now: a multiple of
 * CANFS_PACE_CHUNK_BYTES, 0 ... CANFS_PACE_BURST_MAX_BYTES.
 */
uint64_t canfs_pace_step(struct canfs_pace *pace, const struct canfs_pace_view *view);

/* Without a price: a steady CANFS_PACE_BLIND_BYTES_PER_SEC. Same return value. */
uint64_t canfs_pace_blind(
	struct canfs_pace *pace, uint64_t on_its_way_bytes, uint64_t elapsed_usec);

#endif
