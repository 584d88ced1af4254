// SPDX-License-Identifier: LGPL-3.0-or-later
#include "bench/jobs/order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/jobs/job.h"

#define NUMBER_MAX (1ul << 20)

/* Rearranges n blocks in ascending order. Returns how many of them to read. */
typedef uint64_t arrange_fn(uint64_t *block, uint64_t n, uint64_t number, uint64_t *random);

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t old = *a;

	*a = *b;
	*b = old;
}

static void shuffle(uint64_t *block, uint64_t n, uint64_t *random)
{
	for (uint64_t left = n; left > 1; left--)
		swap(&block[left - 1], &block[canfs_job_random(random) % left]);
}

static uint64_t sequential(uint64_t *block, uint64_t n, uint64_t number, uint64_t *random)
{
	(void)block;
	(void)number;
	(void)random;
	return n;
}

static uint64_t backwards(uint64_t *block, uint64_t n, uint64_t number, uint64_t *random)
{
	(void)number;
	(void)random;
	for (uint64_t i = 0; i < n / 2; i++)
		swap(&block[i], &block[n - 1 - i]);
	return n;
}

static uint64_t all_shuffled(uint64_t *block, uint64_t n, uint64_t number, uint64_t *random)
{
	(void)number;
	shuffle(block, n, random);
	return n;
}

/* Does not read the remainder of the file that is left after division into equal parts. */
static uint64_t stride(uint64_t *block, uint64_t n, uint64_t streams, uint64_t *random)
{
	uint64_t part = n / streams;

	(void)random;
	for (uint64_t i = 0; i < part * streams; i++)
		block[i] = i % streams * part + i / streams;
	return part * streams;
}

/*
 * A swap consumes two blocks, otherwise one block is consumed. If a swap has probability q, 2q of 1
 * + q blocks are out of order. For a share p of the blocks, q = p / (2 - p).
 */
static uint64_t swap_neighbours(uint64_t *block, uint64_t n, uint64_t percent, uint64_t *random)
{
	for (uint64_t i = 0; i + 1 < n; i++) {
		if (canfs_job_random(random) % (200 - percent) < percent) {
			swap(&block[i], &block[i + 1]);
			i++;
		}
	}
	return n;
}

static uint64_t shuffle_windows(uint64_t *block, uint64_t n, uint64_t window, uint64_t *random)
{
	for (uint64_t i = 0; i < n; i += window)
		shuffle(&block[i], n - i < window ? n - i : window, random);
	return n;
}

static uint64_t one_of(uint64_t *block, uint64_t n, uint64_t step, uint64_t *random)
{
	uint64_t count = 0;

	(void)random;
	for (uint64_t i = 0; i < n; i += step)
		block[count++] = i;
	return count;
}

static const struct {
	const char *name;
	unsigned long number_max; /* 0: the name has no number */
	arrange_fn *arrange;
} patterns[] = {
	{ "sequential", 0, sequential },
	{ "backwards", 0, backwards },
	{ "random", 0, all_shuffled },
	{ "stride-", NUMBER_MAX, stride },
	{ "swap-", 100, swap_neighbours },
	{ "shuffle-", NUMBER_MAX, shuffle_windows },
	{ "one-of-", NUMBER_MAX, one_of },
};

/* Parses the text after the name: empty, or a number in range. */
static bool take_number(const char *text, unsigned long max, uint64_t *number)
{
	char *end;

	if (max == 0)
		return *text == '\0';
	*number = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0' && *number >= 1 && *number <= max;
}

int canfs_order_make(const char *pattern, uint64_t blocks, uint64_t seed, struct canfs_order *order)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		size_t length = strlen(patterns[i].name);
		uint64_t number = 0, *block;

		if (strncmp(pattern, patterns[i].name, length) != 0 ||
			!take_number(pattern + length, patterns[i].number_max, &number))
			continue;
		block = malloc((blocks + 1) * sizeof(*block));
		if (!block)
			return -ENOMEM;
		for (uint64_t k = 0; k < blocks; k++)
			block[k] = k;
		*order = (struct canfs_order) { block,
			patterns[i].arrange(block, blocks, number, &seed) };
		return 0;
	}
	return -EINVAL;
}
