/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The price tag: 36 bits in the low 12 bits of three byte counts (FSSTAT3resok tbytes, fbytes,
 * abytes; NFSv4 space_total, space_free, space_avail).
 *
 * A file system counts whole blocks, so those bits carry nothing. A count X is rounded up to a
 * multiple of 4096 and then lowered to the number just below it whose low 12 bits are the tag:
 *
 *	X' = roundup(X, 4096) - 4096 + field,    1 <= field <= 4095,    X - 4096 < X' < X + 4096
 *
 * Every client that rounds *up* to its own block size of 4096 or more (Linux) sees exactly what it
 * saw before; one that rounds *down* to 4096 sees one block less in all three, so that
 * used = total - free holds. The order total >= free >= avail holds where blocks are counted; in
 * single bytes it may be off by less than 4096 where two counts were equal.
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
 * Test vectors stand in tests/unit/test_tag.c and protocol/README.md.
 *
 * One, two or three wrong bits are always found (marks and magic are constants, the CRC does the
 * rest). Counts of whole 512-octet sectors or larger units, all zeroes and all ones are never a tag.
 *
 * A file system that has less than 4096 bytes in one of the counts is not tagged (a full disk
 * must look full); its clients fall back to their kernel's defaults.
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
 * Writes the tag into the counts; one that stands there already is replaced. 0; -ENOSPC if a count
 * is below 4096 or would overflow when rounded up; -EINVAL if the bottleneck is no resource. The
 * counts are then left as they were. Prices outside [0, 1] count as the nearer bound, NaN as 1.
 */
int canfs_tag_encode(struct canfs_space *space, const struct canfs_tag *tag);

/*
 * Reads a tag. 0; -ENOMSG if the counts carry none (marks, magic or CRC wrong); -EPROTO
 * if they carry one of another version. *tag is set only on 0.
 */
int canfs_tag_decode(const struct canfs_space *space, struct canfs_tag *tag);

/*
 * Is this server a canfs server? A server that counts in bytes, or has a quota that is no multiple of the block
 * size, may look like one by chance:
 *
 *	marks 2^-3, magic 2^-3, version 2^-3, CRC 2^-8		one reply: 1 in 2^17
 *	free = avail: a mark and the magic are those of free		1 in 2^16
 *	its total, which stays, has mark and version (1 in 2^4):	each other free = avail: 1 in 2^12
 *
 * A repeated reply with the same counts proves nothing. So the number of changes of the tag counts, in consecutive
 * valid replies:
 *
 *	CANFS_TAGS_TO_BELIEVE, all different: 1 in 2^36 even with an unlucky total; once in 2,000 years if the counts
 *	change, and are read, once a second.
 *	CANFS_TAGS_UNCHANGED: prices of an idle or fully loaded server do not change. A false tag mostly ends when the
 *	counts change, as those of a file system in use do. There remain file systems that look like a tag and do not
 *	change, 1 in 2^17.
 *
 * Unchanged replies with free = avail (1 in 2^16, the most frequent coincidence) are never enough. In these, both
 * fields are equal. A canfs server sends that only while the back end is the bottleneck and its two prices are equal.
 *
 * The cost of a mistake: the false prices stay until the server's counts change; then replies have no tag, and
 * CANFS_TAGS_TO_FORGET of them end it. A high price defers writes up to the kernel's limit of 30 s and keeps read-ahead
 * at its minimum. The deferred writes then change the counts. No data are lost, and all bounds hold.
 */
#define CANFS_TAGS_TO_BELIEVE 3
#define CANFS_TAGS_UNCHANGED                                                                       \
	5 /* more would prove no more, and take long where a busy server answers late */
#define CANFS_TAGS_TO_FORGET 5

struct canfs_publisher {
	unsigned int valid;   /* consecutive valid tags, saturating */
	unsigned int changes; /* how many of these differ from the one before; saturating */
	unsigned int invalid; /* consecutive replies without one, saturating */
	bool believed;
	struct canfs_space last; /* the last valid tag, without the counts above it */
};

/* Notes one reply: its counts if it had a valid tag, else NULL. Returns publisher->believed. */
bool canfs_publisher_note(struct canfs_publisher *publisher, const struct canfs_space *space);

/* Can a few more replies settle the question? */
bool canfs_publisher_is_settling(const struct canfs_publisher *publisher);

#endif
