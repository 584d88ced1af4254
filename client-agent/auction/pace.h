/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How fast deferred data leaves. The auction decides where the data is cheaper (CA-NFS §3.2); the
 * pace decides how much leaves. A client that sent all its data at its first cheap price would only
 * postpone the congestion, and many clients would do so at once. The algorithm was chosen by
 * simulating 2 to 10,000 clients (doc/herd.md).
 *
 *	sent    | rate
 *	        |-------.            The price acts at once, but not as a switch. Above our own price, the
 *	        |        \           rate falls with the square of what is left of the taper.
 *	        |         `.         So clients neither all stop nor all start at the same price, and a
 *	      0 |___________`- _____ server that is only slightly too expensive is not left idle.
 *	            own    own + TAPER        server's price
 *
 * The rate slowly approaches this client's share of the server. It grows while the server is cheaper
 * than our price, and fast if the server is idle. It shrinks within the taper. When the server
 * becomes too expensive for us, the rate is halved once; it is not halved again before the price
 * was within the taper. Only whole chunks are sent, so a client with a small share sends a chunk
 * now and then.
 *
 * Sent data is committed, and each COMMIT costs the server's disk a flush, however little data it
 * covers. So data is gathered up to CANFS_PACE_WORTH_BYTES first and then sent in one go, unless
 * memory is scarce (its price is above CANFS_PACE_BID_MIN), the data gets old, or the writer stops.
 * A log that is appended to costs one flush every few MiB instead of one for each append.
 *
 * For the same reason, data leaves in batches of a quarter of a second's worth, at most 16 MiB. A
 * disk that gets 33 MB/s in pieces of 3 MiB, each with its fsync, spends as long on flushes and
 * seeks as on writing. A reader of the same disk waits for them. (bench/run k-sensitivity, disk:
 * with batches the reader's reads rise from 38 to 47 a second. Batches of half a second give as
 * many reads and longer waits.)
 *
 * Held data has a deadline: after 30 s the kernel sends all of it at once. The deadline is
 * therefore a resource, too, and its use has a price. The client that has held data longest outbids
 * the others, drains, and starts anew. This also makes clients take turns.
 *
 * When a long spell of high prices ends, for example because a reader has finished, the server is
 * idle. The rate of a lone client would then grow so fast that the held data leaves within a second
 * (CA-NFS §4.3). So held data leaves as evenly as it came, assuming that as much new data arrives.
 * It leaves within as much time as the spell lasted, or within the time until the kernel would send
 * it, if that is shorter.
 *
 *	held |      .'`.           spell: less than 0.7 of the taper is left, for at least 4 s; pauses of
 *	     |    .'    `.         up to 0.5 s do not end it. High prices that a herd causes by itself
 *	   0 |__.'________`.___    last less long. If the bound applied to each of many clients all the
 *	       high   | cheap      time, the server would be left idle (doc/herd.md).
 *
 * The rate may have sunk to almost nothing during a spell. Once the server is cheap, or the data is
 * old, the rate is at least three quarters of the even rate. While memory is scarce, the even rate
 * is no upper bound.
 *
 * Prices lag. A server takes data into its memory at once, and becomes expensive only when its disk
 * must write the data. So nothing is sent while more is in flight (sent, not yet committed) than the
 * rate sends in CANFS_PACE_WINDOW_USEC, and than CANFS_PACE_WINDOW_MIN_BYTES. A slow COMMIT closes
 * this window even if the price does not rise. The rate shrinks while the window is closed.
 *
 * After a spell, credit for one batch, and no more, is earned while the window is closed. If it were
 * earned only afterwards, a server that takes 0.25 s for a batch would get half the rate. Held data
 * would remain when the server's readers return. Without a spell, no credit is earned while the
 * window is closed, because it would make the backlog of a herd of 64 clients a quarter larger.
 *
 * If the speed of the client's own network is known, the rate does not grow above it. An idle
 * server would let the rate grow to many times that speed. The rate would then have to shrink for
 * many seconds before the link has a gap. While the data can wait, a part of the link is left
 * free, because the demand of others shows only there (own_network.h).
 *
 * A client whose headroom will be used up within a second sends at least as fast as applications
 * write, as far as the window allows. It should not stop a writer that the kernel alone would let
 * continue. (With a window of a second, such a client would send more when COMMITs are slow, but
 * two such clients would have nearly twice the backlog.)
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
#define CANFS_PACE_STOPPED_BYTES_PER_SEC (64 << 10) /* slower writers count as stopped */
#define CANFS_PACE_MIN_BYTES_PER_SEC                                                               \
	4096.0 /* with 10,000 clients, the share of each is below 10 kB/s */
#define CANFS_PACE_START_BYTES_PER_SEC (12.0 * (1 << 20))
#define CANFS_PACE_MAX_BYTES_PER_SEC   (256.0 * (1 << 20))
#define CANFS_PACE_BLIND_BYTES_PER_SEC (32.0 * (1 << 20)) /* any server's disk sustains this */

/* In prices: the lowest bid, and how far above the bid nothing is sent. */
#define CANFS_PACE_BID_MIN 0.18
#define CANFS_PACE_TAPER   0.80

/*
 * Age of unsent data at which its price is 1. Well below the kernel's 30 s, because of the queue.
 */
#define CANFS_PACE_DEADLINE_USEC 20000000
#define CANFS_PACE_DEADLINE_K    6.0

/* A spell of high prices, and the maximum age of data that was held back in a spell. */
#define CANFS_PACE_EXPENSIVE_SHARE 0.7 /* of the taper; in a spell less is left */
#define CANFS_PACE_SPELL_USEC      4000000
#define CANFS_PACE_GONE_USEC       29000000

/* Share of the link's speed that is used while nothing is urgent. */
#define CANFS_PACE_NETWORK_SHARE 0.8

#define CANFS_PACE_WINDOW_USEC      150000
#define CANFS_PACE_WINDOW_MIN_BYTES (4 << 20) /* keeps a server with slow COMMITs busy */

/* At most this much is sent at once, however late the caller is. */
#define CANFS_PACE_BURST_MAX_BYTES (32 << 20)

struct canfs_pace {
	double rate_bytes_per_sec; /* [MIN, MAX]: our share, as far as it is known */
	double credit_bytes;       /* earned and not yet sent */
	uint64_t since_halved_usec;
	double expensive_sec;      /* length of the present spell, without pauses ... */
	double cheap_sec;          /* ... and of the cheap time at its end */
	double even_bytes_per_sec; /* bound of the rate after a spell; 0: none */
	double even_sec;           /* remaining time of that bound */
	bool borne;                /* the price was within the taper since the last halving */
	bool gathering;            /* too little data for a COMMIT so far */
};

/* The input of one step. */
struct canfs_pace_view {
	double own_price;             /* of the memory that is held */
	double server_price;          /* the higher of the server's and the client's link's */
	double network_bytes_per_sec; /* speed of the client's link; 0: not known */
	uint64_t held_usec;           /* how long the kernel has had dirty data */
	uint64_t held_bytes;          /* not yet sent */
	uint64_t headroom_bytes;      /* until no more may be held */
	double fill_bytes_per_sec;    /* what applications write */
	uint64_t in_flight_bytes;     /* sent, not yet committed */
	uint64_t elapsed_usec;        /* since the last step, even if nothing was held in between */
};

void canfs_pace_init(struct canfs_pace *pace);

/*
 * Call this while data is held. Returns the bytes to send now: a multiple of
 * CANFS_PACE_CHUNK_BYTES, 0 ... CANFS_PACE_BURST_MAX_BYTES.
 */
uint64_t canfs_pace_step(struct canfs_pace *pace, const struct canfs_pace_view *view);

/*
 * For use without a price: sets the rate to CANFS_PACE_BLIND_BYTES_PER_SEC. Returns the bytes to
 * send now, as canfs_pace_step() does.
 */
uint64_t canfs_pace_blind(struct canfs_pace *pace, uint64_t in_flight_bytes, uint64_t elapsed_usec);

#endif
