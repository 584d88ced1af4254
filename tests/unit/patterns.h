/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Access patterns: reads in the order in which they reach a server. Deterministic. */
#ifndef CANFS_TESTS_PATTERNS_H
#define CANFS_TESTS_PATTERNS_H

#include <stdint.h>
#include <stdlib.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

struct pattern_read {
	uint64_t file, offset;
	uint32_t bytes;
};

struct pattern {
	size_t reads, capacity;
	struct pattern_read *read;
	uint64_t file_bytes; /* of each file */
	uint64_t random;     /* state of the generator */
};

/* SplitMix64. Returns a number in [0, below). */
static inline uint64_t pattern_random(struct pattern *pattern, uint64_t below)
{
	uint64_t x = pattern->random += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (x ^ x >> 31) % below;
}

static inline void pattern_add(
	struct pattern *pattern, uint64_t file, uint64_t offset, uint64_t bytes)
{
	if (pattern->reads == pattern->capacity) {
		pattern->capacity = pattern->capacity ? 2 * pattern->capacity : 1024;
		pattern->read =
			reallocarray(pattern->read, pattern->capacity, sizeof(*pattern->read));
		if (!pattern->read)
			abort();
	}
	pattern->read[pattern->reads++] = (struct pattern_read) { file, offset, (uint32_t)bytes };
}

static inline void pattern_free(struct pattern *pattern)
{
	free(pattern->read);
	*pattern = (struct pattern) { 0 };
}

/*
 * `streams` readers of one file, each at its own part, read in turn: Ellard & Seltzer, §7 and Table
 * 1.
 */
static inline void pattern_streams(struct pattern *pattern, uint64_t bytes, unsigned int streams)
{
	uint64_t part = pattern->file_bytes / streams;

	for (uint64_t offset = 0; offset + bytes <= part; offset += bytes) {
		for (unsigned int i = 0; i < streams; i++)
			pattern_add(pattern, 1, i * part + offset, bytes);
	}
}

/* Reads `bytes` bytes of every `step`. */
static inline void pattern_stride(struct pattern *pattern, uint64_t bytes, uint64_t step)
{
	for (uint64_t offset = 0; offset + bytes <= pattern->file_bytes; offset += step)
		pattern_add(pattern, 1, offset, bytes);
}

static inline void pattern_random_reads(struct pattern *pattern, uint64_t bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pattern_add(pattern, 1,
			pattern_random(pattern, pattern->file_bytes / bytes) * bytes, bytes);
}

static inline void pattern_exchange(struct pattern *pattern, size_t a, size_t b)
{
	struct pattern_read read = pattern->read[a];

	pattern->read[a] = pattern->read[b];
	pattern->read[b] = read;
}

static inline void pattern_reverse(struct pattern *pattern)
{
	for (size_t i = 0; i < pattern->reads / 2; i++)
		pattern_exchange(pattern, i, pattern->reads - 1 - i);
}

/* Repeats each read `times` times, one after the other. */
static inline void pattern_repeat(struct pattern *pattern, unsigned int times)
{
	struct pattern once = *pattern;

	if (times < 2)
		return;
	pattern->reads = pattern->capacity = 0;
	pattern->read = NULL;
	for (size_t i = 0; i < once.reads * times; i++)
		pattern_add(pattern, once.read[i / times].file, once.read[i / times].offset,
			once.read[i / times].bytes);
	free(once.read);
}

/* Exchanges pct per cent of the reads with the next read: Ellard & Seltzer, §6. */
static inline void pattern_swap(struct pattern *pattern, unsigned int pct)
{
	for (size_t i = 0; i + 1 < pattern->reads; i++) {
		if (pattern_random(pattern, 100) < pct) {
			pattern_exchange(pattern, i, i + 1);
			i++;
		}
	}
}

static inline void pattern_shuffle(struct pattern *pattern, size_t window)
{
	for (size_t begin = 0; begin < pattern->reads; begin += window) {
		size_t n = pattern->reads - begin < window ? pattern->reads - begin : window;

		for (size_t i = n; i > 1; i--)
			pattern_exchange(
				pattern, begin + i - 1, begin + pattern_random(pattern, i));
	}
}

/* `slots` reads are in flight at a time, and any of them arrives next. */
static inline void pattern_slots(struct pattern *pattern, size_t slots)
{
	for (size_t i = 0; i + 1 < pattern->reads; i++) {
		size_t n = pattern->reads - i < slots ? pattern->reads - i : slots;
		size_t next = i + pattern_random(pattern, n);
		struct pattern_read read = pattern->read[next];

		for (; next > i; next--)
			pattern->read[next] = pattern->read[next - 1];
		pattern->read[i] = read;
	}
}

#endif
