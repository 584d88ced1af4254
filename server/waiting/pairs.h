/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Seconds that one client waited for another, for the heaviest pairs of the last minute, in a table of fixed size: Space-Saving
 * (Metwally et al., ICDT 2005). A pair that is not in it takes the place of the one with the least standing and inherits that,
 * so that a crowd of small pairs cannot push out a heavy one; what is shown of it is only what it has had since. Standing
 * decays, so that yesterday's pairs give way.
 *
 *	pair: bully, victim | standing | second s-60 ... s-1, s: a row of seconds waited, by operation and by cause
 *
 * With at most CANFS_PAIRS_MAX pairs (16 clients that all load the server) all of it is exact. Pure: time is a parameter.
 */
#ifndef CANFS_SERVER_WAITING_PAIRS_H
#define CANFS_SERVER_WAITING_PAIRS_H

#include <netinet/in.h>
#include <stdint.h>
#include "server/waiting/shares.h"

#define CANFS_PAIRS_MAX     256
#define CANFS_PAIRS_SECONDS 60 /* whole ones, besides the one that is not over */

struct canfs_pair {
	struct in6_addr bully, victim;
	double standing;
	struct {
		float operation[CANFS_WAITING_OPERATIONS], cause[CANFS_WAIT_CAUSES];
	} second[CANFS_PAIRS_SECONDS + 1];
};

/* All zero at first. */
struct canfs_pairs {
	uint64_t now_sec;
	size_t count;
	uint32_t hash[CANFS_PAIRS_MAX];
	struct canfs_pair pair[CANFS_PAIRS_MAX];
};

/* The seconds before now_sec are over: to be called first in each second. It does not go back. */
void canfs_pairs_begin(struct canfs_pairs *pairs, uint64_t now_sec);

/* In the second that was begun last. */
void canfs_pairs_add(struct canfs_pairs *pairs, const struct in6_addr *bully,
	const struct in6_addr *victim, const struct canfs_waits *waits);

/* What was waited in so many whole seconds, 1 to CANFS_PAIRS_SECONDS. */
struct canfs_pair_row {
	struct in6_addr bully, victim; /* "::": of all that there are */
	double waited_sec;
	struct canfs_waits waits;
};

/* Of each pair that has waited, the longest first; returns how many. */
size_t canfs_pairs_list(const struct canfs_pairs *pairs, unsigned int seconds,
	struct canfs_pair_row rows[CANFS_PAIRS_MAX]);

/* Of such rows one for each bully, or victim, with the others of its pairs left open; the longest first. */
enum canfs_pair_side { CANFS_BULLY, CANFS_VICTIM };
size_t canfs_pairs_sum(const struct canfs_pair_row *rows, size_t count, enum canfs_pair_side side,
	struct canfs_pair_row sums[CANFS_PAIRS_MAX]);

#endif
