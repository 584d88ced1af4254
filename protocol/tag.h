/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The price tag: 36 bits in the low 12 bits of three byte counts (FSSTAT3resok tbytes, fbytes,
 * abytes; NFSv4 space_total, space_free, space_avail).
 *
 * A file system counts whole blocks, so these bits carry no information. A count X is rounded up to
 * a multiple of 4096, and then lowered to the next number whose low 12 bits are the field:
 *
 *	X' = roundup(X, 4096) - 4096 + field,    1 <= field <= 4095,    X - 4096 < X' < X + 4096
 *
 * A client that rounds *up* to its own block size of 4096 or more (Linux) sees exactly the same as
 * without the tag. A client that rounds *down* to 4096 sees one block less in all three counts, so
 * used = total - free holds. The order total >= free >= avail holds where blocks are counted. In
 * single bytes, the order may be off by less than 4096 where two counts were equal.
 *
 *	         11   10  9  8    7 6 5 4 3 2 1 0
 *	tbytes  | 1 | version  | CRC-8 of the rest |
 *	fbytes  | 1 | resource | price of a write  |     resource: enum canfs_resource, the
 *	abytes  | 1 | 1  0  1  | price, read-ahead |     bottleneck of the write
 *
 *	version  1
 *	price    round(255 * price / Pmax)
 *	CRC-8    polynomial x^8+x^2+x+1 (0x07), start 0xFF, no reflection, no final xor, over five
 *	         octets: 8*16+version, 8*16+resource, write, 8*16+5, read-ahead
 *
 * tests/unit/test_tag.c and protocol/README.md have test vectors.
 *
 * One, two or three wrong bits are always detected: marks and magic are constants, and the CRC
 * covers the rest. Counts of whole 512-octet sectors or larger units, all zeroes and all ones are
 * never a tag.
 *
 * If one of the counts is below 4096 bytes, the file system is not tagged, because a full disk must
 * look full. Its clients fall back to their kernel's defaults.
 */
#ifndef CANFS_PROTOCOL_TAG_H
#define CANFS_PROTOCOL_TAG_H

#include <stdbool.h>
#include <stdint.h>
#include "pricing/market.h"

#define CANFS_TAG_VERSION 1
#define CANFS_TAG_BLOCK   4096

/* The three byte counts of an FSSTAT reply, tagged or not. */
struct canfs_space {
	uint64_t total_bytes;
	uint64_t free_bytes;
	uint64_t avail_bytes;
};

struct canfs_tag {
	double write;     /* price of an asynchronous write, [0, 1], in steps of 1/255 */
	double readahead; /* price of a read-ahead, likewise */
	enum canfs_resource bottleneck; /* of the write */
};

/*
 * Writes the tag into the counts, and replaces a tag that is already there. Prices outside [0, 1]
 * are clamped; NaN counts as 1. Returns 0, -ENOSPC if a count is below 4096 or would overflow when
 * rounded up, or -EINVAL if the bottleneck does not fit the field. On an error the counts are
 * unchanged.
 */
int canfs_tag_encode(struct canfs_space *space, const struct canfs_tag *tag);

/*
 * Reads a tag. Returns 0, -ENOMSG if the counts have no tag (marks, magic or CRC wrong), or -EPROTO
 * if they have a tag of another version. *tag is set only on 0.
 */
int canfs_tag_decode(const struct canfs_space *space, struct canfs_tag *tag);

/*
 * Decides whether a server is a canfs server. A server that counts in bytes, or whose quota is not
 * a multiple of the block size, may look like one by chance:
 *
 *	marks 2^-3, magic 2^-3, version 2^-3, CRC 2^-8		one reply: 1 in 2^17
 *	free = avail: a mark and the magic are those of free		1 in 2^16
 *	its total, which stays, has mark and version (1 in 2^4):	each other free = avail: 1 in 2^12
 *
 * A repeated reply with the same counts proves nothing. Therefore the changes of the tag in
 * consecutive valid replies are counted:
 *
 *	CANFS_TAGS_TO_BELIEVE  all are different: 1 in 2^36 even with an unlucky total. If the counts
 *	                       change and are read once a second, this happens once in 2,000 years.
 *	CANFS_TAGS_UNCHANGED   prices of an idle or fully loaded server do not change. A false tag
 *	                       mostly ends when the counts change, as they do while a file system is in
 *	                       use. 1 in 2^17 file systems looks like a tag and does not change.
 *
 * Unchanged replies with free = avail (1 in 2^16, the most frequent coincidence) are never enough.
 * Both fields are equal in such replies. A canfs server sends equal fields only while the back end
 * is the bottleneck and its two prices are equal.
 *
 * A mistake has this cost. The false prices stay until the server's counts change. Replies then
 * have no tag, and CANFS_TAGS_TO_FORGET of them end the belief. A high price defers writes up to
 * the kernel's limit of 30 s and keeps read-ahead at its minimum. The deferred writes then change
 * the counts. No data are lost, and all bounds hold.
 */
#define CANFS_TAGS_TO_BELIEVE 3
#define CANFS_TAGS_UNCHANGED                                                                       \
	5 /* more replies would prove nothing more, and take long if a busy server answers late */
#define CANFS_TAGS_TO_FORGET 5

struct canfs_publisher {
	unsigned int valid;   /* consecutive valid tags, saturating */
	unsigned int changes; /* how many of these differ from the tag before; saturating */
	unsigned int invalid; /* consecutive replies without a valid tag, saturating */
	bool believed;
	struct canfs_space last; /* the low 12 bits of the last valid reply's counts */
};

/* Records one reply: its counts if it had a valid tag, else NULL. Returns publisher->believed. */
bool canfs_publisher_note(struct canfs_publisher *publisher, const struct canfs_space *space);

/* Returns true if a few more replies can decide whether this is a canfs server. */
bool canfs_publisher_is_settling(const struct canfs_publisher *publisher);

#endif
