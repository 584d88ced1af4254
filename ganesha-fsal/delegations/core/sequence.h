/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Finds the sequence number that a client expects next in a slot (RFC 8881 §2.10.6.1), once the
 * server has lost track of it. Pure.
 *
 * Each refused call increments the server's number. So the search begins low, at the last call that
 * the client is known to have answered. The numbers then rise to the expected one. From that number
 * on, the client answers all calls.
 *
 *	answered                  expected               last call that was sent
 *	   |------- refused ------->|------- answered ------>|
 *
 * If the expected number is not found up to the last call, the search begins again, lower by 1, 2,
 * 4 ... each time.
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_SEQUENCE_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_SEQUENCE_H

#include <stdint.h>

#define CANFS_SEQUENCE_BACK 16 /* if no answer is known, begins this many calls back */

/* All zero: nothing is known. */
struct canfs_sequence {
	uint32_t answered;         /* 0: unknown */
	uint32_t begin, end, step; /* of the search; end 0: there is none */
};

/* The client has answered the call of this number, or a later one. Ends the search. */
void canfs_sequence_answered(struct canfs_sequence *sequence, uint32_t last);

/*
 * The client does not answer; `last` is the number of the last call. Returns the number to record
 * in its place.
 */
uint32_t canfs_sequence_search(struct canfs_sequence *sequence, uint32_t last);

#endif
