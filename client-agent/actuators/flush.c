// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/actuators/flush.h"
#include "client-agent/auction/arithmetic.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "common/cachestat.h"

/* Long enough for whole WRITEs of any wsize, short enough for files to take turns. */
#define PIECE_BYTES (UINT64_C(4) << 20)
/* The usual wsize. A growing file is sent in multiples of this. */
#define UNIT_BYTES (UINT64_C(1) << 20)
/* Clean pieces that one call probes per file: 1 GiB. */
#define PROBES_MAX 256
/*
 * Probing a piece in memory takes 20 microseconds. After a walk that finds nothing, the next calls
 * do not walk, so that the average per call is this number of probes.
 */
#define PROBES_PER_CALL 4
/* sync_file_range calls per chunk if dirty pages are scattered. */
#define PIECES_MAX 1024

bool canfs_flush_exact(void)
{
	/* The call fails with EBADF only if the kernel has it and no sandbox blocks it. */
	return canfs_cachestat(-1, 0, 0, NULL) < 0 && errno == EBADF;
}

/*
 * Returns the dirty bytes of a range, or the whole range if the kernel does not tell for this file.
 */
static uint64_t dirty_bytes(int fd, uint64_t offset, uint64_t len)
{
	struct canfs_cachestat stat;

	if (canfs_cachestat(fd, offset, len, &stat) < 0)
		return len;
	return stat.dirty * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Updates the size that is known here, without asking the server, and whether the file grows. */
static int refresh_size(struct canfs_writer *writer)
{
	struct statx stx;

	if (statx(writer->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE, &stx) < 0)
		return -errno;
	writer->grows = writer->sized && stx.stx_size > writer->size_bytes;
	writer->has_grown |= writer->grows;
	writer->sized = true;
	if (writer->looks < 2)
		writer->looks++;
	writer->size_bytes = stx.stx_size;
	writer->rests -= writer->rests > 0;
	return 0;
}

/*
 * Returns where to continue, and sets *end to how far. A growing file is sent only up to its last
 * whole unit. Otherwise its writer would touch a page that is in flight, and wait for the server.
 */
static uint64_t *next_cursor(struct canfs_writer *writer, uint64_t *end)
{
	uint64_t size = writer->size_bytes;

	*end = writer->grows ? size / UNIT_BYTES * UNIT_BYTES : size;
	if (writer->tail_bytes > size) /* truncated */
		writer->tail_bytes = size;
	if (writer->tail_bytes < *end)
		return &writer->tail_bytes;
	*end = writer->tail_bytes;
	if (writer->walk_bytes >= *end)
		writer->walk_bytes = 0;
	return &writer->walk_bytes;
}

/* A file that has not grown since it was found existed before, so writes to it overwrite data. */
static bool must_wait(const struct canfs_writer *writer, const uint64_t *cursor,
	const struct canfs_flush_terms *terms)
{
	bool walks = cursor == &writer->walk_bytes;

	return (!terms->hurries && (walks || !writer->has_grown)) || (walks && writer->rests > 0);
}

/*
 * Extends a piece of len bytes as far as want allows. Returns the new length, and adds its dirty
 * bytes to *count. Each sync_file_range ends with a COMMIT, which flushes the server's disk.
 * Without long pieces, scattered pages would cost one COMMIT for each few pages.
 */
static uint64_t gather(struct canfs_writer *writer, uint64_t offset, uint64_t len, uint64_t end,
	uint64_t want, uint64_t *count)
{
	for (unsigned int probes = 0; probes < PROBES_MAX && offset + len < end; probes++) {
		uint64_t more = canfs_smaller(PIECE_BYTES, end - offset - len);
		uint64_t dirty = dirty_bytes(writer->fd, offset + len, more);

		if (*count + dirty > want)
			break;
		*count += dirty;
		len += more;
	}
	return len;
}

/*
 * Sends one piece of a file, at most want bytes. Returns the bytes that count; 0 if nothing is
 * dirty in the whole file, or in PROBES_MAX pieces.
 */
static uint64_t flush_piece(struct canfs_writer *writer, uint64_t want,
	const struct canfs_flush_terms *terms, unsigned int *errors)
{
	uint64_t window = terms->exact ? PIECE_BYTES : want, seen = 0;
	unsigned int probes;

	for (probes = 0; probes < PROBES_MAX && seen <= writer->size_bytes; probes++) {
		uint64_t end, *cursor = next_cursor(writer, &end);
		uint64_t offset = *cursor;
		uint64_t len = canfs_smaller(window, end - offset);
		uint64_t count = terms->exact && len ? dirty_bytes(writer->fd, offset, len) : len;
		if (len == 0 || must_wait(writer, cursor, terms))
			return 0;
		if (count > want && len > want) { /* too much in this range: narrow it */
			window = len / 2 > want ? len / 2 : want;
			continue;
		}
		if (terms->exact && count > 0)
			len = gather(writer, offset, len, end, want, &count);
		*cursor += len;
		seen += len;
		if (count == 0) {
			window = PIECE_BYTES;
			continue;
		}
		if (sync_file_range(writer->fd, (off_t)offset, (off_t)len, SYNC_FILE_RANGE_WRITE) ==
			0)
			return canfs_smaller(count, want);
		++*errors;
		return 0;
	}
	writer->rests = probes / PROBES_PER_CALL;
	return 0;
}

uint64_t canfs_flush(struct canfs_writers *writers, uint64_t chunk_bytes,
	const struct canfs_flush_terms *terms, unsigned int *errors)
{
	/*
	 * If not exact, small clean files would count again and again. Go round only once in that
	 * case.
	 */
	uint64_t pieces = terms->exact ? PIECES_MAX : writers->n + chunk_bytes / PIECE_BYTES;
	uint64_t asked = 0;
	size_t idle = 0; /* consecutive files that had nothing to send */

	for (size_t i = 0; i < writers->n; i++)
		*errors += refresh_size(&writers->writer[i]) != 0;
	for (; asked < chunk_bytes && idle < writers->n && pieces > 0; pieces--) {
		uint64_t want = canfs_smaller(chunk_bytes - asked, PIECE_BYTES);
		uint64_t count = flush_piece(
			&writers->writer[writers->next++ % writers->n], want, terms, errors);
		idle = count ? 0 : idle + 1;
		asked += count;
	}
	return asked;
}

void canfs_flush_pass_sent(struct canfs_writers *writers)
{
	for (size_t i = 0; i < writers->n; i++) {
		struct canfs_writer *writer = &writers->writer[i];
		uint64_t end;
		if (refresh_size(writer) != 0 || next_cursor(writer, &end) != &writer->tail_bytes)
			continue;
		if (dirty_bytes(writer->fd, writer->tail_bytes, end - writer->tail_bytes) == 0)
			writer->tail_bytes = end;
	}
}
