// SPDX-License-Identifier: LGPL-3.0-or-later
/* The table of heavy clients: what it counts, and which it keeps when there are too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include "server/clients/clients.h"

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage storage = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&storage;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&storage;

	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
		in6->sin6_family = AF_INET6;
	}
	return storage;
}

static void count(
	struct canfs_clients *clients, const char *text, enum canfs_client_op op, uint64_t bytes)
{
	struct sockaddr_storage storage = address(text);

	canfs_clients_count(clients, (const struct sockaddr *)&storage, op, bytes);
}

static void count_number(struct canfs_clients *clients, uint32_t number, uint64_t bytes)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(number) };

	canfs_clients_count(clients, (const struct sockaddr *)&in, CANFS_CLIENT_READ, bytes);
}

static void counts_each_client(void **state)
{
	struct canfs_clients *clients = canfs_clients_new();
	struct canfs_client_row rows[4];
	struct canfs_client_sum others;
	char text[INET6_ADDRSTRLEN];

	(void)state;
	count(clients, "10.0.0.1", CANFS_CLIENT_READ, 1000);
	count(clients, "10.0.0.2", CANFS_CLIENT_WRITE, 1000000);
	/* The same client by an IPv6 socket of the server. */
	count(clients, "::ffff:10.0.0.1", CANFS_CLIENT_READ, 500);
	count(clients, "2001:db8::1", CANFS_CLIENT_READ, 1);
	canfs_clients_tick(clients, 1);
	assert_int_equal(canfs_clients_top(clients, rows, 4, &others), 3);
	inet_ntop(AF_INET6, &rows[0].address, text, sizeof(text));
	assert_string_equal(text, "::ffff:10.0.0.2");
	assert_int_equal(rows[0].sum.operations[CANFS_CLIENT_WRITE], 1);
	assert_int_equal(rows[0].sum.bytes[CANFS_CLIENT_WRITE], 1000000);
	assert_int_equal(rows[1].sum.operations[CANFS_CLIENT_READ], 2);
	assert_int_equal(rows[1].sum.bytes[CANFS_CLIENT_READ], 1500);
	assert_int_equal(rows[2].sum.bytes[CANFS_CLIENT_READ], 1);
	assert_int_equal(others.operations[CANFS_CLIENT_READ], 0);
	assert_int_equal(canfs_clients_top(clients, rows, 1, NULL), 1);
	canfs_clients_free(clients);
}

static void rates_follow_the_load(void **state)
{
	struct canfs_clients *clients = canfs_clients_new();
	struct canfs_client_row row;

	(void)state;
	for (int sec = 0; sec < 100; sec++) {
		for (int i = 0; i < 10; i++)
			count(clients, "10.0.0.1", CANFS_CLIENT_READ, 4096);
		canfs_clients_tick(clients, 1);
	}
	assert_int_equal(canfs_clients_top(clients, &row, 1, NULL), 1);
	assert_float_equal(row.operations_per_sec[CANFS_CLIENT_READ], 10, 0.01);
	assert_float_equal(row.bytes_per_sec[CANFS_CLIENT_READ], 40960, 10);
	assert_float_equal(row.load, 10 * (4096 + CANFS_CLIENTS_OPERATION_BYTES), 100);
	for (int sec = 0; sec < 100; sec++)
		canfs_clients_tick(clients, 1);
	assert_int_equal(canfs_clients_top(clients, &row, 1, NULL), 1);
	assert_true(row.load < 100);
	assert_int_equal(row.sum.operations[CANFS_CLIENT_READ], 1000);
	canfs_clients_free(clients);
}

/* Twenty times as many clients as there is room for, and among them eight that matter. */
static void a_crowd_does_not_push_out_the_heavy(void **state)
{
	struct canfs_clients *clients = canfs_clients_new();
	struct canfs_client_row rows[8];
	struct canfs_client_sum others;
	uint64_t heavy_bytes = 0;
	uint32_t visitor = 0;

	(void)state;
	for (int sec = 0; sec < 30; sec++) {
		for (uint32_t i = 0; i < 20 * CANFS_CLIENTS_MAX; i++) {
			count_number(clients, 0x0b000000 + visitor++ % 100000, 4096);
			count_number(clients, 0x0a000000 + i % 8, 1 << 20);
		}
		canfs_clients_tick(clients, 1);
	}
	assert_int_equal(canfs_clients_top(clients, rows, 8, &others), 8);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(rows[i].address.s6_addr[12], 0x0a);
		heavy_bytes += rows[i].sum.bytes[CANFS_CLIENT_READ];
	}
	/* They were never out. */
	assert_int_equal(heavy_bytes, UINT64_C(30) * 20 * CANFS_CLIENTS_MAX << 20);
	assert_true(others.operations[CANFS_CLIENT_READ] > 0);
	canfs_clients_free(clients);
}

static double others_than(struct canfs_clients *clients, const char *text)
{
	struct sockaddr_storage storage = address(text);

	return canfs_clients_others(clients, (const struct sockaddr *)&storage);
}

static void took(struct canfs_clients *clients, const char *text, uint64_t usec)
{
	struct sockaddr_storage storage = address(text);
	struct canfs_client_load *load =
		canfs_clients_load(clients, (const struct sockaddr *)&storage);

	canfs_client_begin(load, CANFS_WAIT_READ, 1000);
	canfs_client_end(load, CANFS_WAIT_READ, 1000 + usec);
}

/* Little's law: what took half a second in a second was half an operation in flight. */
static void what_others_have_in_flight(void **state)
{
	struct canfs_clients *clients = canfs_clients_new();
	struct canfs_client_row row;

	(void)state;
	canfs_clients_measure(clients, 1000000);
	took(clients, "10.0.0.1", 500000);
	took(clients, "10.0.0.2", 2000000);
	took(clients, "::ffff:10.0.0.2", 1000000);
	assert_float_equal(others_than(clients, "10.0.0.1"), 0, 0);
	canfs_clients_measure(clients, 2000000);
	assert_float_equal(others_than(clients, "10.0.0.1"), 3, 1e-9);
	assert_float_equal(others_than(clients, "::ffff:10.0.0.1"), 3, 1e-9);
	assert_float_equal(others_than(clients, "10.0.0.2"), 0.5, 1e-9);
	assert_float_equal(others_than(clients, "10.0.0.3"), 3.5, 1e-9);
	/* Too soon to say. */
	canfs_clients_measure(clients, 2000000 + CANFS_CLIENTS_MEASURE_USEC - 1);
	assert_float_equal(others_than(clients, "10.0.0.3"), 3.5, 1e-9);
	canfs_clients_measure(clients, 2000000 + CANFS_CLIENTS_MEASURE_USEC);
	assert_float_equal(others_than(clients, "10.0.0.3"), 0, 0);
	/* What is timed is not counted. */
	assert_int_equal(canfs_clients_top(clients, &row, 1, NULL), 1);
	assert_int_equal(row.sum.operations[CANFS_CLIENT_READ], 0);
	canfs_clients_free(clients);
}

/* What has not ended counts all the same. */
static void what_is_in_flight_just_now(void **state)
{
	struct canfs_clients *clients = canfs_clients_new();
	struct sockaddr_storage storage = address("10.0.0.1");
	struct canfs_client_load *load =
		canfs_clients_load(clients, (const struct sockaddr *)&storage);

	(void)state;
	canfs_clients_measure(clients, 1000000);
	canfs_client_begin(load, CANFS_WAIT_READ, 1250000);
	canfs_client_begin(load, CANFS_WAIT_COMMIT, 1500000);
	canfs_clients_measure(clients, 2000000);
	assert_float_equal(others_than(clients, "10.0.0.2"), 1.25, 1e-9);
	canfs_client_end(load, CANFS_WAIT_READ, 2500000);
	canfs_clients_measure(clients, 3000000);
	assert_float_equal(others_than(clients, "10.0.0.2"), 1.5, 1e-9);
	canfs_clients_free(clients);
}

/* Of a client of which one operation begins and ends in between, and one has begun and not ended. */
static void a_sample_has_all_of_it(void **state)
{
	static struct canfs_client_sample before[CANFS_CLIENTS_MAX], now[CANFS_CLIENTS_MAX];
	struct canfs_clients *clients = canfs_clients_new();
	struct sockaddr_storage storage = address("10.0.0.1");
	struct canfs_client_load *load = canfs_clients_count(
		clients, (const struct sockaddr *)&storage, CANFS_CLIENT_READ, 4096);
	int place = 0;

	(void)state;
	canfs_client_begin(load, CANFS_WAIT_READ, 100);
	/* The clock was read before the operation began, and the sample was made after. */
	canfs_clients_sample(clients, 97, before);
	canfs_client_begin(load, CANFS_WAIT_COMMIT, 200);
	canfs_client_end(load, CANFS_WAIT_COMMIT, 500);
	atomic_fetch_add(&load->disk_reads, 1);
	canfs_clients_sample(clients, 1100, now);
	while (IN6_IS_ADDR_UNSPECIFIED(&now[place].address))
		place++;
	assert_int_equal(now[place].sum.bytes[CANFS_CLIENT_READ], 4096);
	assert_int_equal(now[place].disk_reads - before[place].disk_reads, 1);
	assert_float_equal(canfs_client_flown_usec(now[place].flown[CANFS_WAIT_READ],
				   before[place].flown[CANFS_WAIT_READ]),
		1003, 1e-9);
	assert_float_equal(canfs_client_flown_usec(now[place].flown[CANFS_WAIT_COMMIT],
				   before[place].flown[CANFS_WAIT_COMMIT]),
		300, 1e-9);
	canfs_clients_free(clients);
}

/* A newcomer in its place has nothing of a client's time; nothing is lost of all. */
static void one_that_is_pushed_out_takes_its_time_with_it(void **state)
{
	struct canfs_clients *clients = canfs_clients_new();

	(void)state;
	for (uint32_t i = 0; i < 20 * CANFS_CLIENTS_MAX; i++) {
		struct sockaddr_in in = { .sin_family = AF_INET,
			.sin_addr.s_addr = htonl(0x0b000000 + i) };

		struct canfs_client_load *load =
			canfs_clients_load(clients, (const struct sockaddr *)&in);

		canfs_client_begin(load, CANFS_WAIT_COMMIT, 1000);
		canfs_client_end(load, CANFS_WAIT_COMMIT, 2000);
	}
	took(clients, "10.0.0.1", 0);
	canfs_clients_measure(clients, 1000000);
	assert_true(others_than(clients, "10.0.0.1") <= 20 * CANFS_CLIENTS_MAX / 1000.0);
	canfs_clients_measure(clients, 2000000);
	assert_float_equal(others_than(clients, "10.0.0.1"), 0, 0);
	canfs_clients_free(clients);
}

static void yesterdays_load_gives_way(void **state)
{
	struct canfs_clients *clients = canfs_clients_new();
	struct canfs_client_row row;

	(void)state;
	for (uint32_t i = 0; i < 20 * CANFS_CLIENTS_MAX; i++)
		count_number(clients, 0x0b000000 + i, 1 << 30);
	for (int sec = 0; sec < 600; sec++)
		canfs_clients_tick(clients, 1);
	for (int i = 0; i < 10; i++)
		count_number(clients, 0x0a000001, 4096);
	canfs_clients_tick(clients, 1);
	assert_int_equal(canfs_clients_top(clients, &row, 1, NULL), 1);
	assert_int_equal(row.address.s6_addr[12], 0x0a);
	canfs_clients_free(clients);
}

#define THREADS    4
#define PER_THREAD 200000

struct crowd {
	struct canfs_clients *clients;
	uint32_t first;
};

static void *visit(void *arg)
{
	const struct crowd *crowd = arg;

	for (uint32_t i = 0; i < PER_THREAD; i++)
		count_number(crowd->clients, crowd->first + i % 997, 1);
	return NULL;
}

/* Whatever threads do to each other, no operation is lost. */
static void threads_lose_nothing(void **state)
{
	struct canfs_client_row rows[CANFS_CLIENTS_MAX];
	struct canfs_clients *clients = canfs_clients_new();
	struct crowd crowd[THREADS];
	struct canfs_client_sum others;
	pthread_t threads[THREADS];
	uint64_t sum;
	size_t count;

	(void)state;
	for (uint32_t i = 0; i < THREADS; i++) {
		crowd[i] = (struct crowd) { clients, 0x0a000000 + i * 100 };
		assert_int_equal(pthread_create(&threads[i], NULL, visit, &crowd[i]), 0);
	}
	for (int i = 0; i < 100; i++)
		canfs_clients_tick(clients, 0.01);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	count = canfs_clients_top(clients, rows, CANFS_CLIENTS_MAX, &others);
	sum = others.operations[CANFS_CLIENT_READ];
	for (size_t i = 0; i < count; i++)
		sum += rows[i].sum.operations[CANFS_CLIENT_READ];
	assert_int_equal(sum, THREADS * PER_THREAD);
	canfs_clients_free(clients);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_each_client),
		cmocka_unit_test(rates_follow_the_load),
		cmocka_unit_test(a_crowd_does_not_push_out_the_heavy),
		cmocka_unit_test(what_others_have_in_flight),
		cmocka_unit_test(what_is_in_flight_just_now),
		cmocka_unit_test(a_sample_has_all_of_it),
		cmocka_unit_test(one_that_is_pushed_out_takes_its_time_with_it),
		cmocka_unit_test(yesterdays_load_gives_way),
		cmocka_unit_test(threads_lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
