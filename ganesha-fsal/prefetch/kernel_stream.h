/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A sequential stream that is left to the kernel's read-ahead. While it goes on, its READs need neither the page cache's state
 * nor the table of active files: they cost two loads and a store on the open file's own cache line.
 *
 *	            next
 *	             v
 *	--- read ----|------- WINDOW ------>
 *	   <-WINDOW--|
 *
 *	read in the window   the stream goes on; next moves to the end of the furthest read
 *	read that skips      goes on, but counts, one far away fourfold; more than SKIPS beyond those in order: a stride, or shuffled
 *	read elsewhere       it has ended; the table decides anew
 *
 * No lock: a READ that races with another may move `next` back by a few reads, or lose a skip. The window covers both.
 */
#ifndef CANFS_GANESHA_FSAL_PREFETCH_KERNEL_STREAM_H
#define CANFS_GANESHA_FSAL_PREFETCH_KERNEL_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* WINDOW: that many bytes, or READs if they are large. Clients have as many in flight, in any order. */
#define CANFS_KERNEL_STREAM_BYTES ((uint64_t)1 << 20)
#define CANFS_KERNEL_STREAM_READS 16u
#define CANFS_KERNEL_STREAM_SKIPS 16u

/* All zero: there is none. */
struct canfs_kernel_stream {
	_Atomic uint64_t next; /* bytes; 0: none */
	atomic_uint skips;
};

/* A READ of a plain stream, which is left to the kernel, has ended there. */
static inline void canfs_kernel_stream_begin(struct canfs_kernel_stream *stream, uint64_t end)
{
	atomic_store_explicit(&stream->skips, 0, memory_order_relaxed);
	atomic_store_explicit(&stream->next, end, memory_order_relaxed);
}

static inline void canfs_kernel_stream_end(struct canfs_kernel_stream *stream)
{
	atomic_store_explicit(&stream->next, 0, memory_order_relaxed);
}

/* A READ comes. Is it the stream's? If not, the stream has ended. bytes > 0. */
static inline bool canfs_kernel_stream_goes_on(
	struct canfs_kernel_stream *stream, uint64_t offset, uint64_t bytes)
{
	uint64_t next = atomic_load_explicit(&stream->next, memory_order_relaxed);
	unsigned int skips = atomic_load_explicit(&stream->skips, memory_order_relaxed);
	uint64_t window = bytes * CANFS_KERNEL_STREAM_READS;

	if (next == 0)
		return false;
	if (window < CANFS_KERNEL_STREAM_BYTES)
		window = CANFS_KERNEL_STREAM_BYTES;
	if (offset + window - next > 2 * window || skips > CANFS_KERNEL_STREAM_SKIPS) {
		canfs_kernel_stream_end(stream);
		return false;
	}
	if (offset >= next + 4 * bytes || offset + 5 * bytes < next)
		atomic_store_explicit(&stream->skips, skips + 4, memory_order_relaxed);
	else if (offset > next)
		atomic_store_explicit(&stream->skips, skips + 1, memory_order_relaxed);
	else if (skips > 0)
		atomic_store_explicit(&stream->skips, skips - 1, memory_order_relaxed);
	if (offset + bytes > next)
		atomic_store_explicit(&stream->next, offset + bytes, memory_order_relaxed);
	return true;
}

#endif
