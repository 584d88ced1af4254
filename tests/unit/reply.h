/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Writes RPC replies word by word, for tests of the decoders and the client. This is an independent
 * reading of RFC 5531, 1833, 1813, 7531 and 5662.
 */
#ifndef CANFS_TESTS_REPLY_H
#define CANFS_TESTS_REPLY_H

#include <arpa/inet.h>
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reply {
	size_t len;
	uint8_t octets[16384];
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define REPLY_WORDS(reply, ...)                                                                    \
	reply_words(reply, COUNT(((const uint32_t[]) { __VA_ARGS__ })),                            \
		(const uint32_t[]) { __VA_ARGS__ })

static inline void reply_octets(struct reply *reply, const void *octets, size_t len)
{
	assert(reply->len + len <= sizeof(reply->octets));
	memcpy(reply->octets + reply->len, octets, len);
	reply->len += len;
}

static inline void reply_words(struct reply *reply, size_t count, const uint32_t *words)
{
	for (size_t i = 0; i < count; i++) {
		const uint32_t word = htonl(words[i]);

		reply_octets(reply, &word, sizeof(word));
	}
}

static inline void reply_hyper(struct reply *reply, uint64_t hyper)
{
	REPLY_WORDS(reply, (uint32_t)(hyper >> 32), (uint32_t)hyper);
}

/* Begins a reply: REPLY, MSG_ACCEPTED, AUTH_NONE verifier, SUCCESS. */
static inline void reply_begin(struct reply *reply, uint32_t xid)
{
	reply->len = 0;
	REPLY_WORDS(reply, xid, 1, 0, 0, 0, 0);
}

static inline void reply_getport(struct reply *reply, uint32_t xid, uint32_t port)
{
	reply_begin(reply, xid);
	REPLY_WORDS(reply, port);
}

/* len: a multiple of four. Offers AUTH_SYS and AUTH_NONE. */
static inline void reply_mnt(struct reply *reply, uint32_t xid, const uint8_t *handle, size_t len)
{
	reply_begin(reply, xid);
	REPLY_WORDS(reply, 0, (uint32_t)len);
	reply_octets(reply, handle, len);
	REPLY_WORDS(reply, 2, 1, 0);
}

static inline void reply_attributes(struct reply *reply, bool present)
{
	REPLY_WORDS(reply, present);
	for (uint32_t word = 0; present && word < 21; word++)
		REPLY_WORDS(reply, word == 0 ? 2 : word); /* type: a directory */
}

static inline void reply_fsstat(
	struct reply *reply, uint32_t xid, bool attributes, const uint64_t counts[3])
{
	reply_begin(reply, xid);
	REPLY_WORDS(reply, 0);
	reply_attributes(reply, attributes);
	for (int i = 0; i < 3; i++)
		reply_hyper(reply, counts[i]);
	for (uint64_t files = 1000; files < 1003; files++)
		reply_hyper(reply, files);
	REPLY_WORDS(reply, 0); /* invarsec */
}

/* Begins the reply to a COMPOUND. count results must follow. */
static inline void reply_compound(
	struct reply *reply, uint32_t xid, uint32_t status, uint32_t count)
{
	reply_begin(reply, xid);
	REPLY_WORDS(reply, status, 0, count); /* no tag */
}

/* The result of GETATTR: space_avail, space_free, space_total. counts: total, free, avail. */
static inline void reply_space_attributes(struct reply *reply, const uint64_t counts[3])
{
	REPLY_WORDS(reply, 9, 0, 2, 0, 0x1c00, 24);
	for (int i = 2; i >= 0; i--)
		reply_hyper(reply, counts[i]);
}

static inline void reply_exchange_id(
	struct reply *reply, uint32_t xid, uint64_t client_id, uint32_t sequence)
{
	reply_compound(reply, xid, 0, 1);
	REPLY_WORDS(reply, 42, 0);
	reply_hyper(reply, client_id);
	REPLY_WORDS(reply, sequence, 0x10000, 0); /* USE_NON_PNFS, SP4_NONE */
	reply_hyper(reply, 1);
	REPLY_WORDS(reply, 6, 0x73657276, 0x65720000, 3, 0x61626300, 1); /* owner, scope */
	REPLY_WORDS(reply, 4, 0x78797a00, 5, 0x76302e31, 0x30000000);    /* implementation */
	reply_hyper(reply, 1700000000);
	REPLY_WORDS(reply, 0);
}

static inline void reply_create_session(
	struct reply *reply, uint32_t xid, const uint8_t id[16], uint32_t sequence)
{
	reply_compound(reply, xid, 0, 1);
	REPLY_WORDS(reply, 43, 0);
	reply_octets(reply, id, 16);
	REPLY_WORDS(reply, sequence, 0);
	REPLY_WORDS(reply, 0, 8192, 8192, 1024, 16, 1, 0);
	REPLY_WORDS(reply, 0, 4096, 4096, 0, 2, 1, 1, 7); /* with an ird */
}

static inline void reply_sequence(struct reply *reply, const uint8_t id[16], uint32_t sequence)
{
	REPLY_WORDS(reply, 53, 0);
	reply_octets(reply, id, 16);
	REPLY_WORDS(reply, sequence, 0, 0, 0, 0);
}

#endif
