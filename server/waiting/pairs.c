// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/waiting/pairs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS (CANFS_PAIRS_SECONDS + 1)

void canfs_pairs_begin(struct canfs_pairs *pairs, uint64_t now_sec)
{
	uint64_t passed = now_sec > pairs->now_sec ? now_sec - pairs->now_sec : 0;
	double decay = exp(-(double)passed / CANFS_PAIRS_SECONDS);

	if (passed == 0)
		return;
	for (size_t i = 0; i < pairs->count; i++) {
		struct canfs_pair *pair = &pairs->pair[i];

		pair->standing *= decay;
		for (uint64_t n = 0; n < passed && n < COLUMNS; n++)
			memset(&pair->second[(now_sec - n) % COLUMNS], 0, sizeof(pair->second[0]));
	}
	pairs->now_sec = now_sec;
}

/* FNV-1a over both addresses. */
static uint32_t hash_of(const struct in6_addr *bully, const struct in6_addr *victim)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < sizeof(bully->s6_addr); i++) {
		hash = (hash ^ bully->s6_addr[i]) * 16777619u;
		hash = (hash ^ victim->s6_addr[i]) * 16777619u;
	}
	return hash;
}

static bool is_pair(
	const struct canfs_pair *pair, const struct in6_addr *bully, const struct in6_addr *victim)
{
	return IN6_ARE_ADDR_EQUAL(&pair->bully, bully) && IN6_ARE_ADDR_EQUAL(&pair->victim, victim);
}

static size_t least_standing(const struct canfs_pairs *pairs)
{
	size_t least = 0;

	for (size_t i = 1; i < pairs->count; i++) {
		if (pairs->pair[i].standing < pairs->pair[least].standing)
			least = i;
	}
	return least;
}

static struct canfs_pair *find_or_admit(
	struct canfs_pairs *pairs, const struct in6_addr *bully, const struct in6_addr *victim)
{
	uint32_t hash = hash_of(bully, victim);
	double standing = 0;
	size_t at;

	for (at = 0; at < pairs->count; at++) {
		if (pairs->hash[at] == hash && is_pair(&pairs->pair[at], bully, victim))
			return &pairs->pair[at];
	}
	if (pairs->count < CANFS_PAIRS_MAX) {
		pairs->count++;
	} else {
		at = least_standing(pairs);
		standing = pairs->pair[at].standing;
	}
	pairs->hash[at] = hash;
	pairs->pair[at] =
		(struct canfs_pair) { .bully = *bully, .victim = *victim, .standing = standing };
	return &pairs->pair[at];
}

void canfs_pairs_add(struct canfs_pairs *pairs, const struct in6_addr *bully,
	const struct in6_addr *victim, const struct canfs_waits *waits)
{
	struct canfs_pair *pair = find_or_admit(pairs, bully, victim);
	size_t column = pairs->now_sec % COLUMNS;

	for (int i = 0; i < CANFS_WAITING_OPERATIONS; i++) {
		pair->second[column].operation[i] += (float)waits->operation[i];
		pair->standing += waits->operation[i];
	}
	for (int i = 0; i < CANFS_WAIT_CAUSES; i++)
		pair->second[column].cause[i] += (float)waits->cause[i];
}

static void add_waits(struct canfs_pair_row *row, const struct canfs_waits *waits)
{
	for (int i = 0; i < CANFS_WAITING_OPERATIONS; i++) {
		row->waits.operation[i] += waits->operation[i];
		row->waited_sec += waits->operation[i];
	}
	for (int i = 0; i < CANFS_WAIT_CAUSES; i++)
		row->waits.cause[i] += waits->cause[i];
}

static struct canfs_waits waits_of(const struct canfs_pair *pair, size_t column)
{
	struct canfs_waits waits;

	for (int i = 0; i < CANFS_WAITING_OPERATIONS; i++)
		waits.operation[i] = (double)pair->second[column].operation[i];
	for (int i = 0; i < CANFS_WAIT_CAUSES; i++)
		waits.cause[i] = (double)pair->second[column].cause[i];
	return waits;
}

/* Sorts equal waits by address, so that the order is the same in each listing. */
static int by_waited(const void *a, const void *b)
{
	const struct canfs_pair_row *left = a, *right = b;
	int order;

	if (left->waited_sec != right->waited_sec)
		return left->waited_sec < right->waited_sec ? 1 : -1;
	order = memcmp(&left->bully, &right->bully, sizeof(left->bully));
	return order != 0 ? order : memcmp(&left->victim, &right->victim, sizeof(left->victim));
}

size_t canfs_pairs_list(const struct canfs_pairs *pairs, unsigned int seconds,
	struct canfs_pair_row rows[CANFS_PAIRS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < pairs->count; i++) {
		const struct canfs_pair *pair = &pairs->pair[i];
		struct canfs_pair_row row = { .bully = pair->bully, .victim = pair->victim };

		for (uint64_t n = 1; n <= seconds && n <= pairs->now_sec; n++) {
			struct canfs_waits waits = waits_of(pair, (pairs->now_sec - n) % COLUMNS);

			add_waits(&row, &waits);
		}
		if (row.waited_sec > 0)
			rows[count++] = row;
	}
	qsort(rows, count, sizeof(rows[0]), by_waited);
	return count;
}

static const struct in6_addr *side_of(const struct canfs_pair_row *row, enum canfs_pair_side side)
{
	return side == CANFS_BULLY ? &row->bully : &row->victim;
}

size_t canfs_pairs_sum(const struct canfs_pair_row *rows, size_t count, enum canfs_pair_side side,
	struct canfs_pair_row sums[CANFS_PAIRS_MAX])
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		const struct in6_addr *address = side_of(&rows[i], side);
		size_t at = 0;

		while (at < found && !IN6_ARE_ADDR_EQUAL(side_of(&sums[at], side), address))
			at++;
		if (at == found) {
			sums[found++] = (struct canfs_pair_row) { 0 };
			if (side == CANFS_BULLY)
				sums[at].bully = *address;
			else
				sums[at].victim = *address;
		}
		add_waits(&sums[at], &rows[i].waits);
	}
	qsort(sums, found, sizeof(sums[0]), by_waited);
	return found;
}
