/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How each client reads a file, as the kernel's read-ahead sees it: in order or not. A stream that
 * is in order may be left to the kernel. While it stays in order, its READs need neither the state
 * of the page cache nor the table of active files. They cost a few loads and stores on a cache line
 * of the open file.
 *
 *	            next
 *	             v
 *	--- read ----|------- WINDOW ------>
 *	   <-WINDOW--|
 *
 *	read in the window   in order; next moves to the end of the furthest read
 *	read that skips      in order, but counted; a far one counts fourfold. With more than SKIPS skips
 *	                     beyond the other reads, the client reads a stride, or shuffled
 *	read elsewhere       not in order, and counted as a far skip; the stream continues from there
 *
 * Several clients of one file are separate streams. One client that reads several parts of a file
 * in turn is no stream, because the kernel takes its reads for random ones.
 *
 *	client  1   2   1   2   1   2     in order
 *	block   0  50   1  51   2  52
 *	client  1   1   1   1   1   1     not
 *
 * No lock: a READ that races with another may move `next` back by a few reads, or lose a skip. The
 * window covers both.
 */
#ifndef CANFS_GANESHA_FSAL_READ_PREFETCH_KERNEL_STREAM_H
#define CANFS_GANESHA_FSAL_READ_PREFETCH_KERNEL_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * WINDOW: this many bytes, or READs if that is more. Clients have as many in flight, in any order.
 */
#define CANFS_KERNEL_STREAM_BYTES ((uint64_t)1 << 20)
#define CANFS_KERNEL_STREAM_READS 16u
#define CANFS_KERNEL_STREAM_SKIPS 16u

/*
 * Clients that are told apart in a file. With more clients, they displace each other, and none is
 * in order.
 */
#define CANFS_KERNEL_STREAMS 16u

/* All zero: no read yet. */
struct canfs_kernel_stream {
	_Atomic uint64_t next;   /* bytes; 0: no read yet */
	_Atomic uint32_t client; /* 0: all unknown ones */
	_Atomic uint16_t skips;  /* 0 ... 2 SKIPS */
	atomic_bool left;        /* left to the kernel */
	_Atomic uint8_t turn;    /* the last in which its device counted it (streams.h) */
};

struct canfs_kernel_streams {
	struct canfs_kernel_stream stream[CANFS_KERNEL_STREAMS];
	_Atomic uint8_t oldest; /* modulo CANFS_KERNEL_STREAMS */
};

static inline void canfs_kernel_stream_leave(struct canfs_kernel_stream *stream, bool leave)
{
	atomic_store_explicit(&stream->left, leave, memory_order_relaxed);
}

static inline bool canfs_kernel_stream_is_left(const struct canfs_kernel_stream *stream)
{
	return atomic_load_explicit(&stream->left, memory_order_relaxed);
}

/* Returns the client's stream of this file, never NULL. A new one may displace another client's. */
static inline struct canfs_kernel_stream *canfs_kernel_stream_of(
	struct canfs_kernel_streams *streams, uint32_t client)
{
	struct canfs_kernel_stream *stream = streams->stream;
	unsigned int oldest;

	for (; stream < streams->stream + CANFS_KERNEL_STREAMS; stream++)
		if (atomic_load_explicit(&stream->client, memory_order_relaxed) == client)
			return stream;
	oldest = atomic_fetch_add_explicit(&streams->oldest, 1, memory_order_relaxed);
	stream = &streams->stream[oldest % CANFS_KERNEL_STREAMS];
	atomic_store_explicit(&stream->next, 0, memory_order_relaxed);
	atomic_store_explicit(&stream->skips, 0, memory_order_relaxed);
	atomic_store_explicit(&stream->client, client, memory_order_relaxed);
	return stream;
}

/* Returns what a READ at `offset` adds to the skips. */
static inline int canfs_kernel_stream_skip(uint64_t next, uint64_t offset, uint64_t bytes)
{
	if (offset >= next + 4 * bytes || offset + 5 * bytes < next)
		return 4;
	return offset > next ? 1 : -1;
}

static inline bool canfs_kernel_stream_is_near(uint64_t next, uint64_t offset, uint64_t bytes)
{
	uint64_t window = bytes * CANFS_KERNEL_STREAM_READS;

	if (window < CANFS_KERNEL_STREAM_BYTES)
		window = CANFS_KERNEL_STREAM_BYTES;
	return offset + window - next <= 2 * window;
}

/*
 * Notes a READ. Returns whether it is in order. If it is not, the stream is no longer left to the
 * kernel. bytes > 0.
 */
static inline bool canfs_kernel_stream_goes_on(
	struct canfs_kernel_stream *stream, uint64_t offset, uint64_t bytes)
{
	uint64_t next = atomic_load_explicit(&stream->next, memory_order_relaxed);
	bool near = next != 0 && canfs_kernel_stream_is_near(next, offset, bytes);
	int skips = atomic_load_explicit(&stream->skips, memory_order_relaxed);

	if (next != 0)
		skips += canfs_kernel_stream_skip(next, offset, bytes);
	if (skips >= 0 && skips <= (int)(2 * CANFS_KERNEL_STREAM_SKIPS))
		atomic_store_explicit(&stream->skips, (uint16_t)skips, memory_order_relaxed);
	if (!near || offset + bytes > next)
		atomic_store_explicit(&stream->next, offset + bytes, memory_order_relaxed);
	if (near && skips <= (int)CANFS_KERNEL_STREAM_SKIPS)
		return true;
	canfs_kernel_stream_leave(stream, false);
	return false;
}

#endif
