// SPDX-License-Identifier: LGPL-3.0-or-later
/* The status as Prometheus reads it. */
#include "tests/unit/fake_agent.h"

#include <ctype.h>
#include <string.h>
#include "client-agent/status/metrics.h"

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

static char *metrics(void)
{
	json_t *status = canfs_status_json(&agent.view, agent.now_usec);
	char *text = canfs_metrics_text(status, NULL);

	assert_non_null(text);
	json_decref(status);
	return text;
}

/* Is this a whole line of the text? How often? */
static size_t count(const char *text, const char *line)
{
	size_t n = 0, length = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at += length)
		n += (at == text || at[-1] == '\n') && at[length] == '\n';
	return n;
}

static void must(const char *text, const char *line)
{
	if (count(text, line) != 1)
		fail_msg("%zu times '%s' in:\n%s", count(text, line), line, text);
}

static void test_values(void **state)
{
	char *text;

	(void)state;
	fake_agent_defers(&agent);
	agent.bidders[0]->deferred_usec = 90500000;
	agent.bidders[0]->network =
		(struct canfs_bidder_network) { .bytes_per_sec = 125e6, .write = 0.33 };
	text = metrics();
	must(text, "canfs_network_price{mount=\"/mnt/a\",operation=\"write\"} 0.33");
	must(text, "canfs_network_price{mount=\"/mnt/a\",operation=\"read_ahead\"} 0");
	must(text, "canfs_enforcing 1");
	must(text, "canfs_flushing_point_raised 1");
	must(text, "canfs_server_price{mount=\"/mnt/a\",operation=\"write\"} 0.4");
	must(text, "canfs_server_price{mount=\"/mnt/a\",operation=\"read_ahead\"} 0.1");
	must(text, "canfs_verdict{mount=\"/mnt/a\",operation=\"write\"} 2");
	must(text, "canfs_verdict{mount=\"/mnt/a\",operation=\"read_ahead\"} 1");
	must(text, "canfs_verdict{mount=\"/mnt/b\",operation=\"write\"} 0");
	must(text, "canfs_deferred_seconds_total{mount=\"/mnt/a\"} 90.5");
	must(text, "canfs_read_ahead_bytes{mount=\"/mnt/a\"} 262144");
	must(text, "canfs_publishes{mount=\"/mnt/b\"} 0");
	must(text, "canfs_mount_held_bytes{mount=\"/mnt/a\"} 24117248");
	must(text,
		"canfs_mount_info{mount=\"/mnt/b\",server=\"srv:/b\",version=\"3\",sec=\"krb5\"} "
		"1");
	free(text);
}

static void test_what_is_unknown_is_left_out(void **state)
{
	char *text = metrics();

	(void)state;
	assert_null(strstr(text, "canfs_server_price{"));
	assert_null(strstr(text, "canfs_network_price{"));
	assert_null(strstr(text, "nan"));
	free(text);
}

static void test_labels_are_escaped(void **state)
{
	char *text;

	(void)state;
	strcpy(agent.bidders[0]->mount.mountpoint, "/mnt/\"a\\b\nc");
	text = metrics();
	must(text, "canfs_publishes{mount=\"/mnt/\\\"a\\\\b\\nc\"} 0");
	free(text);
}

/* A scrape in which a series comes twice is thrown away as a whole. */
static void test_mounts_on_one_place(void **state)
{
	char *text;

	(void)state;
	strcpy(agent.bidders[0]->mount.mountpoint, "/mnt/b");
	agent.bidders[1]->held.backlog_bytes = 5;
	text = metrics();
	must(text, "canfs_mount_held_bytes{mount=\"/mnt/b\"} 5");
	assert_null(strstr(strstr(text, "canfs_mount_info{") + 1, "canfs_mount_info{"));
	free(text);
}

/* Every line is a comment or "name[{labels}] number"; a name has its HELP and TYPE first, once. */
static void test_the_format(void **state)
{
	char *text, *rest, *line, head[160];

	(void)state;
	fake_agent_defers(&agent);
	text = metrics();
	rest = strdup(text);
	for (char *next = rest; (line = strsep(&next, "\n")) && next;) {
		size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyz_");
		const char *value = strrchr(line, ' ');
		char *end;

		if (line[0] == '#') {
			assert_int_equal(count(text, line), 1);
			continue;
		}
		assert_memory_equal(line, "canfs_", 6);
		assert_true(line[name] == ' ' || line[name] == '{');
		(void)strtod(value + 1, &end);
		assert_true(end > value + 1 && *end == '\0');
		snprintf(head, sizeof(head), "# HELP %.*s ", (int)name, line);
		assert_true(strstr(text, head) && strstr(text, head) < text + (line - rest));
	}
	assert_string_equal(line, "");
	free(rest);
	free(text);
}

#define AGENT_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(test_values),
		AGENT_TEST(test_what_is_unknown_is_left_out),
		AGENT_TEST(test_labels_are_escaped),
		AGENT_TEST(test_mounts_on_one_place),
		AGENT_TEST(test_the_format),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
