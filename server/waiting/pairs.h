/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Seconds that one client waited for another, for the pairs with the longest waits of the last
 * minute. The table has a fixed size and uses Space-Saving (Metwally et al., ICDT 2005). A new pair
 * replaces the pair with the least standing and inherits that standing, so that many small pairs
 * cannot evict a heavy one. The seconds shown of a pair are only those since it entered the table.
 * Standing decays, so old pairs give way.
 *
 *	pair: bully, victim | standing | second s-60 ... s-1, s: a row of seconds waited, by operation and by cause
 *
 * With at most CANFS_PAIRS_MAX pairs (16 clients that all load the server) all numbers are exact.
 * Pure: time is a parameter.
 */
#ifndef CANFS_SERVER_WAITING_PAIRS_H
#define CANFS_SERVER_WAITING_PAIRS_H

#include <netinet/in.h>
#include <stdint.h>
#include "server/waiting/shares.h"

#define CANFS_PAIRS_MAX     256
#define CANFS_PAIRS_SECONDS 60 /* complete ones, in addition to the current one */

struct canfs_pair {
	struct in6_addr bully, victim;
	double standing;
	struct {
		float operation[CANFS_WAITING_OPERATIONS], cause[CANFS_WAIT_CAUSES];
	} second[CANFS_PAIRS_SECONDS + 1];
};

/* All zero: empty. */
struct canfs_pairs {
	uint64_t now_sec;
	size_t count;
	uint32_t hash[CANFS_PAIRS_MAX];
	struct canfs_pair pair[CANFS_PAIRS_MAX];
};

/* Ends all seconds before now_sec. Call this first in each second. now_sec never goes back. */
void canfs_pairs_begin(struct canfs_pairs *pairs, uint64_t now_sec);

/* Adds waits to the current second. */
void canfs_pairs_add(struct canfs_pairs *pairs, const struct in6_addr *bully,
	const struct in6_addr *victim, const struct canfs_waits *waits);

/* The waits of a pair in the last 1 ... CANFS_PAIRS_SECONDS complete seconds. */
struct canfs_pair_row {
	struct in6_addr bully, victim; /* "::": summed over all */
	double waited_sec;
	struct canfs_waits waits;
};

/* Lists each pair that has waited, the longest wait first. Returns the number of rows. */
size_t canfs_pairs_list(const struct canfs_pairs *pairs, unsigned int seconds,
	struct canfs_pair_row rows[CANFS_PAIRS_MAX]);

/*
 * Sums rows by bully or by victim. The other address of a sum is "::". The longest wait comes
 * first. Returns the number of sums.
 */
enum canfs_pair_side { CANFS_BULLY, CANFS_VICTIM };
size_t canfs_pairs_sum(const struct canfs_pair_row *rows, size_t count, enum canfs_pair_side side,
	struct canfs_pair_row sums[CANFS_PAIRS_MAX]);

#endif
