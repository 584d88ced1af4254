/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef CANFS_RACES_PAST_H
#define CANFS_RACES_PAST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What one block of a shared file may hold, while several clients change it at once through one server. NFS promises:
 *
 *   - what has been answered is so: a read that is sent after the answer of a write (or truncate) sees it, or what came later;
 *   - changes that overlap in time come in any order, and a read that overlaps one sees it or not, each word by itself;
 *   - what a read has seen all of has come: no later read sees what had been answered before that began.
 *
 *	     |--- W1 ---|      |--- W2 ---|
 *	                                     |-- read: W2 --|
 *	                  |-- read: W1 or W2 --|
 *
 * Time is a counter of the client's, that grows with each question and each answer.
 */
#define PAST_MAX 24

/* A value: 0 is nothing (a hole, or behind the end); else the number of a write. */
struct past_change {
	uint64_t begin, end; /* end: UINT64_MAX while it is in flight */
	uint32_t number;     /* of the write or truncate */
	uint32_t value;
	bool sure; /* it has happened; else maybe */
};

struct past {
	unsigned int count;
	struct past_change changes[PAST_MAX];
};

/* Nothing is there, since time 0. */
void past_init(struct past *past);

/* Is there room for one more? Forgets what no read can see that began at oldest_read or later. */
bool past_has_room(struct past *past, uint64_t oldest_read);

/* A change begins; there must be room for it. */
void past_begins(struct past *past, uint32_t number, uint32_t value, uint64_t now);

/* It is answered. sure: with success. An error says that it is over, not that it did nothing. */
void past_ends(struct past *past, uint32_t number, bool sure, uint64_t now);

/* May a read that began at begin see this value? */
bool past_allows(const struct past *past, uint32_t value, uint64_t begin);

/* A read that is answered now has found the whole block to be of this write. */
void past_seen(struct past *past, uint32_t value, uint64_t now);

#endif
