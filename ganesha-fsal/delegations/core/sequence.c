// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/core/sequence.h"

static uint32_t subtract(uint32_t from, uint32_t count)
{
	return from > count ? from - count : 0;
}

void canfs_sequence_answered(struct canfs_sequence *sequence, uint32_t last)
{
	*sequence = (struct canfs_sequence) { .answered = last };
}

uint32_t canfs_sequence_search(struct canfs_sequence *sequence, uint32_t last)
{
	if (sequence->end == 0) {
		sequence->begin = sequence->answered != 0 ? sequence->answered
							  : subtract(last, CANFS_SEQUENCE_BACK);
		sequence->step = 1;
	} else if (last <= sequence->end) {
		return last; /* the numbers still rise */
	} else {
		sequence->begin = subtract(sequence->begin, sequence->step);
		sequence->step *= 2;
	}
	sequence->end = last;
	return sequence->begin < last ? sequence->begin : last;
}
