// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/auction/in_flight.h"
#include "client-agent/auction/arithmetic.h"

/* With less Writeback than this, nothing counts as in flight. */
static const uint64_t quiet_bytes = 1 << 20;

/*
 * If this part of the sent bytes, and at least this many bytes, were never begun, the kernel does
 * not count single pages.
 */
static const uint64_t uncounted_part = 4, uncounted_min_bytes = 64 << 20;

/*
 * Bound of the mean round trip. A sum of times that was unreadable before jumps by its whole
 * history.
 */
static const uint64_t round_trip_max_msec = 600000;

/* Both counts are halved when this much was sent, so that older data matters less. */
static const uint64_t counted_bytes = 1 << 30;

static void note_commits(
	struct canfs_in_flight *in_flight, const struct canfs_op_stats *commit, uint64_t now_usec)
{
	uint64_t done = canfs_growth(commit->ops, in_flight->commit.ops);

	if (done) {
		uint64_t msec = canfs_growth(commit->rtt_msec, in_flight->commit.rtt_msec);

		in_flight->round_trip_usec =
			canfs_smaller(msec, done * round_trip_max_msec) * 1000 / done;
		in_flight->committed_usec[1] = in_flight->committed_usec[0];
		in_flight->committed_usec[0] = now_usec;
	}
	in_flight->commit = *commit;
}

static void note_sent(struct canfs_in_flight *in_flight, uint64_t sent_bytes, uint64_t now_usec)
{
	size_t last = (in_flight->samples - 1) % CANFS_IN_FLIGHT_SAMPLES;

	in_flight->sent_bytes = sent_bytes;
	if (in_flight->samples &&
		now_usec - in_flight->sample[last].usec < CANFS_IN_FLIGHT_SAMPLE_USEC)
		return;
	last = in_flight->samples++ % CANFS_IN_FLIGHT_SAMPLES;
	in_flight->sample[last].usec = now_usec;
	in_flight->sample[last].sent_bytes = sent_bytes;
}

/* Returns what had been sent by then, as far back as the samples go. */
static uint64_t sent_until(const struct canfs_in_flight *in_flight, uint64_t usec)
{
	size_t kept = canfs_smaller(in_flight->samples, CANFS_IN_FLIGHT_SAMPLES);
	size_t at = 0;

	for (size_t i = 1; i <= kept; i++) {
		at = (in_flight->samples - i) % CANFS_IN_FLIGHT_SAMPLES;
		if (in_flight->sample[at].usec <= usec)
			break;
	}
	return in_flight->sample[at].sent_bytes;
}

static uint64_t committed_until_usec(const struct canfs_in_flight *in_flight, uint64_t now_usec)
{
	uint64_t turns_usec = 2 * in_flight->round_trip_usec;
	uint64_t in_turn =
		canfs_smaller(in_flight->committed_usec[1], canfs_growth(now_usec, turns_usec));
	uint64_t at_rest = canfs_smaller(in_flight->committed_usec[0],
		canfs_growth(now_usec, turns_usec + CANFS_IN_FLIGHT_REST_USEC));

	return canfs_larger(in_turn, at_rest);
}

/*
 * Notes how far begun bytes exceed sent bytes with nothing in flight. The last page of a file is
 * begun as a whole page, but only its data is sent, so the lead rises. The lead also sinks, by data
 * that was in flight at our first sample and by data that is sent twice.
 */
static void note_lead(struct canfs_in_flight *in_flight, int64_t lead, uint64_t writeback_bytes)
{
	if (lead < in_flight->lead_bytes)
		in_flight->uncounted_bytes += (uint64_t)(in_flight->lead_bytes - lead);
	if (lead < in_flight->lead_bytes || writeback_bytes < quiet_bytes)
		in_flight->lead_bytes = lead;
	if (in_flight->counted_bytes >= counted_bytes) {
		in_flight->counted_bytes /= 2;
		in_flight->uncounted_bytes /= 2;
	}
}

/* Returns true if the kernel counts pages whose sending begins, not folios. */
static bool counts_pages(const struct canfs_in_flight *in_flight)
{
	return in_flight->uncounted_bytes < uncounted_min_bytes ||
	       in_flight->uncounted_bytes < in_flight->counted_bytes / uncounted_part;
}

uint64_t canfs_in_flight_update(struct canfs_in_flight *in_flight,
	const struct canfs_mountstats *stats, uint64_t writeback_bytes, uint64_t now_usec)
{
	/* Direct writes are not in Writeback. */
	uint64_t sent = canfs_growth(stats->server_write_bytes, stats->direct_write_bytes);
	int64_t lead = (int64_t)(stats->begun_write_bytes - sent);
	uint64_t not_answered, not_committed;

	if (!in_flight->primed || sent < in_flight->sent_bytes)
		*in_flight = (struct canfs_in_flight) {
			.primed = true, .lead_bytes = lead, .commit = stats->commit
		};
	in_flight->counted_bytes += in_flight->samples ? sent - in_flight->sent_bytes : 0;
	note_lead(in_flight, lead, writeback_bytes);
	note_commits(in_flight, &stats->commit, now_usec);
	note_sent(in_flight, sent, now_usec);
	if (!counts_pages(in_flight))
		return writeback_bytes;
	not_answered = (uint64_t)(lead - in_flight->lead_bytes);
	not_committed = sent - sent_until(in_flight, committed_until_usec(in_flight, now_usec));
	return canfs_smaller(not_answered + not_committed, writeback_bytes);
}
