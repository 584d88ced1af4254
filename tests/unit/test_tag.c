// SPDX-License-Identifier: LGPL-3.0-or-later
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "protocol/tag.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LAST_BLOCK   (UINT64_MAX - 4095) /* the largest multiple of 4096 */
#define TAGGED_BITS  36
#define STEP         (1.0 / 255)
#define HALF_A_STEP  (STEP / 2 + 1e-12)

static const struct canfs_space plain = { 1000000000000, 600000000000, 500000000000 };

/* These stand in protocol/README.md too: another implementation is tested with them. */
static const struct {
	struct canfs_space counts;
	struct canfs_tag tag;
	struct canfs_space tagged;
} vectors[] = {
	{ { 4096, 4096, 4096 }, { 0, 0, CANFS_NONE }, { 0x90a, 0x800, 0xd00 } },
	{ { 8192, 8191, 4096 }, { STEP, 254 * STEP, CANFS_CPU }, { 0x1983, 0x1901, 0xdfe } },
	{ { UINT64_C(1) << 40, UINT64_C(1) << 39, UINT64_C(1) << 38 }, { 0.85, 0.5, CANFS_DISK },
		{ 0xfffffff9ac, 0x7ffffffbd9, 0x3ffffffd80 } },
	{ { 1000000000000, 500000000000, 500000000000 }, { 1, 1, CANFS_MEMORY },
		{ 0xe8d4a5098a, 0x746a528cff, 0x746a528dff } },
	{ { LAST_BLOCK, LAST_BLOCK, 4097 }, { 0.2, 0, CANFS_NETWORK },
		{ 0xffffffffffffe97a, 0xffffffffffffea33, 0x1d00 } },
};

static void assert_space(const struct canfs_space *space, const struct canfs_space *expected)
{
	assert_true(space->total_bytes == expected->total_bytes);
	assert_true(space->free_bytes == expected->free_bytes);
	assert_true(space->avail_bytes == expected->avail_bytes);
}

static void test_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct canfs_space space = vectors[i].counts;
		struct canfs_tag tag;

		assert_int_equal(canfs_tag_encode(&space, &vectors[i].tag), 0);
		assert_space(&space, &vectors[i].tagged);
		assert_int_equal(canfs_tag_decode(&space, &tag), 0);
		assert_true(fabs(tag.write - vectors[i].tag.write) <= HALF_A_STEP);
		assert_true(fabs(tag.readahead - vectors[i].tag.readahead) <= HALF_A_STEP);
		assert_int_equal(tag.bottleneck, vectors[i].tag.bottleneck);
	}
}

static void test_round_trip_of_every_step_is_exact(void **state)
{
	(void)state;
	for (int step = 0; step <= 255; step++) {
		for (int resource = 0; resource < CANFS_RESOURCES; resource++) {
			const struct canfs_tag sent = { step / 255.0, (255 - step) / 255.0,
				(enum canfs_resource)resource };
			struct canfs_space space = plain;
			struct canfs_tag got;

			assert_int_equal(canfs_tag_encode(&space, &sent), 0);
			assert_int_equal(canfs_tag_decode(&space, &got), 0);
			assert_true(got.write == sent.write);
			assert_true(got.readahead == sent.readahead);
			assert_int_equal(got.bottleneck, resource);
		}
	}
}

static void test_prices_out_of_range_count_as_the_nearer_bound(void **state)
{
	static const struct {
		double given, expected;
	} cases[] = { { -1, 0 }, { -INFINITY, 0 }, { 1.01, 1 }, { 1e300, 1 }, { INFINITY, 1 },
		{ NAN, 1 }, { -0.0, 0 } };

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct canfs_tag sent = { cases[i].given, cases[i].given, CANFS_DISK };
		struct canfs_space space = plain;
		struct canfs_tag got;

		assert_int_equal(canfs_tag_encode(&space, &sent), 0);
		assert_int_equal(canfs_tag_decode(&space, &got), 0);
		assert_true(got.write == cases[i].expected);
		assert_true(got.readahead == cases[i].expected);
	}
}

static struct canfs_space flipped(struct canfs_space space, uint64_t bits)
{
	space.total_bytes ^= bits & 0xFFF;
	space.free_bytes ^= bits >> 12 & 0xFFF;
	space.avail_bytes ^= bits >> 24 & 0xFFF;
	return space;
}

/* The CRC finds up to three wrong bits anywhere in its 48; marks and magic are constants. */
static void test_one_two_or_three_flipped_bits_are_no_tag(void **state)
{
	const uint64_t end = UINT64_C(1) << TAGGED_BITS;

	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		for (uint64_t a = 1; a < end; a <<= 1) {
			for (uint64_t b = a; b < end; b <<= 1) {
				for (uint64_t c = b; c < end; c <<= 1) {
					const struct canfs_space space =
						flipped(vectors[i].tagged, a | b | c);
					struct canfs_tag tag;

					assert_int_equal(canfs_tag_decode(&space, &tag), -ENOMSG);
				}
			}
		}
	}
}

static void test_bits_above_the_field_do_not_matter(void **state)
{
	struct canfs_space space = vectors[2].tagged;
	struct canfs_tag tag;

	(void)state;
	space.total_bytes += 77 * CANFS_TAG_BLOCK;
	space.free_bytes ^= UINT64_C(1) << 63;
	space.avail_bytes &= CANFS_TAG_BLOCK - 1;
	assert_int_equal(canfs_tag_decode(&space, &tag), 0);
	assert_true(tag.write == 217 / 255.0);
}

/* Whatever counts whole sectors has an even version, and CRC 0. */
static void test_untagged_counts_are_no_tag(void **state)
{
	static const uint64_t counts[] = { 0, 1, 512, 4096, 1ull << 20, LAST_BLOCK, UINT64_MAX };
	struct canfs_tag tag = { 0.5, 0.25, CANFS_DISK };

	(void)state;
	for (size_t i = 0; i < COUNT(counts); i++) {
		const struct canfs_space space = { counts[i], counts[i], counts[i] };

		assert_int_equal(canfs_tag_decode(&space, &tag), -ENOMSG);
	}
	for (unsigned int i = 0; i < 512; i++) {
		const struct canfs_space space = { (i & 7) * 512, (i >> 3 & 7) * 512,
			(i >> 6) * 512 };

		assert_int_not_equal(canfs_tag_decode(&space, &tag), 0);
	}
	/* *tag is set only on success */
	assert_true(tag.write == 0.5 && tag.readahead == 0.25);
	assert_int_equal(tag.bottleneck, CANFS_DISK);
}

/* A tag that says what this one does not know; made with the CRC that README.md defines. */
static void test_other_versions_are_told_from_no_tag(void **state)
{
	static const struct canfs_space others[] = {
		{ 0xa0a, 0xbd9, 0xd80 }, /* version 2 */
		{ 0x8ce, 0xbd9, 0xd80 }, /* version 0 */
	};
	struct canfs_tag tag;

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++)
		assert_int_equal(canfs_tag_decode(&others[i], &tag), -EPROTO);
}

/* A reader of before there were peers takes the price all the same, as "other". */
static void test_the_price_of_a_peer_counts(void **state)
{
	const struct canfs_space last = { 0x9e2, 0xed9, 0xd80 }; /* resource 6 */
	struct canfs_tag tag;

	(void)state;
	assert_int_equal(canfs_tag_decode(&last, &tag), 0);
	assert_true(tag.write == 217 / 255.0 && tag.readahead == 128 / 255.0);
	assert_int_equal(tag.bottleneck, CANFS_PEER);
	assert_string_equal(canfs_resource_name(tag.bottleneck), "peer");
}

/* No resource, and has its number all the same. */
static void test_the_log_is_a_bottleneck(void **state)
{
	const struct canfs_tag log = { 217 / 255.0, 128 / 255.0, CANFS_LOG };
	struct canfs_space space = { 4096, 4096, 4096 };
	struct canfs_tag tag;

	(void)state;
	assert_int_equal(canfs_tag_encode(&space, &log), 0);
	assert_space(&space, &(struct canfs_space) { 0x9f4, 0xfd9, 0xd80 });
	assert_int_equal(canfs_tag_decode(&space, &tag), 0);
	assert_int_equal(tag.bottleneck, CANFS_LOG);
	assert_string_equal(canfs_resource_name(tag.bottleneck), "log");
}

static void assert_refused(struct canfs_space space, enum canfs_resource bottleneck, int expected)
{
	const struct canfs_tag tag = { 0.5, 0.5, bottleneck };
	const struct canfs_space before = space;

	assert_int_equal(canfs_tag_encode(&space, &tag), expected);
	assert_space(&space, &before);
}

static void test_what_cannot_be_tagged_is_left_alone(void **state)
{
	const uint64_t ok = CANFS_TAG_BLOCK;

	(void)state;
	assert_refused((struct canfs_space) { 4095, ok, ok }, CANFS_DISK, -ENOSPC);
	assert_refused((struct canfs_space) { ok, 4095, ok }, CANFS_DISK, -ENOSPC);
	assert_refused((struct canfs_space) { ok, ok, 4095 }, CANFS_DISK, -ENOSPC);
	assert_refused((struct canfs_space) { ok, ok, 0 }, CANFS_DISK, -ENOSPC);
	assert_refused((struct canfs_space) { LAST_BLOCK + 1, ok, ok }, CANFS_DISK, -ENOSPC);
	assert_refused((struct canfs_space) { UINT64_MAX, ok, ok }, CANFS_DISK, -ENOSPC);
	assert_refused((struct canfs_space) { ok, UINT64_MAX, ok }, CANFS_DISK, -ENOSPC);
	assert_refused((struct canfs_space) { ok, ok, UINT64_MAX }, CANFS_DISK, -ENOSPC);
	assert_refused((struct canfs_space) { ok, ok, ok }, CANFS_OWN_NETWORK, -EINVAL);
	assert_refused((struct canfs_space) { ok, ok, ok }, (enum canfs_resource) - 1, -EINVAL);
}

static uint64_t rounded_up(uint64_t bytes, uint64_t block)
{
	return bytes / block + (bytes % block != 0); /* in blocks: cannot overflow */
}

/* A Linux client: blocks = roundup(bytes, its block) for a power of two, 4096 or more. */
static void test_a_client_that_rounds_up_sees_what_it_saw(void **state)
{
	static const uint64_t counts[] = { 4096, 4097, 6143, 6144, 6145, 8191, 8192, 1048575,
		1048576, 1048577, 1000000000000, LAST_BLOCK - 1, LAST_BLOCK };

	(void)state;
	for (size_t i = 0; i < COUNT(counts); i++) {
		for (uint64_t block = 4096; block; block <<= 1) {
			const struct canfs_tag tag = { 0.3, 0.9, CANFS_MEMORY };
			struct canfs_space space = { counts[i], counts[i], counts[i] };

			assert_int_equal(canfs_tag_encode(&space, &tag), 0);
			assert_true(rounded_up(space.total_bytes, block) ==
				    rounded_up(counts[i], block));
			assert_true(rounded_up(space.free_bytes, block) ==
				    rounded_up(counts[i], block));
			assert_true(rounded_up(space.avail_bytes, block) ==
				    rounded_up(counts[i], block));
		}
	}
}

/* total >= free >= avail must hold for a client that counts blocks, whatever the fields are. */
static void test_order_holds_after_rounding(void **state)
{
	static const uint64_t counts[] = { 4096, 4097, 8191, 8192, 8193, 1000000000000,
		LAST_BLOCK };
	static const struct canfs_tag tags[] = { { 0, 0, CANFS_NONE }, { 1, 0, CANFS_MEMORY },
		{ 0, 1, CANFS_CPU }, { 1, 1, CANFS_DISK } };
	size_t tried = 0;

	(void)state;
	for (size_t n = 0; n < COUNT(counts) * COUNT(counts) * COUNT(counts) * COUNT(tags); n++) {
		struct canfs_space space = { counts[n % 7], counts[n / 7 % 7], counts[n / 49 % 7] };

		if (space.total_bytes < space.free_bytes || space.free_bytes < space.avail_bytes)
			continue;
		assert_int_equal(canfs_tag_encode(&space, &tags[n / 343]), 0);
		assert_true(space.total_bytes / 4096 >= space.free_bytes / 4096);
		assert_true(space.free_bytes / 4096 >= space.avail_bytes / 4096);
		assert_true(
			rounded_up(space.total_bytes, 4096) >= rounded_up(space.free_bytes, 4096));
		assert_true(
			rounded_up(space.free_bytes, 4096) >= rounded_up(space.avail_bytes, 4096));
		tried++;
	}
	assert_true(tried > 100);
}

static void test_encoding_again_replaces_the_tag(void **state)
{
	const struct canfs_tag tag = { 0.1, 0.2, CANFS_CPU };
	struct canfs_space space = vectors[2].tagged;
	struct canfs_space direct = vectors[2].counts;

	(void)state;
	assert_int_equal(canfs_tag_encode(&space, &tag), 0);
	assert_int_equal(canfs_tag_encode(&direct, &tag), 0);
	assert_space(&space, &direct);
}

/* Each reply: "-" no tag; a letter: a tag with that price. The same letter is the same tag. */
static void note(struct canfs_publisher *publisher, const char *replies, bool expected)
{
	bool believed = publisher->believed;

	for (; *replies; replies++) {
		const struct canfs_tag tag = { (*replies - 'a') / 255.0, 0.5, CANFS_DISK };
		struct canfs_space space = vectors[2].counts;

		assert_int_equal(canfs_tag_encode(&space, &tag), 0);
		believed = canfs_publisher_note(publisher, *replies == '-' ? NULL : &space);
	}
	assert_int_equal(believed, expected);
	assert_int_equal(publisher->believed, expected);
}

static void test_publisher_is_believed_and_forgotten_after_several_in_a_row(void **state)
{
	struct canfs_publisher publisher = { 0 };

	(void)state;
	note(&publisher, "", false);
	assert_false(canfs_publisher_is_settling(&publisher));
	note(&publisher, "ab", false);
	assert_true(canfs_publisher_is_settling(&publisher));
	note(&publisher, "-ab", false);
	note(&publisher, "c", true);
	assert_false(canfs_publisher_is_settling(&publisher));
	note(&publisher, "----a", true);
	note(&publisher, "----", true);
	note(&publisher, "-", false);
	note(&publisher, "ba", false);
	note(&publisher, "b", true);
	for (int i = 0; i < 10000; i++)
		note(&publisher, "a", true);
	note(&publisher, "-----", false);
	for (int i = 0; i < 10000; i++)
		note(&publisher, "-", false);
	note(&publisher, "abc", true);
}

/* An idle or fully loaded server: it takes a second at this rate of questions. */
static void test_publisher_whose_prices_do_not_move(void **state)
{
	struct canfs_publisher publisher = { 0 };

	(void)state;
	note(&publisher, "aaaa", false);
	assert_true(canfs_publisher_is_settling(&publisher));
	note(&publisher, "a", true);
	publisher = (struct canfs_publisher) { 0 };
	note(&publisher, "aaa", false);
	note(&publisher, "-aaaa", false);
	note(&publisher, "b", true);
}

/* A server that counts bytes, with free = avail: counts that look like a tag (one in 65,536), however often they are read. */
static void note_bytes(
	struct canfs_publisher *publisher, uint64_t total, uint64_t free, bool expected)
{
	const struct canfs_space space = { total, free, free };
	struct canfs_tag tag;
	bool valid = canfs_tag_decode(&space, &tag) == 0;

	assert_int_equal(canfs_publisher_note(publisher, valid ? &space : NULL), expected);
}

static bool looks_like_a_tag(uint64_t total, uint64_t free)
{
	struct canfs_tag tag;

	return canfs_tag_decode(&(struct canfs_space) { total, free, free }, &tag) == 0;
}

static void test_counts_that_look_like_a_tag_by_chance(void **state)
{
	const uint64_t gigabyte = 1000000000;
	unsigned int found = 0;

	(void)state;
	for (uint64_t total = gigabyte; total < gigabyte + 4096; total++) {
		if ((total & 0xF00) != 0x900) /* its mark, and version 1 */
			continue;
		for (uint64_t free = gigabyte / 2; free < gigabyte / 2 + 4096; free++) {
			struct canfs_publisher publisher = { 0 };

			if (!looks_like_a_tag(total, free))
				continue;
			found++;
			for (int i = 0; i < 100; i++) {
				note_bytes(&publisher, total, free, false);
				/* With whole blocks the tag is the same. */
				note_bytes(&publisher, total, free - 4096 * (uint64_t)i, false);
			}
			assert_false(canfs_publisher_is_settling(&publisher));
			note_bytes(&publisher, total, free + 1, false);
		}
	}
	assert_int_equal(found, 4096 * 4096 >> 16);
}

/* Bytes are written and removed all the time. At most one reply in 4,096 looks like a tag, never three in a row. */
static void test_counts_that_change_are_not_believed(void **state)
{
	unsigned int seed = 7, valid = 0;

	(void)state;
	for (uint64_t total = 1000000000; total < 1000000000 + 4096; total += 7) {
		struct canfs_publisher publisher = { 0 };

		for (int i = 0; i < 2000; i++) {
			uint64_t free = 500000000 + (uint64_t)rand_r(&seed) % 100000000;

			valid += looks_like_a_tag(total, free);
			note_bytes(&publisher, total, free, false);
		}
	}
	assert_true(valid > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_round_trip_of_every_step_is_exact),
		cmocka_unit_test(test_prices_out_of_range_count_as_the_nearer_bound),
		cmocka_unit_test(test_one_two_or_three_flipped_bits_are_no_tag),
		cmocka_unit_test(test_bits_above_the_field_do_not_matter),
		cmocka_unit_test(test_untagged_counts_are_no_tag),
		cmocka_unit_test(test_other_versions_are_told_from_no_tag),
		cmocka_unit_test(test_the_price_of_a_peer_counts),
		cmocka_unit_test(test_the_log_is_a_bottleneck),
		cmocka_unit_test(test_what_cannot_be_tagged_is_left_alone),
		cmocka_unit_test(test_a_client_that_rounds_up_sees_what_it_saw),
		cmocka_unit_test(test_order_holds_after_rounding),
		cmocka_unit_test(test_encoding_again_replaces_the_tag),
		cmocka_unit_test(test_publisher_is_believed_and_forgotten_after_several_in_a_row),
		cmocka_unit_test(test_publisher_whose_prices_do_not_move),
		cmocka_unit_test(test_counts_that_look_like_a_tag_by_chance),
		cmocka_unit_test(test_counts_that_change_are_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
