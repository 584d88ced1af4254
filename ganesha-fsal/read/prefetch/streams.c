// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/streams.h"

#include <errno.h>

#include "server/monitors/source.h"

void canfs_streams_init(struct canfs_streams *streams, bool spins)
{
	*streams = (struct canfs_streams) { .spins = spins };
	atomic_init(&streams->turn, 2);
}

bool canfs_streams_wants_reads(const struct canfs_streams *streams, double elapsed_sec)
{
	return streams->spins && streams->turn_sec + elapsed_sec >= CANFS_STREAMS_TURN_SEC;
}

/*
 * Returns what the disk did in between. All zero if `before` is unknown, or if a counter ran
 * backwards because the device was replaced.
 */
static struct canfs_disk_reads difference(
	const struct canfs_disk_reads *before, const struct canfs_disk_reads *now)
{
	if (before->reads == 0 || now->reads < before->reads || now->bytes < before->bytes ||
		now->wait_msec < before->wait_msec || now->writes < before->writes)
		return (struct canfs_disk_reads) { 0 };
	return (struct canfs_disk_reads) { now->reads - before->reads, now->bytes - before->bytes,
		now->wait_msec - before->wait_msec, now->writes - before->writes };
}

static bool is_slow(const struct canfs_disk_reads *did, double sec)
{
	return (double)did->wait_msec >= CANFS_STREAMS_DEPTH * sec * 1e3 &&
	       (double)did->bytes < CANFS_STREAMS_SLOW * sec;
}

static void end_turn(struct canfs_streams *streams, const struct canfs_disk_reads *now)
{
	const struct canfs_disk_reads did =
		now ? difference(&streams->before, now) : (struct canfs_disk_reads) { 0 };
	double others = (double)(atomic_exchange(&streams->others, 0) + did.writes);
	bool alone = others < CANFS_STREAMS_OTHERS * streams->turn_sec;
	unsigned int count = atomic_exchange(&streams->count, 0);
	bool several = count > 1;
	bool slow = alone && is_slow(&did, streams->turn_sec);
	bool loses = slow && streams->slow;

	streams->slow = slow;
	atomic_store(
		&streams->ours, several && alone && (loses || canfs_streams_are_ours(streams)));
	atomic_store(&streams->active, count);
	streams->before = now ? *now : (struct canfs_disk_reads) { 0 };
	streams->turn_sec = 0;
	atomic_fetch_add(&streams->turn, 1);
}

bool canfs_streams_step(
	struct canfs_streams *streams, const struct canfs_disk_reads *now, double elapsed_sec)
{
	streams->turn_sec += elapsed_sec;
	if (streams->spins && streams->turn_sec >= CANFS_STREAMS_TURN_SEC)
		end_turn(streams, now);
	return canfs_streams_are_ours(streams);
}

int canfs_parse_disk_reads(const char *text, struct canfs_disk_reads *reads)
{
	struct canfs_disk_reads parsed;
	uint64_t merged, sectors;

	if (!canfs_parse_count(&text, &parsed.reads) || !canfs_parse_count(&text, &merged) ||
		!canfs_parse_count(&text, &sectors) ||
		!canfs_parse_count(&text, &parsed.wait_msec) ||
		!canfs_parse_count(&text, &parsed.writes) ||
		__builtin_mul_overflow(sectors, CANFS_SECTOR_BYTES, &parsed.bytes))
		return -EPROTO;
	*reads = parsed;
	return 0;
}
