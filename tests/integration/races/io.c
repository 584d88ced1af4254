// SPDX-License-Identifier: LGPL-3.0-or-later
/* Reads, writes and truncates: which, in what order, and whether the answers may be so. */
#include "tests/integration/races/races.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRUNCATE_ONE_IN 10 /* of the runs of a writer */

/* Where the operations of a run go, in units of their size. */
struct order {
	const char *name;
	int64_t step; /* 0: anywhere */
};

static const struct order orders[] = {
	{ "forward", 1 },
	{ "backward", -1 },
	{ "strided", 4 },
	{ "random", 0 },
	{ "forward", 1 },
};

#define ORDERS (sizeof(orders) / sizeof(orders[0]))

/* What the lanes of a client do: each its own. */
static const struct habit {
	enum op_kind kind;
	uint64_t blocks_max; /* of an operation; NFSv4 writes one */
	uint64_t run_max;
} habits[LANES] = {
	{ READ, OP_BLOCKS, 64 },
	{ READ, 32, 64 },
	{ READ, 32, 32 },
	{ READ, 16, 32 },
	{ READ, 2, 16 },
	{ WRITE, WRITE_BLOCKS, 16 },
	{ WRITE, 8, 4 },
	{ WRITE, 1, 2 },
};

/* A word tells what wrote it, and where it belongs: id 16 bits, block 14, number 26, index 8. */
static uint64_t word_of(
	const struct shared_file *file, uint64_t block, uint32_t number, uint64_t index)
{
	return (uint64_t)file->id << 48 | block << 34 | (uint64_t)number << 8 | index;
}

static uint32_t number_in(uint64_t word)
{
	return word >> 8 & ((1 << 26) - 1);
}

void races_fill(const struct shared_file *file, uint64_t first, uint64_t count, uint32_t number,
	uint64_t *words)
{
	for (uint64_t i = 0; i < count * BLOCK_WORDS; i++)
		words[i] = word_of(file, first + i / BLOCK_WORDS, number, i % BLOCK_WORDS);
}

static bool wrong(struct races *races, const struct shared_file *file, uint64_t block,
	uint64_t index, uint64_t word, const char *what)
{
	const struct past *past = &file->pasts[block];

	races_warn(races,
		"%s (file %u), block %llu, word %llu: %s: %016llx: file %llu block %llu number %u",
		file->name, file->id, (unsigned long long)block, (unsigned long long)index, what,
		(unsigned long long)word, (unsigned long long)(word >> 48),
		(unsigned long long)(word >> 34 & (BLOCKS * 4 - 1)), number_in(word));
	for (unsigned int i = 0; i < past->count; i++)
		fprintf(stderr, "  %s %u of %llu to %lld%s\n",
			past->changes[i].value != 0 ? "write" : "nothing", past->changes[i].number,
			(unsigned long long)past->changes[i].begin, (long long)past->changes[i].end,
			past->changes[i].sure ? "" : " (maybe)");
	return false;
}

static bool check_block(struct races *races, struct shared_file *file, uint64_t block,
	uint64_t begin, const uint64_t *words)
{
	struct past *past = &file->pasts[block];
	uint32_t last = UINT32_MAX;
	bool all_the_same = true;

	for (uint64_t i = 0; i < BLOCK_WORDS; i++) {
		uint32_t number = words[i] != 0 ? number_in(words[i]) : 0;

		if (words[i] != 0 && words[i] != word_of(file, block, number, i))
			return wrong(races, file, block, i, words[i], "does not belong here");
		all_the_same &= i == 0 || number == last;
		if (number != last && !past_allows(past, number, begin)) {
			fprintf(stderr, "read from %llu to %llu\n", (unsigned long long)begin,
				(unsigned long long)races->now);
			return wrong(races, file, block, i, words[i], "is not what it may be");
		}
		last = number;
	}
	if (all_the_same)
		past_seen(past, last, races->now);
	return true;
}

bool races_check(struct races *races, struct shared_file *file, uint64_t first, uint64_t count,
	uint64_t begin, const void *data, uint64_t bytes)
{
	uint64_t words[BLOCK_WORDS];

	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = i * BLOCK_BYTES;
		uint64_t there = at >= bytes                ? 0
				 : bytes - at < BLOCK_BYTES ? bytes - at
							    : BLOCK_BYTES;

		memset(words, 0, sizeof(words));
		if (there > 0)
			memcpy(words, (const char *)data + at, there);
		if (!check_block(races, file, first + i, begin, words))
			return false;
	}
	return true;
}

uint64_t races_oldest_read(const struct races *races, const struct shared_file *file)
{
	uint64_t oldest = races->now;

	for (const struct op *op = races->ops; op; op = op->next) {
		if (op->file == file && op->kind == READ && op->begin < oldest)
			oldest = op->begin;
	}
	return oldest;
}

static void let_go(struct lane *lane)
{
	lane->file->users[lane->client->number]--;
	lane->file = NULL;
	lane->run = 0;
}

/* A run of what this lane does, on any of the files. */
static void choose_run(struct races *races, struct lane *lane)
{
	const struct habit *habit = lane->habit;
	uint64_t blocks_max =
		habit->kind == WRITE && lane->client->version == 4 ? 1 : habit->blocks_max;

	lane->file = races->slots[races_random(&lane->chance, SLOTS)];
	lane->file->users[lane->client->number]++;
	lane->order = &orders[races_random(&lane->chance, ORDERS)];
	lane->blocks = 1 + races_random(&lane->chance, blocks_max);
	lane->run = 1 + races_random(&lane->chance, habit->run_max);
	lane->at = races_random(&lane->chance, BLOCKS);
}

static struct op *choose(struct races *races, struct lane *lane)
{
	struct op *op = calloc(1, sizeof(*op));

	if (!op)
		abort();
	if (lane->run == 0) {
		choose_run(races, lane);
		if (lane->habit->kind == WRITE &&
			races_random(&lane->chance, TRUNCATE_ONE_IN) == 0) {
			op->kind = TRUNCATE;
			lane->run = 1;
		}
	}
	if (op->kind != TRUNCATE)
		op->kind = lane->habit->kind;
	op->lane = lane;
	op->file = lane->file;
	op->first = lane->at;
	op->count = op->kind == TRUNCATE || BLOCKS - lane->at < lane->blocks ? BLOCKS - lane->at
									     : lane->blocks;
	lane->at = lane->order->step == 0
			   ? races_random(&lane->chance, BLOCKS)
			   : (lane->at + BLOCKS +
				     (uint64_t)(lane->order->step * (int64_t)lane->blocks)) %
				     BLOCKS;
	lane->run--;
	lane->left--;
	return op;
}

/* The change is in the past of all its blocks, or of none: some have no room. */
static bool begin_change(struct races *races, struct op *op)
{
	uint64_t oldest = races_oldest_read(races, op->file);

	for (uint64_t i = 0; i < op->count; i++) {
		if (!past_has_room(&op->file->pasts[op->first + i], oldest))
			return false;
	}
	op->number = ++op->file->changes;
	for (uint64_t i = 0; i < op->count; i++)
		past_begins(&op->file->pasts[op->first + i], op->number,
			op->kind == WRITE ? op->number : 0, op->begin);
	return true;
}

static void unlink_op(struct races *races, struct op *op)
{
	struct op **at = &races->ops;

	while (*at != op)
		at = &(*at)->next;
	*at = op->next;
}

static bool judge(struct op *op, int status, const void *data, struct nfs_context *nfs)
{
	static const char *const names[OP_KINDS] = { "read", "write", "truncate" };
	struct races *races = op->lane->client->races;
	bool good = status == (op->kind == WRITE ? (int)(op->count * BLOCK_BYTES) : 0) ||
		    (op->kind == READ && status > 0);

	if (op->kind != READ) {
		for (uint64_t i = 0; i < op->count; i++)
			past_ends(&op->file->pasts[op->first + i], op->number, good, races->now);
	}
	if (good) {
		races->done[op->kind]++;
		return op->kind != READ || races_check(races, op->file, op->first, op->count,
						   op->begin, data, (uint64_t)status);
	}
	if (op->may_fail || races->away) {
		races->away_errors++;
		op->lane->rests = races->away;
		return true;
	}
	/* libnfs 4 has one errno for all that goes wrong with a write. */
	if (op->file->doomed && strstr(nfs_get_error(nfs), "ERR_STALE")) {
		races->stale++;
		return true;
	}
	return races_warn(races,
		"client %u (NFSv%d): %s of %s (file %u%s), %llu blocks from %llu: %d (%s) %s",
		op->lane->client->number, op->lane->client->version, names[op->kind],
		op->file->name, op->file->id, op->file->doomed ? ", doomed" : "",
		(unsigned long long)op->count, (unsigned long long)op->first, status,
		strerror(status < 0 ? -status : 0), status < 0 ? nfs_get_error(nfs) : "");
}

static void answered(int status, struct nfs_context *nfs, void *data, void *private_data)
{
	struct op *op = private_data;
	struct lane *lane = op->lane;
	struct races *races = lane->client->races;

	races->now++;
	judge(op, status, data, nfs);
	unlink_op(races, op);
	lane->op = NULL;
	if (lane->run == 0)
		let_go(lane);
	free(op->words);
	free(op);
}

static void send(struct races *races, struct op *op)
{
	struct nfs_context *nfs = op->lane->client->nfs;
	struct nfsfh *handle = op->file->handles[op->lane->client->number];
	uint64_t offset = op->first * BLOCK_BYTES, bytes = op->count * BLOCK_BYTES;
	int ret;

	op->asked = true;
	op->may_fail = races->away;
	op->next = races->ops;
	races->ops = op;
	if (op->kind == WRITE) {
		op->words = malloc(bytes);
		if (!op->words)
			abort();
		races_fill(op->file, op->first, op->count, op->number, op->words);
		ret = nfs_pwrite_async(nfs, handle, offset, bytes, op->words, answered, op);
	} else if (op->kind == READ) {
		ret = nfs_pread_async(nfs, handle, offset, bytes, answered, op);
	} else {
		ret = nfs_ftruncate_async(nfs, handle, offset, answered, op);
	}
	if (ret != 0)
		races_warn(races, "cannot ask: %s", nfs_get_error(nfs));
}

static void ask(struct races *races, struct lane *lane)
{
	if (!lane->op)
		lane->op = choose(races, lane);
	if (lane->op->asked)
		return;
	lane->op->begin = ++races->now;
	if (lane->op->kind == READ || begin_change(races, lane->op))
		send(races, lane->op);
}

void races_ask(struct races *races)
{
	for (int i = 0; i < CLIENTS * LANES; i++) {
		struct lane *lane = &races->lanes[i];

		if (!lane->habit)
			lane->habit = &habits[i % LANES];
		if (!races->quiet && !races->failed && !(races->away && lane->rests) &&
			(lane->left > 0 || lane->op))
			ask(races, lane);
	}
}
