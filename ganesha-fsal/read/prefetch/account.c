// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/prefetch/account.h"

/* 1/RISK_SHARE and 1/WASTE_SHARE of the bytes read in sequence. */
#define RISK_SHARE  6
#define WASTE_SHARE 20

/*
 * In multiples of the maximum distance of one cursor: the initial grants, and the most that good
 * conduct can save.
 */
#define RISK_GRANT  16
#define TRUST_GRANT 1
#define SAVED_MAX   256

#define RISK_PART                                                                                  \
	6 /* one cursor takes 1/RISK_PART of the remaining risk, so that all cursors get a share */
#define GRACE_PART 4 /* 1/GRACE_PART of a unit: waste that says nothing yet about a file */

#define WATCH_PROBES 2u
#define IDLE_READS   16u  /* of the shard, for each watched file; more: the file is idle */
#define IDLE_MAX     128u /* a bound, since all readers may have gone */
#define BATCH_BYTES  ((int64_t)1 << 20)

void canfs_account_open(struct canfs_files *files)
{
	files->risk = (int64_t)(RISK_GRANT * files->ahead_max_bytes);
	files->trust = (int64_t)(TRUST_GRANT * files->ahead_max_bytes);
}

static void add(_Atomic int64_t *account, int64_t bytes, int64_t most)
{
	int64_t sum = atomic_fetch_add_explicit(account, bytes, memory_order_relaxed) + bytes;

	if (sum > most)
		atomic_fetch_sub_explicit(account, sum - most, memory_order_relaxed);
}

/*
 * Books what the shard has gathered. Shards gather small amounts first, because all shards share
 * the accounts.
 */
static void book(struct canfs_files *files, struct canfs_shard *shard)
{
	int64_t most = (int64_t)(SAVED_MAX * files->ahead_max_bytes);

	add(&files->risk, shard->risk, most);
	add(&files->trust, shard->trust, most);
	shard->risk = shard->trust = 0;
}

void canfs_account_hit(
	struct canfs_shard *shard, struct canfs_file *file, struct canfs_cursor *cursor)
{
	if (!cursor->suspected)
		return;
	cursor->suspected = false;
	file->suspected_bytes -= cursor->outstanding;
	shard->trust += cursor->outstanding;
}

void canfs_account_followed(struct canfs_files *files, struct canfs_shard *shard,
	struct canfs_file *file, struct canfs_followed followed)
{
	file->sequential_bytes += followed.sequential;
	file->used_bytes += followed.used;
	file->wasted_bytes += followed.wasted;
	shard->stats.used_bytes += followed.used;
	shard->stats.wasted_bytes += followed.wasted;
	shard->risk += (int64_t)followed.used + followed.sequential / RISK_SHARE;
	shard->trust += (int64_t)(followed.sequential / WASTE_SHARE) - followed.wasted;
	if (shard->risk >= BATCH_BYTES || shard->trust <= -BATCH_BYTES)
		book(files, shard);
}

void canfs_account_suspect(
	struct canfs_shard *shard, struct canfs_file *file, struct canfs_cursor *cursor)
{
	if (cursor->suspected || cursor->outstanding == 0)
		return;
	cursor->suspected = true;
	file->suspected_bytes += cursor->outstanding;
	shard->trust -= cursor->outstanding;
}

void canfs_account_end(
	struct canfs_shard *shard, struct canfs_file *file, struct canfs_cursor *cursor)
{
	canfs_account_hit(shard, file, cursor);
	file->wasted_bytes += cursor->outstanding;
	shard->stats.wasted_bytes += cursor->outstanding;
	shard->trust -= cursor->outstanding;
	cursor->outstanding = 0;
	cursor->fetched_to = cursor->fetched_from = 0;
}

void canfs_account_fetched(struct canfs_files *files, struct canfs_shard *shard,
	struct canfs_file *file, uint32_t bytes)
{
	file->fetched_bytes += bytes;
	shard->stats.fetched_bytes += bytes;
	shard->risk -= bytes;
	book(files, shard);
}

static bool is_pending(const struct canfs_file *file)
{
	return file->fetched_bytes > file->used_bytes + file->wasted_bytes + file->suspected_bytes;
}

static void watch(struct canfs_shard *shard, struct canfs_file *file)
{
	uint32_t last = (shard->watched_first + shard->watched_files) % CANFS_WATCHED_MAX;

	if (file->watched || shard->watched_files == CANFS_WATCHED_MAX)
		return;
	shard->watched[last] = canfs_table_first(shard, file);
	shard->watched_files++;
	file->watched = true;
}

static struct canfs_file *unwatch_first(struct canfs_shard *shard)
{
	struct canfs_file *file = &shard->file[shard->watched[shard->watched_first]];

	shard->watched_first = (shard->watched_first + 1) % CANFS_WATCHED_MAX;
	shard->watched_files--;
	file->watched = false;
	return file;
}

void canfs_account_watch(struct canfs_shard *shard, struct canfs_file *file)
{
	for (unsigned int i = 0; i < WATCH_PROBES && shard->watched_files > 0; i++) {
		uint32_t idle = IDLE_READS * (shard->watched_files + 1);
		struct canfs_file *first = unwatch_first(shard);
		uint32_t n = canfs_table_first(shard, first);

		if (!is_pending(first))
			continue;
		if (shard->reads - first->stamp <= (idle < IDLE_MAX ? idle : IDLE_MAX)) {
			watch(shard, first);
			continue;
		}
		do {
			canfs_account_suspect(shard, first, canfs_table_cursor(shard, n));
			n = canfs_table_next(shard, n);
		} while (n != 0);
	}
	watch(shard, file);
}

void canfs_account_refund(struct canfs_shard *shard, struct canfs_file *file,
	const struct canfs_cursor *cursor, uint32_t bytes)
{
	file->fetched_bytes -= bytes;
	shard->stats.fetched_bytes -= bytes;
	shard->risk += bytes;
	if (cursor->suspected) {
		file->suspected_bytes -= bytes;
		shard->trust += bytes;
	}
}

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

uint64_t canfs_account_ahead(struct canfs_files *files, const struct canfs_file *file,
	const struct canfs_cursor *cursor, double scale)
{
	int64_t bad = (int64_t)(file->wasted_bytes + file->suspected_bytes);
	int64_t own = (int64_t)(file->sequential_bytes / WASTE_SHARE) - bad;
	int64_t pending = (int64_t)(file->fetched_bytes - file->used_bytes) - bad;
	int64_t grace = files->config.unit_bytes / GRACE_PART;
	int64_t risk = atomic_load_explicit(&files->risk, memory_order_relaxed) / RISK_PART;
	int64_t ahead =
		(int64_t)((double)canfs_cursor_ahead(cursor, files->ahead_max_bytes) * scale);

	if (bad > grace)
		ahead = own < 0 ? 0 : min(ahead, max(own, grace));
	if (atomic_load_explicit(&files->trust, memory_order_relaxed) < 0)
		risk = min(risk, own - pending);
	return (uint64_t)min(ahead, cursor->outstanding + max(risk, 0));
}
