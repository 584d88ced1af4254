// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/tag.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "pricing/price.h"

#define FIELD_MASK    (CANFS_TAG_BLOCK - 1) /* the 12 bits that a count of blocks leaves free */
#define MARK          0x800u                /* in all three: a multiple of 4096 is never a tag */
#define MAGIC         5u                    /* bits 10-8 of abytes */
#define OCTET_MAX     255
#define COUNT_MAX     (UINT64_MAX - FIELD_MASK) /* the largest that can be rounded up */
#define FIELD(hi, lo) (MARK | (hi) << 8 | (lo))

_Static_assert(
	CANFS_RESOURCES == CANFS_PEER && CANFS_LOG == 7, "a bottleneck has three bits in the tag");

/* The tag's parts as they go over the wire. The CRC is computed, not stored. */
struct parts {
	unsigned int version;
	unsigned int resource;
	unsigned int write;
	unsigned int magic;
	unsigned int readahead;
};

static unsigned int crc8(const struct parts *parts)
{
	const unsigned int octets[] = {
		8 * 16 + parts->version,
		8 * 16 + parts->resource,
		parts->write,
		8 * 16 + parts->magic,
		parts->readahead,
	};
	unsigned int crc = 0xFF;

	for (size_t i = 0; i < sizeof(octets) / sizeof(octets[0]); i++) {
		crc ^= octets[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 0x80 ? (crc << 1 ^ 0x07) & 0xFF : crc << 1;
	}
	return crc;
}

/* A NaN counts as the highest price, because a fault must not attract work. */
static unsigned int octet_of_price(double price)
{
	if (isnan(price))
		return OCTET_MAX;
	price = fmin(fmax(price / CANFS_PRICE_MAX, 0), 1);
	return (unsigned int)lround(OCTET_MAX * price);
}

static double price_of_octet(unsigned int octet)
{
	return CANFS_PRICE_MAX * octet / OCTET_MAX;
}

static bool has_room(uint64_t count_bytes)
{
	return count_bytes >= CANFS_TAG_BLOCK && count_bytes <= COUNT_MAX;
}

static uint64_t with_field(uint64_t count_bytes, unsigned int field)
{
	return ((count_bytes + FIELD_MASK) & ~(uint64_t)FIELD_MASK) - CANFS_TAG_BLOCK + field;
}

int canfs_tag_encode(struct canfs_space *space, const struct canfs_tag *tag)
{
	if ((unsigned int)tag->bottleneck > CANFS_LOG)
		return -EINVAL;
	if (!has_room(space->total_bytes) || !has_room(space->free_bytes) ||
		!has_room(space->avail_bytes))
		return -ENOSPC;

	const struct parts parts = {
		.version = CANFS_TAG_VERSION,
		.resource = tag->bottleneck,
		.write = octet_of_price(tag->write),
		.magic = MAGIC,
		.readahead = octet_of_price(tag->readahead),
	};

	space->total_bytes = with_field(space->total_bytes, FIELD(parts.version, crc8(&parts)));
	space->free_bytes = with_field(space->free_bytes, FIELD(parts.resource, parts.write));
	space->avail_bytes = with_field(space->avail_bytes, FIELD(parts.magic, parts.readahead));
	return 0;
}

int canfs_tag_decode(const struct canfs_space *space, struct canfs_tag *tag)
{
	const unsigned int total = space->total_bytes & FIELD_MASK;
	const unsigned int free = space->free_bytes & FIELD_MASK;
	const unsigned int avail = space->avail_bytes & FIELD_MASK;
	const struct parts parts = {
		.version = total >> 8 & 7,
		.resource = free >> 8 & 7,
		.write = free & 0xFF,
		.magic = avail >> 8 & 7,
		.readahead = avail & 0xFF,
	};

	if (!(total & free & avail & MARK) || parts.magic != MAGIC)
		return -ENOMSG;
	if ((total & 0xFF) != crc8(&parts))
		return -ENOMSG;
	if (parts.version != CANFS_TAG_VERSION)
		return -EPROTO;

	tag->write = price_of_octet(parts.write);
	tag->readahead = price_of_octet(parts.readahead);
	tag->bottleneck = (enum canfs_resource)parts.resource;
	return 0;
}

static struct canfs_space fields_of(const struct canfs_space *space)
{
	return (struct canfs_space) { space->total_bytes & FIELD_MASK,
		space->free_bytes & FIELD_MASK, space->avail_bytes & FIELD_MASK };
}

static bool is_evidence(const struct canfs_publisher *publisher)
{
	bool differ = publisher->last.free_bytes != publisher->last.avail_bytes;

	return publisher->changes >= CANFS_TAGS_TO_BELIEVE - 1 ||
	       (publisher->valid >= CANFS_TAGS_UNCHANGED && (publisher->changes > 0 || differ));
}

static void note_valid(struct canfs_publisher *publisher, struct canfs_space fields)
{
	bool is_another = memcmp(&fields, &publisher->last, sizeof(fields)) != 0;

	publisher->invalid = 0;
	if (publisher->valid > 0 && is_another && publisher->changes < CANFS_TAGS_TO_BELIEVE)
		publisher->changes++;
	if (publisher->valid < CANFS_TAGS_UNCHANGED)
		publisher->valid++;
	publisher->last = fields;
	publisher->believed = publisher->believed || is_evidence(publisher);
}

bool canfs_publisher_note(struct canfs_publisher *publisher, const struct canfs_space *space)
{
	if (space) {
		note_valid(publisher, fields_of(space));
	} else {
		publisher->valid = publisher->changes = 0;
		if (publisher->invalid < CANFS_TAGS_TO_FORGET)
			publisher->invalid++;
		if (publisher->invalid == CANFS_TAGS_TO_FORGET)
			publisher->believed = false;
	}
	return publisher->believed;
}

bool canfs_publisher_is_settling(const struct canfs_publisher *publisher)
{
	return !publisher->believed && publisher->valid > 0 &&
	       publisher->valid < CANFS_TAGS_UNCHANGED;
}
