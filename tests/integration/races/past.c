// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/integration/races/past.h"

#include <assert.h>

void past_init(struct past *past)
{
	past->count = 1;
	past->changes[0] = (struct past_change) { .sure = true };
}

/* Has another change come after this one, for any read that began at begin? */
static bool is_over(const struct past *past, const struct past_change *change, uint64_t begin)
{
	for (unsigned int i = 0; i < past->count; i++) {
		const struct past_change *other = &past->changes[i];

		if (other->sure && other->begin > change->end && other->end < begin)
			return true;
	}
	return false;
}

bool past_has_room(struct past *past, uint64_t oldest_read)
{
	unsigned int kept = 0;
	bool over[PAST_MAX];

	/* All are looked at before any goes: one that goes may be the reason why another does. */
	for (unsigned int i = 0; i < past->count; i++)
		over[i] = is_over(past, &past->changes[i], oldest_read);
	for (unsigned int i = 0; i < past->count; i++) {
		if (!over[i])
			past->changes[kept++] = past->changes[i];
	}
	past->count = kept;
	return past->count < PAST_MAX;
}

void past_begins(struct past *past, uint32_t number, uint32_t value, uint64_t now)
{
	assert(past->count < PAST_MAX);
	past->changes[past->count++] = (struct past_change) {
		.begin = now, .end = UINT64_MAX, .number = number, .value = value
	};
}

void past_ends(struct past *past, uint32_t number, bool sure, uint64_t now)
{
	for (unsigned int i = 0; i < past->count; i++) {
		struct past_change *change = &past->changes[i];

		if (change->number != number)
			continue;
		change->sure |= sure;
		if (change->end > now)
			change->end = now;
	}
}

bool past_allows(const struct past *past, uint32_t value, uint64_t begin)
{
	for (unsigned int i = 0; i < past->count; i++) {
		const struct past_change *change = &past->changes[i];

		if (change->value == value && !is_over(past, change, begin))
			return true;
	}
	return false;
}

void past_seen(struct past *past, uint32_t value, uint64_t now)
{
	if (value != 0)
		past_ends(past, value, true, now);
}
