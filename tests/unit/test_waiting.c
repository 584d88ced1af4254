// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Who makes whom wait, beside a simulated disk whose queue is known: one head, first come, first served. What a request waits there
 * is the service of those before it, and whose these are is written down; server/waiting is told only what a server would know.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "server/waiting/waiting.h"

#define CLIENTS      8
#define REQUESTS_MAX 4096
#define STEP_USEC    100000
#define BEGIN_USEC   1000000000 /* of the clock */

#define POSITIONING_USEC 8000
#define BYTES_PER_USEC   150 /* 150 MB/s */

enum kind { READ, WRITE_BACK, SYNC };

struct request {
	int client;
	enum kind kind;
	uint64_t arrives_usec, bytes;
	struct canfs_client_load *load;
};

/* What a client does besides one request at a time that it thinks about before the next. */
struct client {
	uint64_t think_usec; /* 0: it reads nothing */
	uint64_t read_bytes;
	int reads_at_once;
	uint64_t write_bytes_per_step; /* unstably, to be drained by the disk */
	int syncs_at_once;
};

struct simulation {
	struct client client[CLIENTS];
	struct canfs_clients *clients;
	struct canfs_waiting *waiting;
	struct canfs_disk_sample disk;
	struct request queue[REQUESTS_MAX]; /* in the order of arrival */
	size_t waiting_requests;
	uint64_t free_usec;             /* when the head is free */
	double truth[CLIENTS][CLIENTS]; /* [bully][victim], seconds */
	uint64_t seed;
};

static uint64_t random_below(struct simulation *s, uint64_t n)
{
	s->seed = s->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (s->seed >> 33) % n;
}

static struct sockaddr_in address_of(int client)
{
	return (struct sockaddr_in) { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0x0a000000u + (uint32_t)client) };
}

static int client_of(const struct in6_addr *address)
{
	return address->s6_addr[15];
}

static uint64_t service_usec(const struct request *request)
{
	/* As SORTED_POSITIONING has it. */
	uint64_t positioning_usec =
		request->kind == WRITE_BACK ? POSITIONING_USEC / 2 : POSITIONING_USEC;

	return positioning_usec + request->bytes / BYTES_PER_USEC;
}

static void insert(struct simulation *s, struct request request)
{
	size_t at = s->waiting_requests++;

	assert_true(at < REQUESTS_MAX);
	while (at > 0 && s->queue[at - 1].arrives_usec > request.arrives_usec) {
		s->queue[at] = s->queue[at - 1];
		at--;
	}
	s->queue[at] = request;
}

/* Asks for it at that time; before its time has come nobody knows of it. */
static void arrive(struct simulation *s, int client, enum kind kind, uint64_t bytes, uint64_t usec)
{
	insert(s, (struct request) {
			  .client = client, .kind = kind, .arrives_usec = usec, .bytes = bytes });
}

static void begin(struct simulation *s, struct request *request)
{
	struct sockaddr_in in = address_of(request->client);
	const struct sockaddr *address = (const struct sockaddr *)&in;

	if (request->load || request->kind == WRITE_BACK)
		return;
	if (request->kind == READ) {
		request->load =
			canfs_clients_count(s->clients, address, CANFS_CLIENT_READ, request->bytes);
		canfs_client_begin(request->load, CANFS_WAIT_READ, request->arrives_usec);
	} else {
		request->load = canfs_clients_load(s->clients, address);
		canfs_client_note_commit(request->load);
		canfs_client_begin(request->load, CANFS_WAIT_COMMIT, request->arrives_usec);
	}
}

static void count_done(struct simulation *s, const struct request *request, uint64_t end_usec)
{
	switch (request->kind) {
	case READ:
		s->disk.reads++;
		s->disk.read_bytes += request->bytes;
		canfs_client_end(request->load, CANFS_WAIT_READ, end_usec);
		canfs_client_note_disk_read(request->load, request->bytes);
		break;
	case WRITE_BACK:
		s->disk.writes++;
		s->disk.written_bytes += request->bytes;
		break;
	case SYNC:
		s->disk.flush_msec += service_usec(request) / 1000;
		canfs_client_end(request->load, CANFS_WAIT_COMMIT, end_usec);
		break;
	}
}

/* Everybody else who waits while this one is served waits for its client, with however many requests. */
static void note_truth(
	struct simulation *s, const struct request *served, uint64_t begin_usec, uint64_t end_usec)
{
	bool is_noted[CLIENTS] = { false };

	for (size_t i = 1; i < s->waiting_requests; i++) {
		const struct request *waits = &s->queue[i];
		uint64_t from_usec =
			waits->arrives_usec > begin_usec ? waits->arrives_usec : begin_usec;

		if (from_usec < end_usec && waits->kind != WRITE_BACK &&
			waits->client != served->client && !is_noted[waits->client]) {
			is_noted[waits->client] = true; /* its first one has come first */
			s->truth[served->client][waits->client] +=
				(double)(end_usec - from_usec) / 1e6;
		}
	}
}

static void ask_again(struct simulation *s, const struct request *done, uint64_t end_usec)
{
	const struct client *client = &s->client[done->client];
	uint64_t think_usec = client->think_usec / 2 + random_below(s, client->think_usec + 1);

	if (done->kind != WRITE_BACK)
		arrive(s, done->client, done->kind, done->bytes,
			end_usec + 1 + (done->kind == READ ? think_usec : 0));
}

/* Until then; what ends later is served in the next step. */
static void serve(struct simulation *s, uint64_t until_usec)
{
	for (size_t i = 0; i < s->waiting_requests; i++) {
		if (s->queue[i].arrives_usec <= until_usec)
			begin(s, &s->queue[i]);
	}
	while (s->waiting_requests > 0) {
		struct request served = s->queue[0];
		uint64_t begin_usec =
			s->free_usec > served.arrives_usec ? s->free_usec : served.arrives_usec;
		uint64_t end_usec = begin_usec + service_usec(&served);

		if (end_usec > until_usec)
			break;
		begin(s, &s->queue[0]);
		served = s->queue[0];
		note_truth(s, &served, begin_usec, end_usec);
		count_done(s, &served, end_usec);
		s->free_usec = end_usec;
		memmove(&s->queue[0], &s->queue[1], --s->waiting_requests * sizeof(s->queue[0]));
		ask_again(s, &served, end_usec);
		for (size_t i = 0; i < s->waiting_requests; i++) {
			if (s->queue[i].arrives_usec <= until_usec)
				begin(s, &s->queue[i]);
		}
	}
}

/* Written into memory, from where the disk drains it: 1 MiB at a time. */
static void write_unstably(struct simulation *s, int client, uint64_t usec)
{
	struct sockaddr_in in = address_of(client);
	uint64_t bytes = s->client[client].write_bytes_per_step;

	if (bytes == 0)
		return;
	canfs_clients_count(s->clients, (const struct sockaddr *)&in, CANFS_CLIENT_WRITE, bytes);
	for (uint64_t at = 0; at < bytes; at += 1 << 20)
		arrive(s, client, WRITE_BACK, 1 << 20, usec);
}

static struct simulation *new_simulation(void)
{
	struct simulation *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->clients = canfs_clients_new();
	s->waiting = canfs_waiting_new();
	s->disk = (struct canfs_disk_sample) { .disks = 1,
		.dirty_bytes = (double)NAN,
		.positioning_sec = POSITIONING_USEC / 1e6,
		.bytes_per_sec = BYTES_PER_USEC * 1e6 };
	s->free_usec = BEGIN_USEC;
	s->seed = 1;
	return s;
}

static void free_simulation(struct simulation *s)
{
	canfs_waiting_free(s->waiting);
	canfs_clients_free(s->clients);
	free(s);
}

static void simulate(struct simulation *s, unsigned int seconds)
{
	uint64_t end_usec = BEGIN_USEC + seconds * UINT64_C(1000000);

	for (int i = 0; i < CLIENTS; i++) {
		for (int n = 0; n < s->client[i].reads_at_once; n++)
			arrive(s, i, READ, s->client[i].read_bytes,
				BEGIN_USEC + random_below(s, s->client[i].think_usec + 1));
		for (int n = 0; n < s->client[i].syncs_at_once; n++)
			arrive(s, i, SYNC, 4096, BEGIN_USEC);
	}
	canfs_waiting_step(s->waiting, BEGIN_USEC, s->clients, &s->disk);
	for (uint64_t usec = BEGIN_USEC; usec < end_usec; usec += STEP_USEC) {
		for (int i = 0; i < CLIENTS; i++)
			write_unstably(s, i, usec);
		serve(s, usec + STEP_USEC);
		canfs_waiting_step(s->waiting, usec + STEP_USEC, s->clients, &s->disk);
	}
}

static size_t list(struct simulation *s, unsigned int seconds, struct canfs_pair_row *rows)
{
	return canfs_waiting_list(
		s->waiting, BEGIN_USEC + seconds * UINT64_C(1000000), seconds, rows);
}

static struct canfs_pair_row row_of(
	const struct canfs_pair_row *rows, size_t count, int bully, int victim)
{
	for (size_t i = 0; i < count; i++) {
		if (client_of(&rows[i].bully) == bully && client_of(&rows[i].victim) == victim)
			return rows[i];
	}
	return (struct canfs_pair_row) { 0 };
}

/* Of the pairs that have waited most, together at least nine tenths of all: each to a tenth. */
static void compare(struct simulation *s, unsigned int seconds)
{
	struct canfs_pair_row rows[CANFS_PAIRS_MAX];
	size_t count = list(s, seconds, rows);
	double most = 0;

	for (int bully = 0; bully < CLIENTS; bully++) {
		for (int victim = 0; victim < CLIENTS; victim++)
			most = fmax(most, s->truth[bully][victim]);
	}
	for (int bully = 0; bully < CLIENTS; bully++) {
		for (int victim = 0; victim < CLIENTS; victim++) {
			double truth = s->truth[bully][victim];
			double told = row_of(rows, count, bully, victim).waited_sec;

			if (truth >= most / 2)
				print_message("%d -> %d: %.3f s, told %.3f s\n", bully, victim,
					truth, told);
			if (truth >= most / 2)
				assert_float_equal(told, truth, truth / 10);
			else
				assert_true(told < truth + most / 10);
		}
	}
}

/* Seven that read a little; all of them wait for what one does besides. */
static struct simulation *light_readers(void)
{
	struct simulation *s = new_simulation();

	for (int i = 0; i < CLIENTS; i++)
		s->client[i] = (struct client) {
			.think_usec = 250000, .read_bytes = 8192, .reads_at_once = 1
		};
	return s;
}

static void one_that_scans(void **state)
{
	struct simulation *s = light_readers();

	(void)state;
	s->client[3] =
		(struct client) { .think_usec = 1, .read_bytes = 1 << 20, .reads_at_once = 4 };
	simulate(s, 40);
	compare(s, 40);
	free_simulation(s);
}

static void one_that_writes_back(void **state)
{
	struct simulation *s = light_readers();
	struct canfs_pair_row rows[CANFS_PAIRS_MAX], row;
	size_t count;

	(void)state;
	s->client[5].write_bytes_per_step = 6 << 20;
	simulate(s, 40);
	compare(s, 40);
	count = list(s, 40, rows);
	row = row_of(rows, count, 5, 0);
	assert_true(row.waits.operation[CANFS_WAITING_READ] > 0.99 * row.waited_sec);
	assert_true(row.waits.cause[CANFS_CAUSE_WRITE_BACK] > 0.8 * row.waited_sec);
	free_simulation(s);
}

static void one_that_syncs(void **state)
{
	struct simulation *s = light_readers();
	struct canfs_pair_row rows[CANFS_PAIRS_MAX], row;
	size_t count;

	(void)state;
	s->client[0].syncs_at_once = 8;
	simulate(s, 40);
	compare(s, 40);
	count = list(s, 40, rows);
	row = row_of(rows, count, 0, 1);
	assert_true(row.waits.cause[CANFS_CAUSE_SYNC] > 0.8 * row.waited_sec);
	free_simulation(s);
}

/* Two of them, one twice as much. */
static void two_bullies(void **state)
{
	struct simulation *s = light_readers();

	(void)state;
	s->client[1] =
		(struct client) { .think_usec = 1, .read_bytes = 1 << 20, .reads_at_once = 4 };
	s->client[2] =
		(struct client) { .think_usec = 1, .read_bytes = 1 << 20, .reads_at_once = 2 };
	simulate(s, 40);
	compare(s, 40);
	free_simulation(s);
}

/* Nobody waits for anybody if there is nobody else, or if nothing is short. */
static void nobody_waits(void **state)
{
	struct canfs_pair_row rows[CANFS_PAIRS_MAX];
	struct simulation *s = new_simulation();
	size_t count;

	(void)state;
	s->client[0] =
		(struct client) { .think_usec = 1, .read_bytes = 1 << 20, .reads_at_once = 8 };
	simulate(s, 20);
	assert_int_equal(list(s, 20, rows), 0);
	free_simulation(s);
	s = new_simulation();
	for (int i = 0; i < 2; i++)
		s->client[i] = (struct client) {
			.think_usec = 500000, .read_bytes = 8192, .reads_at_once = 1
		};
	simulate(s, 20);
	count = list(s, 20, rows);
	/* Two that use 2 % each meet by chance. */
	for (size_t i = 0; i < count; i++)
		assert_true(rows[i].waited_sec < 0.1);
	free_simulation(s);
}

/* A back end of which nothing is seen, and which is another one than is assumed: the bully and its cause, if not the seconds. */
static const struct unseen {
	struct client bully;
	enum canfs_wait_cause cause;
} unseen[] = {
	{ { .think_usec = 1, .read_bytes = 1 << 20, .reads_at_once = 4 }, CANFS_CAUSE_READ },
	{ { .write_bytes_per_step = 6 << 20 }, CANFS_CAUSE_WRITE_BACK },
	{ { .syncs_at_once = 8 }, CANFS_CAUSE_SYNC },
};

static void behind_an_unseen_back_end(void **state)
{
	struct canfs_pair_row rows[CANFS_PAIRS_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++) {
		struct simulation *s = light_readers();
		size_t count;

		s->disk.disks = 0;
		s->client[4] = unseen[i].bully;
		simulate(s, 40);
		count = list(s, 40, rows);
		assert_true(count >= CLIENTS - 1);
		for (int n = 0; n < CLIENTS - 1; n++) {
			double truth = s->truth[4][client_of(&rows[n].victim)];

			assert_int_equal(client_of(&rows[n].bully), 4);
			assert_true(
				rows[n].waits.cause[unseen[i].cause] > 0.8 * rows[n].waited_sec);
			assert_true(
				rows[n].waited_sec > truth / 2 && rows[n].waited_sec < truth * 2);
		}
		free_simulation(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_scans),
		cmocka_unit_test(one_that_writes_back),
		cmocka_unit_test(one_that_syncs),
		cmocka_unit_test(two_bullies),
		cmocka_unit_test(nobody_waits),
		cmocka_unit_test(behind_an_unseen_back_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
