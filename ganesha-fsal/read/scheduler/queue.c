// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/read/scheduler/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ganesha-fsal/read/scheduler/sorted.h"

#define NEIGHBOURS_MAX 8 /* checked for one that covers an offset */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_known(struct canfs_fetch *a, struct canfs_fetch *b)
{
	int order = compare(a->file, b->file);

	if (order == 0)
		order = compare(a->from, b->from);
	return order != 0 ? order : compare(a->serial, b->serial);
}

static int compare_age(struct canfs_fetch *a, struct canfs_fetch *b)
{
	return compare(a->serial, b->serial);
}

CANFS_RB(canfs_known, canfs_fetch, by_file, compare_known)
CANFS_RB(canfs_demands, canfs_fetch, by_age, compare_age)

/* Returns the size of the largest order of a policy. */
static size_t order_bytes(void)
{
	size_t most = 0;

	for (size_t i = 0; canfs_policies[i]; i++)
		most = canfs_policies[i]->bytes > most ? canfs_policies[i]->bytes : most;
	return most;
}

int canfs_queue_init(struct canfs_queue *queue, const struct canfs_queue_config *config)
{
	*queue = (struct canfs_queue) { .config = *config };
	queue->order = calloc(1, order_bytes());
	queue->spare = calloc(1, order_bytes());
	if (!queue->order || !queue->spare) {
		free(queue->order);
		free(queue->spare);
		queue->order = queue->spare = NULL;
		return -ENOMEM;
	}
	return 0;
}

void canfs_queue_destroy(struct canfs_queue *queue)
{
	free(queue->order);
	free(queue->spare);
}

static bool covers(const struct canfs_fetch *known, uint64_t file, uint64_t offset)
{
	return known->file == file && known->from <= offset && offset < known->to;
}

/* Returns a fetch that will bring this byte of the file. NULL: none is found. */
static struct canfs_fetch *find_cover(struct canfs_queue *queue, uint64_t file, uint64_t offset)
{
	struct canfs_fetch key = { .file = file, .from = offset, .serial = UINT64_MAX }, *known;

	known = RB_NFIND(canfs_known, &queue->known, &key);
	known = known ? RB_PREV(canfs_known, &queue->known, known)
		      : RB_MAX(canfs_known, &queue->known);
	for (int i = 0; i < NEIGHBOURS_MAX && known && known->file == file; i++) {
		if (covers(known, file, offset))
			return known;
		known = RB_PREV(canfs_known, &queue->known, known);
	}
	return NULL;
}

static void join(struct canfs_queue *queue, struct canfs_fetch *fetch, struct canfs_join *link,
	struct canfs_fetch *known)
{
	const struct canfs_policy *policy = queue->config.policy;

	*link = (struct canfs_join) { .next = known->joined, .waiter = fetch };
	known->joined = link;
	fetch->pending++;
	if (fetch->kind != CANFS_FETCH_DEMAND || known->kind == CANFS_FETCH_DEMAND ||
		known->hurried)
		return;
	known->hurried = true;
	if (policy->hurry && known->state == CANFS_FETCH_WAITING)
		policy->hurry(queue->order, known);
}

bool canfs_queue_enter(struct canfs_queue *queue, struct canfs_fetch *fetch, uint64_t now_nsec)
{
	struct canfs_fetch *known;

	if (fetch->kind == CANFS_FETCH_PREFETCH &&
		queue->waiting + queue->joiners >= queue->config.waiting_max) {
		queue->refused++;
		return false;
	}
	fetch->from = fetch->offset;
	fetch->to = fetch->offset + fetch->bytes;
	fetch->serial = ++queue->serial; /* never 0: a sweep that has not begun is before all */
	fetch->added_nsec = now_nsec;
	fetch->joined = NULL;
	fetch->pending = 0;
	fetch->error = 0;
	fetch->hurried = false;
	fetch->state = CANFS_FETCH_ENTERED;
	known = find_cover(queue, fetch->file, fetch->from);
	if (known) {
		join(queue, fetch, &fetch->join[0], known);
		fetch->from = known->to < fetch->to ? known->to : fetch->to;
	}
	known = fetch->from < fetch->to ? find_cover(queue, fetch->file, fetch->to - 1) : NULL;
	if (known) {
		join(queue, fetch, &fetch->join[1], known);
		fetch->to = known->from > fetch->from ? known->from : fetch->from;
	}
	queue->joined += fetch->pending > 0;
	if (fetch->from < fetch->to) {
		fetch->pending++;
		queue->waiting++;
		RB_INSERT(canfs_known, &queue->known, fetch);
	} else {
		queue->joiners++;
	}
	return true;
}

void canfs_queue_place(struct canfs_queue *queue, struct canfs_fetch *fetch, uint64_t address)
{
	fetch->address = address;
	fetch->state = CANFS_FETCH_WAITING;
	if (fetch->kind == CANFS_FETCH_DEMAND)
		RB_INSERT(canfs_demands, &queue->demands, fetch);
	else
		queue->config.policy->add(queue->order, fetch);
}

static void leave(struct canfs_queue *queue, struct canfs_fetch *fetch, enum canfs_leave why)
{
	if (fetch->kind == CANFS_FETCH_DEMAND)
		RB_REMOVE(canfs_demands, &queue->demands, fetch);
	else
		queue->config.policy->remove(queue->order, fetch, why);
	fetch->state = CANFS_FETCH_ENTERED;
}

static struct canfs_fetch *next_of(struct canfs_queue *queue, enum canfs_fetch_kind kind)
{
	return kind == CANFS_FETCH_DEMAND ? RB_MIN(canfs_demands, &queue->demands)
					  : queue->config.policy->choose(queue->order);
}

struct canfs_fetch *canfs_queue_take(struct canfs_queue *queue, enum canfs_fetch_kind kind)
{
	struct canfs_fetch *fetch = next_of(queue, kind);

	if (!fetch)
		return NULL;
	leave(queue, fetch, CANFS_SERVED);
	fetch->state = CANFS_FETCH_IN_KERNEL;
	queue->waiting--;
	queue->in_kernel[kind]++;
	if (kind == CANFS_FETCH_PREFETCH)
		queue->prefetch_bytes += canfs_fetch_own_bytes(fetch);
	return fetch;
}

static void part_is_done(struct canfs_queue *queue, struct canfs_fetch *fetch, int error,
	struct canfs_fetch_list *finished)
{
	if (fetch->error == 0)
		fetch->error = error;
	if (--fetch->pending > 0)
		return;
	if (canfs_fetch_own_bytes(fetch) == 0)
		queue->joiners--;
	fetch->next = NULL;
	if (!finished->first)
		finished->end = &finished->first;
	*finished->end = fetch;
	finished->end = &fetch->next;
}

void canfs_queue_finish(struct canfs_queue *queue, struct canfs_fetch *fetch, int error,
	struct canfs_fetch_list *finished)
{
	struct canfs_join *joined = fetch->joined, *next;

	if (fetch->state == CANFS_FETCH_IN_KERNEL) {
		queue->in_kernel[fetch->kind]--;
		if (fetch->kind == CANFS_FETCH_PREFETCH)
			queue->prefetch_bytes -= canfs_fetch_own_bytes(fetch);
	} else {
		queue->waiting--;
	}
	RB_REMOVE(canfs_known, &queue->known, fetch);
	fetch->joined = NULL;
	part_is_done(queue, fetch, error, finished);
	for (; joined; joined = next) {
		next = joined->next;
		part_is_done(queue, joined->waiter, error, finished);
	}
}

static bool is_wanted(const struct canfs_fetch *fetch)
{
	return fetch->kind != CANFS_FETCH_PREFETCH || fetch->hurried;
}

/* Cancels the fetch, unless it is in the kernel already or its address is not known yet. */
static void cancel_one(
	struct canfs_queue *queue, struct canfs_fetch *fetch, struct canfs_fetch_list *finished)
{
	if (fetch->state != CANFS_FETCH_WAITING)
		return;
	leave(queue, fetch, CANFS_CANCELLED);
	canfs_queue_finish(queue, fetch, -ECANCELED, finished);
}

static void cancel(struct canfs_queue *queue, uint64_t file, uint64_t from_offset, bool wanted_too,
	struct canfs_fetch_list *finished)
{
	struct canfs_fetch key = { .file = file, .from = from_offset }, *fetch, *next;

	for (fetch = RB_NFIND(canfs_known, &queue->known, &key); fetch && fetch->file == file;
		fetch = next) {
		next = RB_NEXT(canfs_known, &queue->known, fetch);
		if (wanted_too || !is_wanted(fetch))
			cancel_one(queue, fetch, finished);
	}
}

void canfs_queue_cancel(struct canfs_queue *queue, uint64_t file, uint64_t from_offset,
	struct canfs_fetch_list *finished)
{
	cancel(queue, file, from_offset, false, finished);
}

void canfs_queue_drop(struct canfs_queue *queue, uint64_t file, struct canfs_fetch_list *finished)
{
	cancel(queue, file, 0, true, finished);
}

void canfs_queue_cancel_all(struct canfs_queue *queue, struct canfs_fetch_list *finished)
{
	struct canfs_fetch *fetch;

	for (enum canfs_fetch_kind kind = 0; kind < CANFS_FETCH_KINDS; kind++) {
		while ((fetch = next_of(queue, kind))) {
			leave(queue, fetch, CANFS_CANCELLED);
			canfs_queue_finish(queue, fetch, -ECANCELED, finished);
		}
	}
}

void canfs_queue_set_policy(struct canfs_queue *queue, const struct canfs_policy *policy)
{
	const struct canfs_policy *old = queue->config.policy;
	void *order = queue->spare;
	struct canfs_fetch *fetch;

	memset(order, 0, policy->bytes);
	while ((fetch = old->choose(queue->order))) {
		old->remove(queue->order, fetch, CANFS_CANCELLED);
		policy->add(order, fetch);
	}
	queue->spare = queue->order;
	queue->order = order;
	queue->config.policy = policy;
}
