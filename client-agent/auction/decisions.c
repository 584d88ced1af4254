// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/auction/decisions.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

const struct canfs_bids canfs_no_bids = { NAN, NAN, NAN };

const struct canfs_decision *canfs_decisions_note(struct canfs_decisions *decisions,
	uint64_t at_usec, const char *what, const char *from, const char *to,
	struct canfs_bids bids, const char *format, ...)
{
	struct canfs_decision *decision =
		&decisions->decision[decisions->n++ % CANFS_DECISIONS_MAX];
	va_list args;

	decision->at_usec = at_usec;
	decision->bids = bids;
	snprintf(decision->what, sizeof(decision->what), "%s", what);
	snprintf(decision->from, sizeof(decision->from), "%s", from);
	snprintf(decision->to, sizeof(decision->to), "%s", to);
	va_start(args, format);
	vsnprintf(decision->reason, sizeof(decision->reason), format, args);
	va_end(args);
	return decision;
}

size_t canfs_decisions_count(const struct canfs_decisions *decisions)
{
	return decisions->n < CANFS_DECISIONS_MAX ? decisions->n : CANFS_DECISIONS_MAX;
}

const struct canfs_decision *canfs_decisions_at(const struct canfs_decisions *decisions, size_t i)
{
	if (i >= canfs_decisions_count(decisions))
		return NULL;
	return &decisions->decision[(decisions->n - 1 - i) % CANFS_DECISIONS_MAX];
}
