// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Fetches through io_uring. Each fetch is a linked chain:
 *
 *	FADVISE WILLNEED (a piece) -> ... -> READ of the last byte
 *
 * FADVISE starts to read a piece, without a copy. FADVISE completes before the pages are there. A
 * READ of one byte of the last page waits for that page, and thus for all pages if the device reads
 * in order. A device that reorders may bring other pages a little later. The FSAL below waits for
 * those, as for any page that is being read.
 *
 * FADVISE posts a completion only if it fails. The links are hard. If they were soft, the kernel
 * would drop the READ silently after a failure, and our slot would leak. One eventfd signals both
 * completions and wake-ups by other threads. (io_uring could wait itself. valgrind would hang then,
 * because it believes that io_uring never blocks.)
 *
 * FADVISE runs in a thread of the kernel, where it may wait: for the file's lock, which a
 * truncation holds, for a tag, or for the file's extents. A READ of all bytes would take half the
 * processor time of a small fetch. It would wait in our thread, however, and stop all fetches of
 * the disk.
 */
#include "ganesha-fsal/read/scheduler/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <liburing.h>
#include "common/thread.h"

#define PAUSE_NSEC 1000000 /* when the kernel has no memory for more */

/*
 * One fetch in the kernel. The last byte of each fetch is read into `scratch` of the ring, and is
 * never used.
 */
struct slot {
	struct canfs_fetch *fetch;
	int ret;
};

struct ring {
	struct canfs_engine *engine;
	uint64_t piece_bytes;
	struct io_uring uring;
	pthread_t thread;
	int wake_fd;
	unsigned char scratch;
	struct canfs_outcome outcome[CANFS_SLOTS_MAX];
	unsigned int outcomes;
	unsigned int free[CANFS_SLOTS_MAX], free_count;
	struct slot slot[CANFS_SLOTS_MAX];
};

static void note_outcome(struct ring *ring, struct canfs_fetch *fetch, int error)
{
	ring->outcome[ring->outcomes++] = (struct canfs_outcome) { fetch, error };
}

/* user_data of slot i: 2 i for FADVISE, 2 i + 1 for READ. */
static void prepare(struct ring *ring, struct canfs_fetch *fetch)
{
	struct io_uring_sqe *sqe;
	int ret = 0;
	uint64_t end = canfs_fetch_end(fetch, &ret), bytes;
	unsigned int i;

	if (end == 0) {
		note_outcome(ring, fetch, ret);
		return;
	}
	i = ring->free[--ring->free_count];
	ring->slot[i] = (struct slot) { .fetch = fetch };
	for (uint64_t at = fetch->from; at < end; at += bytes) {
		bytes = end - at < ring->piece_bytes ? end - at : ring->piece_bytes;
		sqe = io_uring_get_sqe(&ring->uring);
		io_uring_prep_fadvise(sqe, fetch->fd, at, (uint32_t)bytes, POSIX_FADV_WILLNEED);
		io_uring_sqe_set_flags(sqe, IOSQE_IO_HARDLINK | IOSQE_CQE_SKIP_SUCCESS);
		io_uring_sqe_set_data64(sqe, 2 * (uint64_t)i);
	}
	sqe = io_uring_get_sqe(&ring->uring);
	io_uring_prep_read(sqe, fetch->fd, &ring->scratch, 1, end - 1);
	io_uring_sqe_set_data64(sqe, 2 * (uint64_t)i + 1);
}

static void take_completion(struct ring *ring, uint64_t data, int result)
{
	struct slot *slot = &ring->slot[data / 2];

	/* A failed FADVISE completes before its READ, and its error is the cause. */
	if (result < 0 && slot->ret == 0)
		slot->ret = result;
	if (data % 2 == 0)
		return;
	note_outcome(ring, slot->fetch, slot->ret);
	ring->free[ring->free_count++] = (unsigned int)(data / 2);
}

static void collect(struct ring *ring)
{
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(&ring->uring, &cqe) == 0) {
		uint64_t data = io_uring_cqe_get_data64(cqe);
		int result = cqe->res;

		io_uring_cqe_seen(&ring->uring, cqe);
		take_completion(ring, data, result);
	}
}

/*
 * Submits, and waits unless a fetch is done already. Entries that the kernel has no memory for now
 * are submitted again soon. One of them may be the READ of a chain, and nothing else would complete
 * its fetch.
 */
static void submit(struct ring *ring)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NSEC };
	eventfd_t woken;

	if (io_uring_submit(&ring->uring) < 0 || io_uring_sq_ready(&ring->uring) > 0)
		nanosleep(&pause, NULL);
	else if (ring->outcomes == 0)
		(void)eventfd_read(ring->wake_fd, &woken);
}

static void *run(void *arg)
{
	struct ring *ring = arg;
	struct canfs_fetch *taken[CANFS_SLOTS_MAX];
	int n;

	for (;;) {
		unsigned int outcomes = ring->outcomes;

		ring->outcomes = 0;
		n = canfs_engine_turn(
			ring->engine, ring->outcome, outcomes, taken, ring->free_count);
		if (n < 0)
			return NULL;
		for (int i = 0; i < n; i++)
			prepare(ring, taken[i]);
		submit(ring);
		collect(ring);
	}
}

static void wake(void *backend)
{
	struct ring *ring = backend;

	(void)eventfd_write(ring->wake_fd, 1);
}

static void end(void *backend)
{
	struct ring *ring = backend;

	pthread_join(ring->thread, NULL);
	io_uring_queue_exit(&ring->uring);
	close(ring->wake_fd);
	free(ring);
}

static int begin(void **backend, struct canfs_engine *engine, unsigned int slots)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	unsigned int entries, pieces;
	int ret;

	if (!ring)
		return -ENOMEM;
	ring->engine = engine;
	ring->piece_bytes = canfs_engine_piece_bytes(engine);
	for (unsigned int i = 0; i < slots; i++)
		ring->free[ring->free_count++] = i;
	ring->wake_fd = eventfd(0, EFD_CLOEXEC);
	if (ring->wake_fd < 0) {
		ret = -errno;
		goto no_fd;
	}
	pieces =
		(unsigned int)((CANFS_FETCH_BYTES_MAX + ring->piece_bytes - 1) / ring->piece_bytes);
	entries = slots * (pieces + 1); /* all slots at once, so that there is always room */
	ret = io_uring_queue_init(entries, &ring->uring, 0);
	if (ret != 0)
		goto no_ring;
	/*
	 * FADVISE always runs in one of these threads. The kernel's default is four per processor.
	 */
	(void)io_uring_register_iowq_max_workers(&ring->uring, (unsigned int[]) { slots, 0 });
	ret = io_uring_register_eventfd(&ring->uring, ring->wake_fd);
	if (ret == 0 && !(ring->uring.features & IORING_FEAT_CQE_SKIP))
		ret = -EOPNOTSUPP; /* before Linux 5.17 */
	if (ret == 0)
		ret = canfs_thread_start(&ring->thread, 0, run, ring);
	if (ret != 0)
		goto no_thread;
	*backend = ring;
	return 0;

no_thread:
	io_uring_queue_exit(&ring->uring);
no_ring:
	close(ring->wake_fd);
no_fd:
	free(ring);
	return ret;
}

const struct canfs_backend canfs_ring = {
	.name = "io_uring", .begin = begin, .wake = wake, .end = end
};
