// SPDX-License-Identifier: LGPL-3.0-or-later
/* The agent's control socket, text to text: what it says of mounts, knobs, decisions, options. */
#include "tests/unit/fake_agent.h"

#include <math.h>
#include <string.h>

static struct fake_agent agent;

static int setup(void **state)
{
	(void)state;
	fake_agent_make(&agent);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_agent_remove(&agent);
	return 0;
}

static json_t *ask(const char *request)
{
	const struct canfs_control_service service = { .commands = canfs_status_commands,
		.less = "\"last\"",
		.subject = &agent.view,
		.counters = &agent.view.counters };
	char *text = canfs_control_respond(&service, request, strlen(request),
		(struct canfs_control_time) { agent.now_usec, 1800000000.0 });
	json_t *reply = json_loads(text, 0, NULL);

	assert_non_null(reply);
	free(text);
	return reply;
}

static json_t *must(const char *request)
{
	json_t *reply = ask(request);

	if (!json_is_true(json_object_get(reply, "ok")))
		fail_msg("%s: %s", request, json_string_value(json_object_get(reply, "error")));
	return reply;
}

static void refused(const char *request, const char *of)
{
	json_t *reply = ask(request);
	const char *error = json_string_value(json_object_get(reply, "error"));

	assert_true(json_is_false(json_object_get(reply, "ok")));
	if (!strstr(error, of))
		fail_msg("'%s' is answered '%s', without '%s'", request, error, of);
	json_decref(reply);
}

/* The value at a path like "price.write"; NULL if there is none. */
static const json_t *at(const json_t *value, const char *path)
{
	char name[32];

	while (value && *path) {
		size_t len = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)len, path);
		value = json_object_get(value, name);
		path += len + (path[len] == '.');
	}
	return value;
}

static void assert_number(const json_t *object, const char *path, double number)
{
	assert_true(json_is_number(at(object, path)));
	assert_float_equal(json_number_value(at(object, path)), number, 1e-9);
}

static void assert_text(const json_t *object, const char *path, const char *text)
{
	assert_true(json_is_string(at(object, path)));
	assert_string_equal(json_string_value(at(object, path)), text);
}

static void test_status_of_the_agent(void **state)
{
	json_t *status;

	(void)state;
	agent.view.left_out = 3;
	agent.view.left_alone = 2;
	status = must("{\"command\":\"status\"}");
	assert_text(status, "mode", "enforce");
	assert_number(status, "uptime_sec", 100);
	assert_number(status, "memory.spare_bytes", (double)(777 * MIB));
	assert_number(status, "memory.cache_worth", 0.3);
	assert_number(status, "hold.bound_bytes", (double)(360 * MIB));
	assert_number(status, "hold.held_bytes", (double)(23 * MIB));
	assert_true(json_is_false(at(status, "flushing_point.raised")));
	assert_true(json_is_true(at(status, "flushing_point.possible")));
	assert_number(status, "mounts_left_out", 3);
	assert_number(status, "mounts_left_alone", 2);
	assert_number(status, "ticks", 7);
	assert_int_equal(json_array_size(at(status, "knobs")), 0);
	assert_int_equal(json_array_size(at(status, "mounts")), 2);
	json_decref(status);
}

static void test_status_of_a_mount_that_defers(void **state)
{
	json_t *status;
	const json_t *mount;

	(void)state;
	fake_agent_defers(&agent);
	agent.bidders[0]->rates.rate[CANFS_RPC_WRITE] = (struct canfs_rate) { 120, 3.1 };
	status = must("{\"command\":\"status\"}");
	mount = json_array_get(at(status, "mounts"), 0);
	assert_text(mount, "mountpoint", "/mnt/a");
	assert_text(mount, "server", "srv:/a");
	assert_text(mount, "version", "4.2");
	assert_true(json_is_null(at(mount, "sec")));
	assert_number(mount, "price.write", 0.4);
	assert_number(mount, "price.read_ahead", 0.1);
	assert_number(mount, "price.age_sec", 0.5);
	assert_text(mount, "price.bottleneck", "disk");
	assert_true(json_is_null(at(mount, "network")));
	assert_number(mount, "own.write", 0.12);
	assert_text(mount, "verdict.write", "defer");
	assert_text(mount, "verdict.read_ahead", "accelerate");
	assert_number(mount, "held_bytes", (double)(23 * MIB));
	assert_number(mount, "read_ahead_kib.original", 128);
	assert_number(mount, "read_ahead_kib.now", 256);
	assert_number(mount, "rpc.write.per_sec", 120);
	assert_number(mount, "rpc.write.round_trip_ms", 3.1);
	assert_number(mount, "poller.questions", 12);
	assert_number(mount, "poller.answers", 10);
	assert_number(mount, "poller.prices_in_a_row", 3);
	assert_number(mount, "poller.failures", 2);
	assert_true(json_is_true(at(mount, "poller.publishes")));
	assert_true(json_is_true(at(status, "flushing_point.raised")));
	assert_true(json_is_false(at(status, "flushing_point.squeezed")));
	json_decref(status);
	agent.actors.squeeze.active = true; /* the same knobs, the other way */
	status = must("{\"command\":\"status\"}");
	agent.actors.squeeze.active = false;
	assert_true(json_is_false(at(status, "flushing_point.raised")));
	assert_true(json_is_true(at(status, "flushing_point.squeezed")));
	json_decref(status);
}

static void test_status_of_a_mount_without_a_price(void **state)
{
	json_t *status;
	const json_t *mount;

	(void)state;
	status = must("{\"command\":\"status\"}");
	mount = json_array_get(at(status, "mounts"), 1);
	assert_text(mount, "version", "3");
	assert_text(mount, "sec", "krb5");
	assert_true(json_is_null(at(mount, "price")));
	assert_text(mount, "verdict.write", "hold");
	assert_number(mount, "read_ahead_kib.original", 128);
	assert_number(mount, "read_ahead_kib.now", 128);
	assert_true(json_is_false(at(mount, "poller.publishes")));
	json_decref(status);
}

static const json_t *find_knob(const json_t *status, const char *name)
{
	const json_t *knobs = at(status, "knobs");

	for (size_t i = 0; i < json_array_size(knobs); i++) {
		const json_t *knob = json_array_get(knobs, i);

		if (strcmp(json_string_value(at(knob, "knob")), name) == 0)
			return knob;
	}
	fail_msg("%s is not among the knobs", name);
	return NULL;
}

static void test_knobs_with_their_originals(void **state)
{
	json_t *status;
	const json_t *knob;

	(void)state;
	fake_agent_defers(&agent);
	/* Someone else turns one of ours; the agent notices when it wants to turn it again. */
	fake_root_write(&agent.root, BDI_A "/min_ratio", "7\n");
	agent.view.host.bound_bytes *= 2;
	agent.view.host.now_usec += 2000000;
	canfs_act_defer(&agent.actors, agent.bidders, 1, &agent.view.host);
	status = must("{\"command\":\"status\"}");
	knob = find_knob(status, "read_ahead_kb");
	assert_number(knob, "original", 128);
	assert_number(knob, "now", 256);
	assert_text(knob, "mountpoint", "/mnt/a");
	assert_text(knob, "unit", "KiB");
	assert_true(json_is_false(at(knob, "others")));
	knob = find_knob(status, "min_ratio");
	assert_number(knob, "now", 7);
	assert_true(json_is_true(at(knob, "others")));
	knob = find_knob(status, "dirty_bytes");
	assert_number(knob, "original", 0);
	assert_text(knob, "pair", "dirty_ratio");
	assert_number(knob, "pair_original", 20);
	assert_true(json_number_value(at(knob, "now")) > 0);
	json_decref(status);
}

/* Decisions of the reply about what, or of whatever there are. */
static size_t count(const json_t *why, const char *what)
{
	const json_t *decisions = at(why, "decisions");
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(decisions); i++)
		n += !what ||
		     strcmp(json_string_value(at(json_array_get(decisions, i), "what")), what) == 0;
	return n;
}

static void test_why(void **state)
{
	json_t *why = must("{\"command\":\"why\"}");
	const json_t *decision = NULL;

	(void)state;
	assert_int_equal(count(why, NULL), 0);
	json_decref(why);
	fake_agent_defers(&agent);
	why = must("{\"command\":\"why\"}");
	assert_int_equal(count(why, "write-back"), 1);
	assert_int_equal(count(why, "read-ahead"), 1);
	assert_int_equal(count(why, "read_ahead_kb"), 1);
	assert_true(count(why, "dirty_bytes") == 1);
	for (size_t i = 0; i < json_array_size(at(why, "decisions")); i++) {
		decision = json_array_get(at(why, "decisions"), i);
		if (strcmp(json_string_value(at(decision, "what")), "write-back") == 0)
			break;
	}
	assert_text(decision, "mountpoint", "/mnt/a");
	assert_text(decision, "from", "hold");
	assert_text(decision, "to", "defer");
	assert_number(decision, "server_price", 0.4);
	assert_number(decision, "own_price", 0.12);
	assert_true(json_is_null(at(decision, "network_price")));
	assert_number(decision, "time", 1800000000.0);
	assert_text(decision, "reason",
		"server 0.40 (disk) above own 0.12; 23 of 360 MiB held, cache worth 0.30");
	json_decref(why);
}

/* A link of 100 Mbit/s that others use: it is more expensive than the server. */
static void test_own_network(void **state)
{
	struct canfs_bidder_network *network = &agent.bidders[0]->network;
	json_t *status, *why;
	const json_t *mount, *decision;

	(void)state;
	*network = (struct canfs_bidder_network) { .interface = "eth0",
		.bytes_per_sec = 12.5e6,
		.used_by_others = 0.8,
		.write = 0.68,
		.readahead = 0.6 };
	fake_agent_defers(&agent);
	status = must("{\"command\":\"status\"}");
	mount = json_array_get(at(status, "mounts"), 0);
	assert_text(mount, "network.interface", "eth0");
	assert_number(mount, "network.mbit_per_sec", 100);
	assert_number(mount, "network.used_by_others", 0.8);
	assert_number(mount, "network.write", 0.68);
	assert_number(mount, "network.read_ahead", 0.6);
	assert_number(mount, "price.write", 0.4);
	json_decref(status);
	why = must("{\"command\":\"why\"}");
	for (size_t i = 0; i < json_array_size(at(why, "decisions")); i++) {
		decision = json_array_get(at(why, "decisions"), i);
		if (strcmp(json_string_value(at(decision, "what")), "write-back") == 0) {
			assert_number(decision, "server_price", 0.4);
			assert_number(decision, "network_price", 0.68);
			assert_text(decision, "reason",
				"own network 0.68 (server 0.40) above own 0.12; 23 of 360 MiB "
				"held, cache worth 0.30");
		}
		if (strcmp(json_string_value(at(decision, "what")), "read-ahead") == 0)
			assert_text(decision, "reason",
				"own network 0.60 (server 0.10) above own 0.50; confidence 1.00");
	}
	assert_int_equal(count(why, "write-back"), 1);
	assert_int_equal(count(why, "read-ahead"), 1);
	json_decref(why);
}

static void note(struct canfs_decisions *ring, uint64_t at_usec, const char *what)
{
	canfs_decisions_note(ring, at_usec, what, "a", "b", canfs_no_bids, "because");
}

static void test_why_is_merged_and_the_latest_first(void **state)
{
	static const char *const order[] = { "third", "second", "first" };
	json_t *why;

	(void)state;
	note(&agent.bidders[0]->decisions, 10 * SEC, "first");
	note(&agent.actors.decisions, 20 * SEC, "second");
	note(&agent.bidders[1]->decisions, 30 * SEC, "third");
	why = must("{\"command\":\"why\"}");
	assert_int_equal(count(why, NULL), 3);
	for (size_t i = 0; i < 3; i++)
		assert_text(json_array_get(at(why, "decisions"), i), "what", order[i]);
	assert_true(json_is_null(at(json_array_get(at(why, "decisions"), 1), "mountpoint")));
	assert_true(json_is_null(at(json_array_get(at(why, "decisions"), 1), "own_price")));
	json_decref(why);

	/* Of one mount, and what concerns all. */
	why = must("{\"command\":\"why\",\"mount\":\"/mnt/a\"}");
	assert_int_equal(count(why, NULL), 2);
	assert_int_equal(count(why, "third"), 0);
	json_decref(why);
	why = must("{\"command\":\"why\",\"last\":1}");
	assert_int_equal(count(why, NULL), 1);
	assert_int_equal(count(why, "third"), 1);
	json_decref(why);
}

static void test_why_is_bounded(void **state)
{
	json_t *why;

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		note(&agent.bidders[0]->decisions, i, "again");
	why = must("{\"command\":\"why\"}");
	assert_int_equal(count(why, NULL), 32);
	json_decref(why);
	why = must("{\"command\":\"why\",\"last\":1024}");
	assert_int_equal(count(why, NULL), CANFS_DECISIONS_MAX);
	json_decref(why);
}

static void test_what_is_refused(void **state)
{
	(void)state;
	refused("{\"command\":\"stop\"}", "allowed: status, why");
	refused("{\"command\":\"status\",\"mount\":\"/mnt/a\"}", "allowed: none");
	refused("{\"command\":\"why\",\"mount\":\"/mnt/c\"}", "'/mnt/c' is not managed");
	refused("{\"command\":\"why\",\"mount\":5}", "mount: must be a string");
	refused("{\"command\":\"why\",\"last\":0}", "from 1 to 1024");
	refused("{\"command\":\"why\",\"last\":1025}", "from 1 to 1024");
	refused("status", "not JSON");
	refused("[]", "as {\"command\":\"status\"}");
}

static void test_paths_that_are_not_utf8(void **state)
{
	json_t *status;

	(void)state;
	strcpy(agent.bidders[0]->mount.mountpoint, "/mnt/\xff\xfe");
	status = must("{\"command\":\"status\"}");
	assert_text(json_array_get(at(status, "mounts"), 0), "mountpoint", "/mnt/??");
	json_decref(status);
}

#define AGENT_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(test_status_of_the_agent),
		AGENT_TEST(test_status_of_a_mount_that_defers),
		AGENT_TEST(test_status_of_a_mount_without_a_price),
		AGENT_TEST(test_knobs_with_their_originals),
		AGENT_TEST(test_why),
		AGENT_TEST(test_own_network),
		AGENT_TEST(test_why_is_merged_and_the_latest_first),
		AGENT_TEST(test_why_is_bounded),
		AGENT_TEST(test_what_is_refused),
		AGENT_TEST(test_paths_that_are_not_utf8),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
