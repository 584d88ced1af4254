// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/prefetch/streams.h"

#include <errno.h>

#include "server/monitors/source.h"

void canfs_streams_init(struct canfs_streams *streams, bool spins, uint64_t takes)
{
	*streams = (struct canfs_streams) { .spins = spins, .takes = takes };
	atomic_init(&streams->turn, 2);
}

bool canfs_streams_wants_in_flight(const struct canfs_streams *streams)
{
	return streams->spins && streams->takes == 0;
}

static bool is_too_many(const struct canfs_streams *streams, uint64_t count)
{
	return count > 1 && count * CANFS_STREAMS_COMMANDS > streams->takes;
}

bool canfs_streams_step(struct canfs_streams *streams, uint64_t in_flight, double elapsed_sec)
{
	uint64_t count;

	if (streams->takes == 0 && in_flight >= CANFS_STREAMS_MORE)
		streams->takes = CANFS_STREAMS_SATA;
	streams->turn_sec += elapsed_sec;
	if (streams->spins && streams->takes != 0 &&
		is_too_many(streams, atomic_load(&streams->count)))
		atomic_store(&streams->ours, true);
	if (!streams->spins || streams->turn_sec < CANFS_STREAMS_TURN_SEC)
		return canfs_streams_are_ours(streams);
	streams->turn_sec = 0;
	count = atomic_exchange(&streams->count, 0);
	atomic_fetch_add(&streams->turn, 1);
	atomic_store(&streams->ours, is_too_many(streams, count));
	return canfs_streams_are_ours(streams);
}

int canfs_parse_in_flight(const char *text, uint64_t *in_flight)
{
	uint64_t sum = 0, field;

	for (int i = 0; i < 2; i++) {
		if (!canfs_parse_number(&text, &field))
			return -EPROTO;
		sum += field;
	}
	*in_flight = sum;
	return 0;
}
