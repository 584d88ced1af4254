// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * A device's queue under any sequence of operations: a fetch that is taken into it is told once, and what it covers has been
 * fetched by then, unless it was cancelled or failed.
 */
#include "tests/fuzz/text.h"

#include <errno.h>

#include "ganesha-fsal/read/scheduler/policies.h"
#include "ganesha-fsal/read/scheduler/queue.h"
#include "ganesha-fsal/read/scheduler/sorted.h"

#define FETCHES_MAX 512
#define BLOCK       ((uint64_t)64 << 10)
#define BLOCKS      256 /* of each file */
#define FILES       4

struct input {
	const uint8_t *data;
	size_t size;
};

struct member {
	struct canfs_fetch fetch;
	unsigned int told;
};

struct scene {
	struct canfs_queue queue;
	struct canfs_fetch_list finished;
	struct member *member;
	size_t members, told;
	struct canfs_fetch *in_kernel[FETCHES_MAX];
	size_t in_kernel_count;
	bool fetched[FILES][BLOCKS];
	uint64_t now_nsec;
};

static uint8_t next_byte(struct input *input)
{
	if (input->size == 0)
		return 0;
	input->size--;
	return *input->data++;
}

static void add(struct scene *s, struct input *input)
{
	struct member *member = &s->member[s->members];
	uint8_t flags = next_byte(input);
	unsigned int block = next_byte(input), blocks = 1 + next_byte(input) % 16;

	if (s->members == FETCHES_MAX)
		return;
	*member = (struct member) { .fetch = { .kind = flags & 1 ? CANFS_FETCH_DEMAND
								 : CANFS_FETCH_PREFETCH,
					    .file = flags >> 1 & (FILES - 1),
					    .stream = flags >> 3,
					    .offset = block * BLOCK,
					    .bytes = (uint32_t)(blocks * BLOCK) } };
	if (!canfs_queue_enter(&s->queue, &member->fetch, s->now_nsec))
		return;
	s->members++;
	if (canfs_fetch_own_bytes(&member->fetch) > 0)
		canfs_queue_place(&s->queue, &member->fetch,
			next_byte(input) % 64 * 16 * BLOCK + member->fetch.from);
}

static void take(struct scene *s)
{
	unsigned int waiting = s->queue.waiting;
	struct canfs_fetch *fetch = canfs_queue_take(&s->queue, CANFS_FETCH_DEMAND);

	if (!fetch)
		fetch = canfs_queue_take(&s->queue, CANFS_FETCH_PREFETCH);
	FUZZ_CHECK((!fetch) == (waiting == 0)); /* the disk never idles for anybody */
	if (fetch)
		s->in_kernel[s->in_kernel_count++] = fetch;
}

static void finish(struct scene *s, size_t index, bool fails)
{
	struct canfs_fetch *fetch = s->in_kernel[index];

	s->in_kernel[index] = s->in_kernel[--s->in_kernel_count];
	for (uint64_t block = fetch->from / BLOCK; block < fetch->to / BLOCK && block < BLOCKS;
		block++)
		s->fetched[fetch->file][block] |= !fails;
	canfs_queue_finish(&s->queue, fetch, fails ? -EIO : 0, &s->finished);
}

static void hear(struct scene *s)
{
	for (struct canfs_fetch *fetch = s->finished.first; fetch; fetch = fetch->next) {
		struct member *member = (struct member *)fetch;
		uint64_t end = (fetch->offset + fetch->bytes) / BLOCK;

		FUZZ_CHECK(++member->told == 1);
		s->told++;
		for (uint64_t block = fetch->offset / BLOCK; block < end && block < BLOCKS; block++)
			FUZZ_CHECK(fetch->error != 0 || s->fetched[fetch->file][block]);
	}
	s->finished = (struct canfs_fetch_list) { 0 };
}

static void step(struct scene *s, struct input *input)
{
	uint8_t what = next_byte(input);

	s->now_nsec += what;
	switch (what % 8) {
	case 0:
	case 1:
	case 2:
		add(s, input);
		break;
	case 3:
	case 4:
		take(s);
		break;
	case 5:
		if (s->in_kernel_count > 0)
			finish(s, next_byte(input) % s->in_kernel_count, what & 0x80);
		break;
	case 6:
		canfs_queue_cancel(
			&s->queue, what >> 3 & (FILES - 1), next_byte(input) * BLOCK, &s->finished);
		break;
	case 7:
		canfs_queue_set_policy(&s->queue, canfs_policies[what / 8 % CANFS_POLICY_COUNT]);
		break;
	}
	hear(s);
	FUZZ_CHECK(
		s->queue.in_kernel[CANFS_FETCH_DEMAND] + s->queue.in_kernel[CANFS_FETCH_PREFETCH] ==
		s->in_kernel_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	struct scene *s = calloc(1, sizeof(*s));
	struct canfs_queue_config config = { .waiting_max = 100 };

	FUZZ_CHECK(s && (s->member = calloc(FETCHES_MAX, sizeof(*s->member))));
	config.policy = canfs_policies[next_byte(&input) % CANFS_POLICY_COUNT];
	(void)next_byte(&input);
	FUZZ_CHECK(canfs_queue_init(&s->queue, &config) == 0);
	while (input.size > 0)
		step(s, &input);
	if (s->members % 2)
		canfs_queue_cancel_all(&s->queue, &s->finished);
	while (s->queue.waiting > 0)
		take(s);
	while (s->in_kernel_count > 0)
		finish(s, 0, false);
	hear(s);
	FUZZ_CHECK(s->told == s->members && s->queue.joiners == 0);
	canfs_queue_destroy(&s->queue);
	free(s->member);
	free(s);
	return 0;
}
