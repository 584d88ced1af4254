/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "client-agent/under_way.h"
#include "client-agent/arithmetic.h"

/* With less than this the system counts as quiet. */
static const uint64_t quiet_bytes = 1 << 20;

/* What was sent and never begun: from this part of what is sent on, pages are not counted one by one. */
static const uint64_t uncounted_part = 4, uncounted_min_bytes = 64 << 20;

/* As far back, and not much further, that is looked at. */
static const uint64_t counted_bytes = 1 << 30;

static void note_commits(
	struct canfs_under_way *under_way, const struct canfs_op_stats *commit, uint64_t now_usec)
{
	uint64_t done = canfs_growth(commit->ops, under_way->commit.ops);

	if (done) {
		under_way->round_trip_usec =
			canfs_growth(commit->rtt_msec, under_way->commit.rtt_msec) * 1000 / done;
		under_way->committed_usec[1] = under_way->committed_usec[0];
		under_way->committed_usec[0] = now_usec;
	}
	under_way->commit = *commit;
}

static void note_sent(struct canfs_under_way *under_way, uint64_t sent_bytes, uint64_t now_usec)
{
	size_t last = (under_way->samples - 1) % CANFS_UNDER_WAY_SAMPLES;

	under_way->sent_bytes = sent_bytes;
	if (under_way->samples &&
		now_usec - under_way->sample[last].usec < CANFS_UNDER_WAY_SAMPLE_USEC)
		return;
	last = under_way->samples++ % CANFS_UNDER_WAY_SAMPLES;
	under_way->sample[last].usec = now_usec;
	under_way->sample[last].sent_bytes = sent_bytes;
}

/* What had been sent by then, as far back as is remembered. */
static uint64_t sent_until(const struct canfs_under_way *under_way, uint64_t usec)
{
	size_t kept = canfs_smaller(under_way->samples, CANFS_UNDER_WAY_SAMPLES);
	size_t at = 0;

	for (size_t i = 1; i <= kept; i++) {
		at = (under_way->samples - i) % CANFS_UNDER_WAY_SAMPLES;
		if (under_way->sample[at].usec <= usec)
			break;
	}
	return under_way->sample[at].sent_bytes;
}

static uint64_t committed_until_usec(const struct canfs_under_way *under_way, uint64_t now_usec)
{
	uint64_t turns_usec = 2 * under_way->round_trip_usec;
	uint64_t in_turn =
		canfs_smaller(under_way->committed_usec[1], canfs_growth(now_usec, turns_usec));
	uint64_t at_rest = canfs_smaller(under_way->committed_usec[0],
		canfs_growth(now_usec, turns_usec + CANFS_UNDER_WAY_REST_USEC));

	return canfs_larger(in_turn, at_rest);
}

/* How far begun bytes are ahead with nothing on its way. The last page of a file is begun as a whole, and sent as what
 * is in it, so that it rises. What was on its way when we came, and what is sent twice, lets it sink, too. */
static void note_lead(struct canfs_under_way *under_way, int64_t lead, uint64_t writeback_bytes)
{
	if (lead < under_way->lead_bytes)
		under_way->uncounted_bytes += (uint64_t)(under_way->lead_bytes - lead);
	if (lead < under_way->lead_bytes || writeback_bytes < quiet_bytes)
		under_way->lead_bytes = lead;
	if (under_way->counted_bytes >= counted_bytes) {
		under_way->counted_bytes /= 2;
		under_way->uncounted_bytes /= 2;
	}
}

/* Does the kernel count the pages whose sending begins, and not the folios? */
static bool counts_pages(const struct canfs_under_way *under_way)
{
	return under_way->uncounted_bytes < uncounted_min_bytes ||
	       under_way->uncounted_bytes < under_way->counted_bytes / uncounted_part;
}

uint64_t canfs_under_way_update(struct canfs_under_way *under_way,
	const struct canfs_mountstats *stats, uint64_t writeback_bytes, uint64_t now_usec)
{
	/* Direct writes are no Writeback. */
	uint64_t sent = canfs_growth(stats->server_write_bytes, stats->direct_write_bytes);
	int64_t lead = (int64_t)(stats->begun_write_bytes - sent);
	uint64_t not_answered, not_committed;

	if (!under_way->primed || sent < under_way->sent_bytes)
		*under_way = (struct canfs_under_way) {
			.primed = true, .lead_bytes = lead, .commit = stats->commit
		};
	under_way->counted_bytes += under_way->samples ? sent - under_way->sent_bytes : 0;
	note_lead(under_way, lead, writeback_bytes);
	note_commits(under_way, &stats->commit, now_usec);
	note_sent(under_way, sent, now_usec);
	if (!counts_pages(under_way))
		return writeback_bytes;
	not_answered = (uint64_t)(lead - under_way->lead_bytes);
	not_committed = sent - sent_until(under_way, committed_until_usec(under_way, now_usec));
	return canfs_smaller(not_answered + not_committed, writeback_bytes);
}
