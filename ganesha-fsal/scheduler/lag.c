// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The lag-bounded elevator: C-LOOK, but only among the streams that are at most K ahead of the one that has had
 * least. Near the elevator's throughput, with n-cscan's fairness; K is the knob between throughput and latency.
 *
 *	served   |      a   b      c      |       d  <- waits until the floor has risen
 *	       floor <------- K ------->
 *
 * - `served` is counted in bytes, and each seek as the bytes that the disk could have read meanwhile: else a
 *   hundred random readers, which get few bytes out of much time, would stop all others.
 * - The floor is the least of all streams', those included that have nothing waiting at the moment: a stream that asks
 *   again soon keeps its place. The disk never idles for them: once all others are K ahead, the floor rises to the
 *   least of those that wait, and a stream below it is forgotten. (Start-time fair queueing, Goyal et al. 1996,
 *   does so with a virtual time.)
 * - A new stream begins at the floor. New streams without end, each just ahead of the head, would starve the others
 *   as under the elevator; so each of them begins a little above the last new one, until the floor has risen.
 *
 * A stream has its own tree of what waits, and the sweep is a tree of streams, by the place of what the sweep
 * would serve of each next: so that one that falls behind or runs ahead is one node less or more, however much
 * it asks for.
 */
#include "ganesha-fsal/scheduler/policies.h"
#include "ganesha-fsal/scheduler/sorted.h"

#include <stdlib.h>

#define SEEK_BYTES   ((uint64_t)1 << 20) /* about 7 ms of a disk */
#define NEAR_BYTES   ((uint64_t)1 << 20) /* a gap that the head passes over rather than seeks */
#define NEWCOMERS    64                  /* so many may begin within K */
#define IDLE_STREAMS 1024                /* remembered, at most */

struct stream {
	uint32_t number;
	enum { NEW, IDLE, BUSY } where;
	bool swept; /* is in the sweep */
	uint64_t served;
	struct canfs_by_place waiting;
	struct canfs_fetch *next; /* of the sweep's */
	RB_ENTRY(stream) by_number, by_served, by_next;
};

static int compare_number(struct stream *a, struct stream *b)
{
	return (a->number > b->number) - (a->number < b->number);
}

static int compare_served(struct stream *a, struct stream *b)
{
	if (a->served != b->served)
		return a->served > b->served ? 1 : -1;
	return compare_number(a, b);
}

static int compare_next(struct stream *a, struct stream *b)
{
	return canfs_past_head(a->next, canfs_head_at(b->next));
}

RB_HEAD(numbers, stream);
RB_HEAD(shares, stream);
RB_HEAD(sweep, stream);
CANFS_RB(numbers, stream, by_number, compare_number)
CANFS_RB(shares, stream, by_served, compare_served)
CANFS_RB(sweep, stream, by_next, compare_next)

struct lag {
	uint64_t lag_bytes, floor, newcomer;
	struct numbers streams;
	struct shares busy, idle; /* with something waiting, without */
	unsigned int idle_count;
	struct sweep sweep; /* the busy ones that are not too far ahead */
	struct canfs_head head;
	uint64_t last_end;    /* of the last fetch, wherever it was */
	struct stream common; /* of those there was no memory for; not in `streams` */
};

static void enter_sweep(struct lag *lag, struct stream *stream)
{
	if (stream->served > lag->floor + lag->lag_bytes)
		return;
	stream->next = canfs_next_of_sweep(&stream->waiting, lag->head);
	stream->swept = true;
	RB_INSERT(sweep, &lag->sweep, stream);
}

static void leave_sweep(struct lag *lag, struct stream *stream)
{
	if (!stream->swept)
		return;
	stream->swept = false;
	RB_REMOVE(sweep, &lag->sweep, stream);
}

static void forget(struct lag *lag, struct stream *stream)
{
	RB_REMOVE(shares, &lag->idle, stream);
	lag->idle_count--;
	if (stream == &lag->common) {
		stream->where = NEW;
		return;
	}
	RB_REMOVE(numbers, &lag->streams, stream);
	free(stream);
}

static void raise_floor(struct lag *lag, uint64_t floor)
{
	struct stream after = { .number = 0, .served = lag->floor + lag->lag_bytes + 1 };
	struct stream *stream;

	if (floor <= lag->floor)
		return;
	lag->floor = floor;
	for (stream = RB_NFIND(shares, &lag->busy, &after);
		stream && stream->served <= floor + lag->lag_bytes;
		stream = RB_NEXT(shares, &lag->busy, stream))
		enter_sweep(lag, stream);
	while ((stream = RB_MIN(shares, &lag->idle)) && stream->served < floor)
		forget(lag, stream);
}

static void follow_the_least(struct lag *lag)
{
	struct stream *busy = RB_MIN(shares, &lag->busy), *idle = RB_MIN(shares, &lag->idle);

	if (busy && (!idle || busy->served < idle->served))
		raise_floor(lag, busy->served);
	else if (idle)
		raise_floor(lag, idle->served);
}

static void take_out(struct lag *lag, struct stream *stream)
{
	switch (stream->where) {
	case NEW:
		if (lag->newcomer < lag->floor)
			lag->newcomer = lag->floor;
		stream->served = lag->newcomer;
		lag->newcomer += lag->lag_bytes / NEWCOMERS + 1;
		break;
	case IDLE:
		RB_REMOVE(shares, &lag->idle, stream);
		lag->idle_count--;
		break;
	case BUSY:
		leave_sweep(lag, stream);
		RB_REMOVE(shares, &lag->busy, stream);
		break;
	}
}

/* Whatever has changed of a stream: it is put where it belongs then. */
static void put_back(struct lag *lag, struct stream *stream)
{
	if (RB_EMPTY(&stream->waiting)) {
		stream->where = IDLE;
		RB_INSERT(shares, &lag->idle, stream);
		if (++lag->idle_count >
			IDLE_STREAMS) /* least is lost with the one that is ahead least */
			forget(lag, RB_MIN(shares, &lag->idle));
	} else {
		stream->where = BUSY;
		RB_INSERT(shares, &lag->busy, stream);
		enter_sweep(lag, stream);
	}
	follow_the_least(lag);
}

static struct stream *stream_of(struct lag *lag, uint32_t number)
{
	struct stream key = { .number = number }, *stream;

	stream = RB_FIND(numbers, &lag->streams, &key);
	if (stream)
		return stream;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return &lag->common;
	stream->number = number;
	RB_INSERT(numbers, &lag->streams, stream);
	return stream;
}

static void add(void *order, struct canfs_fetch *fetch)
{
	struct lag *lag = order;
	struct stream *stream = stream_of(lag, fetch->stream);

	take_out(lag, stream);
	fetch->owner = stream;
	RB_INSERT(canfs_by_place, &stream->waiting, fetch);
	put_back(lag, stream);
}

static void charge(struct lag *lag, struct stream *stream, const struct canfs_fetch *fetch)
{
	bool near = fetch->address >= lag->last_end && fetch->address - lag->last_end <= NEAR_BYTES;

	stream->served += canfs_fetch_own_bytes(fetch) + (near ? 0 : SEEK_BYTES);
	lag->last_end = fetch->address + canfs_fetch_own_bytes(fetch);
}

static void leave(void *order, struct canfs_fetch *fetch, enum canfs_leave why)
{
	struct lag *lag = order;
	struct stream *stream = fetch->owner;

	take_out(lag, stream);
	RB_REMOVE(canfs_by_place, &stream->waiting, fetch);
	if (why == CANFS_SERVED) {
		charge(lag, stream, fetch);
		lag->head = canfs_head_at(fetch);
	}
	put_back(lag, stream);
}

/*
 * Every stream's `next` is the first past the head, or its lowest if it has none there. That stays so when the head
 * moves to the first of all of them, and when nothing is left past the head and it starts anew.
 */
static struct canfs_fetch *choose(void *order)
{
	struct lag *lag = order;
	struct stream *stream, *past = NULL;

	if (RB_EMPTY(&lag->busy))
		return NULL;
	if (RB_EMPTY(&lag->sweep))
		raise_floor(lag, RB_MIN(shares, &lag->busy)->served);
	for (stream = RB_ROOT(&lag->sweep); stream;) {
		if (canfs_past_head(stream->next, lag->head) > 0) {
			past = stream;
			stream = RB_LEFT(stream, by_next);
		} else {
			stream = RB_RIGHT(stream, by_next);
		}
	}
	return (past ? past : RB_MIN(sweep, &lag->sweep))->next;
}

static void begin(void *order, uint32_t lag_bytes)
{
	struct lag *lag = order;

	lag->lag_bytes = lag_bytes;
}

static void end(void *order)
{
	struct lag *lag = order;
	struct stream *stream;

	while ((stream = RB_MIN(shares, &lag->idle)))
		forget(lag, stream);
}

const struct canfs_policy canfs_lag = { .name = "lag",
	.by_address = true,
	.bytes = sizeof(struct lag),
	.begin = begin,
	.end = end,
	.add = add,
	.remove = leave,
	.choose = choose };
