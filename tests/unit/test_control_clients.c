// SPDX-License-Identifier: LGPL-3.0-or-later
/* What the control socket tells of clients, their classes, and who makes whom wait. */
#include "tests/unit/control_scene.h"
#include <arpa/inet.h>

/* As of a server that does not see its clients' reads and writes. */
static void clients_may_be_unknown(void **state)
{
	json_t *reply;

	(void)state;
	canfs_clients_free(subject.clients);
	subject.clients = NULL;
	reply = must("{\"command\":\"clients\"}");
	assert_true(json_is_null(json_object_get(reply, "clients")));
	assert_true(json_is_null(json_object_get(reply, "forgotten")));
	json_decref(reply);
}

static struct canfs_client_load *load_of(uint32_t address)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };

	return canfs_clients_load(subject.clients, (const struct sockaddr *)&in);
}

/* 10.0.0.1 waits for a second, while the disk reads for 10.0.0.2, which does not wait. */
static void make_wait(void)
{
	struct canfs_disk_sample disk = {
		.disks = 1, .positioning_sec = 8e-3, .bytes_per_sec = 150e6
	};
	struct canfs_client_load *victim = load_of(0x0a000001), *bully = load_of(0x0a000002);

	subject.waiting = canfs_waiting_new();
	assert_non_null(subject.waiting);
	canfs_waiting_step(subject.waiting, now_usec - 2 * SEC, subject.clients, &disk);
	canfs_client_begin(victim, CANFS_WAIT_READ, now_usec - 2 * SEC);
	canfs_client_note_disk_read(bully, 100 << 20);
	disk.reads = 100;
	disk.read_bytes = 100 << 20;
	canfs_waiting_step(subject.waiting, now_usec - SEC, subject.clients, &disk);
}

static void shows_who_makes_whom_wait(void **state)
{
	json_t *reply, *pair;

	(void)state;
	reply = must("{\"command\":\"who\"}");
	assert_true(json_is_null(json_object_get(reply, "pairs")));
	json_decref(reply);
	make_wait();
	reply = must("{\"command\":\"who\",\"seconds\":5,\"client\":\"10.0.0.1\"}");
	assert_int_equal(json_array_size(json_object_get(reply, "pairs")), 1);
	pair = json_array_get(json_object_get(reply, "pairs"), 0);
	assert_string_equal(json_string_value(json_object_get(pair, "bully")), "10.0.0.2");
	assert_string_equal(json_string_value(json_object_get(pair, "victim")), "10.0.0.1");
	assert_true(json_number_value(json_object_get(pair, "waited")) > 0.9);
	assert_int_equal(json_array_size(json_object_get(reply, "victims")), 1);
	json_decref(reply);
	reply = must("{\"command\":\"who\",\"client\":\"10.0.0.3\"}");
	assert_int_equal(json_array_size(json_object_get(reply, "pairs")), 0);
	json_decref(reply);
	refused("{\"command\":\"who\",\"seconds\":61}", "from 1 to 60");
	refused("{\"command\":\"who\",\"client\":\"nobody\"}", "is not an address");
	canfs_waiting_free(subject.waiting);
	subject.waiting = NULL;
}

static void shows_clients(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001) };
	json_t *reply;
	const json_t *client;

	(void)state;
	canfs_clients_count(subject.clients, (const struct sockaddr *)&in, CANFS_CLIENT_WRITE, 512);
	reply = must("{\"command\":\"clients\",\"top\":1}");
	client = json_array_get(json_object_get(reply, "clients"), 0);
	assert_string_equal(json_string_value(json_object_get(client, "address")), "10.0.0.1");
	assert_int_equal(json_integer_value(json_object_get(client, "write_bytes")), 512);
	json_decref(reply);
	refused("{\"command\":\"clients\",\"top\":1000}", "from 1 to 256");
	refused("{\"command\":\"clients\",\"top\":1.5}", "whole number");
}

static void shows_classes(void **state)
{
	struct canfs_shared_classes shared = { .current = NULL };
	struct canfs_classes classes = { .count = 0 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	char error[CANFS_CLASS_ERROR_MAX];
	const json_t *row;
	json_t *reply;

	(void)state;
	canfs_classes_add_word(&classes, "10.0.3.0/24", NULL, NULL, error);
	canfs_classes_add_word(&classes, "fd00::7", NULL, NULL, error);
	assert_int_equal(canfs_classes_end(&classes, "batch", -30, error), 0);
	assert_int_equal(canfs_classes_end(&classes, "empty", 30, error), 0);
	assert_int_equal(canfs_shared_classes_set(&shared, &classes), 1);
	subject.classes = &shared;

	reply = must("{\"command\":\"config\"}");
	row = json_array_get(json_object_get(reply, "Class"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "Name")), "batch");
	assert_int_equal(json_integer_value(json_object_get(row, "Premium")), -30);
	row = json_object_get(row, "Clients");
	assert_int_equal(json_array_size(row), 2);
	assert_string_equal(json_string_value(json_array_get(row, 0)), "10.0.3.0/24");
	assert_string_equal(json_string_value(json_array_get(row, 1)), "fd00::7");
	row = json_array_get(json_object_get(reply, "Class"), 1);
	assert_int_equal(json_array_size(json_object_get(row, "Clients")), 0);
	json_decref(reply);

	in.sin_addr.s_addr = htonl(0x0a000307);
	canfs_clients_count(subject.clients, (struct sockaddr *)&in, CANFS_CLIENT_READ, 2000);
	in.sin_addr.s_addr = htonl(0x0a000407);
	canfs_clients_count(subject.clients, (struct sockaddr *)&in, CANFS_CLIENT_READ, 1000);
	canfs_clients_tick(subject.clients, 1);
	reply = must("{\"command\":\"clients\"}");
	row = json_array_get(json_object_get(reply, "clients"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "class")), "batch");
	assert_int_equal(json_integer_value(json_object_get(row, "premium_percent")), -30);
	row = json_array_get(json_object_get(reply, "clients"), 1);
	assert_true(json_is_null(json_object_get(row, "class")));
	assert_int_equal(json_integer_value(json_object_get(row, "premium_percent")), 0);
	json_decref(reply);

	in.sin_addr.s_addr = htonl(0x0a000307);
	assert_int_equal(canfs_shared_classes_premium(&shared, (struct sockaddr *)&in), -30);
	reply = must("{\"command\":\"counters\"}");
	assert_int_equal(json_integer_value(json_object_get(reply, "replies_with_premium")), 1);
	json_decref(reply);
	canfs_shared_classes_free(&shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(shows_clients, set_up, tear_down),
		cmocka_unit_test_setup_teardown(shows_who_makes_whom_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(clients_may_be_unknown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(shows_classes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
