/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Writes RPC replies word by word: an independent reading of RFC 5531, 1833 and 1813, for tests of
 * the decoders and the client.
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

#endif
