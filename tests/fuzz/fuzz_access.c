// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The table of active files: any reads of any files, with anything said of what was advised. What it advises must lie
 * within the file, and its accounts must add up. An input is a list of steps of 8 bytes:
 *
 *	what, file, 2 bytes: size, 4 bytes: where
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ganesha-fsal/read/prefetch/files.h"
#include "tests/fuzz/text.h"

#define STEP_BYTES 8

enum { READ_ON, READ_AT, READ_BACK, READ_FAR, READ_ANY, NOT_FETCHED, WAS_THERE, CHANGED, WHATS };

/* Where the last read of it went. */
struct place {
	uint64_t offset, bytes;
};

static void check(const struct canfs_advice *advice, size_t n, uint64_t file_bytes)
{
	FUZZ_CHECK(n <= CANFS_ADVICE_MAX);
	for (size_t i = 0; i < n; i++) {
		FUZZ_CHECK(advice[i].bytes > 0 && advice[i].offset < file_bytes);
		FUZZ_CHECK(advice[i].bytes <= file_bytes - advice[i].offset);
	}
}

static void step(struct canfs_files *files, const uint8_t *data, struct place *places,
	struct canfs_advice *last)
{
	static const uint64_t ends[] = { 1 << 20, (uint64_t)1 << 30, (uint64_t)1 << 61,
		UINT64_MAX };
	uint64_t file = data[1], file_bytes = ends[data[1] % 4], where;
	struct place *place = &places[file];
	struct canfs_advice advice[CANFS_ADVICE_MAX];
	unsigned int what = data[0] % WHATS;
	uint16_t size;
	uint32_t word;
	size_t n;

	memcpy(&size, data + 2, sizeof(size));
	memcpy(&word, data + 4, sizeof(word));
	where = (uint64_t)word << (data[0] / WHATS % 32);
	switch (what) {
	case NOT_FETCHED:
		canfs_files_not_fetched(files, file, last->cursor, last->offset, last->bytes);
		canfs_files_not_fetched(files, file, word, where, size);
		return;
	case WAS_THERE:
		canfs_files_was_there(files, file, last->cursor, where);
		return;
	case CHANGED:
		canfs_files_changed(files, file, where);
		return;
	case READ_AT:
		place->offset = where;
		break;
	case READ_ANY:
		place->offset = (uint64_t)word << 32 | size;
		break;
	case READ_BACK:
		place->offset -= (uint64_t)size * 16;
		break;
	case READ_FAR:
		place->offset += where;
		break;
	default:
		place->offset += place->bytes;
	}
	place->bytes = (uint64_t)size * 16;
	n = canfs_files_read(files, file, place->offset, (uint32_t)place->bytes, file_bytes,
		data[0] >= 0xf8 ? 0.3 : 1, false, advice, NULL);
	check(advice, n, file_bytes);
	if (n > 0)
		*last = advice[n - 1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Small, so that files and cursors give way. */
	const struct canfs_files_config config = { .files = 1 + size % 100,
		.cursors = size % 50,
		.unit_bytes = 1 << 20,
		.units_ahead = 2,
		.tolerance_max_bytes = 1 << 20 };
	struct place places[256] = { 0 };
	struct canfs_advice last = { 0 };
	struct canfs_files *files;
	struct canfs_files_stats stats;

	FUZZ_CHECK(canfs_files_new(&files, &config) == 0);
	for (size_t at = 0; at + STEP_BYTES <= size; at += STEP_BYTES)
		step(files, data + at, places, &last);
	stats = canfs_files_stats(files);
	FUZZ_CHECK(stats.used_bytes + stats.wasted_bytes <= stats.fetched_bytes);
	FUZZ_CHECK(stats.matched <= stats.reads && stats.files <= 150 && stats.cursors <= 200);
	canfs_files_free(files);
	return 0;
}
