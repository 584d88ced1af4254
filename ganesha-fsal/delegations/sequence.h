/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which sequence number a client expects next in a slot (RFC 8881 §2.10.6.1), once the server has lost track of it. Pure.
 *
 * A refused call takes the server's number up by one. So it is enough to begin low: at the last call that the client is known to have
 * answered. The numbers then rise to the one that it expects, from which on it answers all.
 *
 *	answered                  expected               last call that was sent
 *	   |------- refused ------->|------- answered ------>|
 *
 * If it is not found up to there, the search begins again, lower by 1, 2, 4 ... each time.
 */
#ifndef CANFS_GANESHA_FSAL_SEQUENCE_H
#define CANFS_GANESHA_FSAL_SEQUENCE_H

#include <stdint.h>

#define CANFS_SEQUENCE_BACK 16 /* where to begin, if no answer is known: so many calls back */

/* All zero: nothing is known. */
struct canfs_sequence {
	uint32_t answered;         /* 0: not known */
	uint32_t begin, end, step; /* of the search; end 0: there is none */
};

/* The client has answered the call of this number, or a later one. Ends the search. */
void canfs_sequence_answered(struct canfs_sequence *sequence, uint32_t last);

/* Its calls are not answered; the last one was of this number. Returns which number to take for the last one. */
uint32_t canfs_sequence_search(struct canfs_sequence *sequence, uint32_t last);

#endif
