// SPDX-License-Identifier: LGPL-3.0-or-later
/* What a price server says, as Prometheus reads it; and how it is asked, in a poll loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "client-agent/status/server_metrics.h"
#include "client-agent/status/server_reader.h"

#define SEC   UINT64_C(1000000)
#define START (1000 * SEC)

#define PRICES                                                                                     \
	"{\"ok\":true,\"memory\":{\"dirty\":0.25,\"pressure\":0,\"read_cache\":null},"             \
	"\"exports\":[{\"export\":\"/srv/\\\"a\\\"\",\"publishes\":true,\"resources\":{"           \
	"\"disk\":{\"utilization\":0.5,\"price\":0.3},\"backend\":{\"utilization\":0.25,"          \
	"\"price\":0.1},\"cpu\":{\"utilization\":null,\"price\":null}},\"operations\":{"           \
	"\"write\":{\"price\":0.3,\"bottleneck\":\"disk\"},"                                       \
	"\"read_ahead\":{\"price\":null,\"bottleneck\":null}}}]}\n"
#define COUNTERS "{\"ok\":true,\"exports\":1,\"delegations\":7}\n"
#define CLIENTS                                                                                    \
	"{\"ok\":true,\"clients\":[{\"address\":\"10.0.0.2\","                                     \
	"\"read_bytes\":70,\"write_bytes\":80}]}\n"
#define WHO                                                                                        \
	"{\"ok\":true,\"seconds\":60,\"bullies\":[{\"bully\":\"10.0.0.2\",\"waited\":30,"          \
	"\"cause\":{\"write_back\":24,\"read\":6}}],\"victims\":[{\"victim\":\"10.0.0.3\","        \
	"\"waited\":30,\"waiting\":{\"read\":30}}]}\n"
#define NO_PREFETCH "{\"ok\":false,\"error\":\"unknown command\"}\n"

static char path[] = "/tmp/canfs-reader-XXXXXX/ganesha.sock";
static int listener, peer;
static struct canfs_server_reader reader;
static uint64_t now_usec;

static void serve_socket(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	strcpy(address.sun_path, path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 4), 0);
}

static int begin(void **state)
{
	char *slash;

	(void)state;
	strcpy(path, "/tmp/canfs-reader-XXXXXX/ganesha.sock");
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_non_null(mkdtemp(path));
	*slash = '/';
	now_usec = START;
	peer = -1;
	serve_socket();
	return canfs_server_reader_open(&reader, "", path);
}

static int end(void **state)
{
	(void)state;
	canfs_server_reader_close(&reader);
	close(peer);
	close(listener);
	unlink(path);
	*strrchr(path, '/') = '\0';
	return rmdir(path);
}

/* The loop goes round; how long it would wait. */
static int turn(void)
{
	struct pollfd polled;
	int timeout_msec = 1000000;

	(void)canfs_server_reader_poll(&reader, now_usec, &polled, &timeout_msec);
	canfs_server_reader_serve(&reader, now_usec);
	return timeout_msec;
}

static void reply(const char *text)
{
	assert_int_equal(send(peer, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	turn();
}

static void expect_questions(void)
{
	char text[512] = "";

	peer = accept(listener, NULL, NULL);
	assert_true(peer >= 0);
	assert_true(recv(peer, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text,
		"{\"command\":\"prices\",\"limit\":100}\n{\"command\":\"counters\"}\n"
		"{\"command\":\"clients\"}\n{\"command\":\"who\"}\n"
		"{\"command\":\"prefetch\"}\n");
}

static char *metrics(void)
{
	json_t *servers = json_array();
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	json_array_append_new(servers, canfs_server_reader_json(&reader));
	canfs_server_metrics_print(out, servers);
	assert_int_equal(fclose(out), 0);
	json_decref(servers);
	return text;
}

static void must(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at || (at != text && at[-1] != '\n') || at[strlen(line)] != '\n')
		fail_msg("no line '%s' in:\n%s", line, text);
}

static void what_it_says_is_shown(void **state)
{
	char *text;

	(void)state;
	assert_int_equal(turn(), 0);
	expect_questions();
	reply(PRICES COUNTERS);
	reply(CLIENTS WHO);
	assert_false(reader.is_up); /* one is missing */
	reply(NO_PREFETCH);
	text = metrics();
	must(text, "canfs_server_up{server=\"ganesha\"} 1");
	must(text, "canfs_server_delegations{server=\"ganesha\"} 7");
	must(text, "canfs_server_memory_dirty_ratio{server=\"ganesha\"} 0.25");
	must(text, "canfs_export_price{server=\"ganesha\",export=\"/srv/\\\"a\\\"\","
		   "operation=\"write\"} 0.3");
	must(text, "canfs_export_bottleneck{server=\"ganesha\",export=\"/srv/\\\"a\\\"\","
		   "resource=\"disk\"} 1");
	must(text, "canfs_export_resource_price{server=\"ganesha\",export=\"/srv/\\\"a\\\"\","
		   "resource=\"backend\"} 0.1");
	must(text, "canfs_export_resource_utilization_ratio{server=\"ganesha\","
		   "export=\"/srv/\\\"a\\\"\",resource=\"backend\"} 0.25");
	must(text, "# TYPE canfs_export_resource_price gauge");
	must(text, "canfs_client_bytes_total{server=\"ganesha\",client=\"10.0.0.2\","
		   "op=\"write\"} 80");
	must(text, "canfs_client_imposed_waiting_ratio{server=\"ganesha\",client=\"10.0.0.2\","
		   "cause=\"write_back\"} 0.4");
	must(text, "canfs_client_suffered_waiting_ratio{server=\"ganesha\",client=\"10.0.0.3\","
		   "op=\"read\"} 0.5");
	assert_null(strstr(text, "resource=\"cpu\"")); /* null */
	assert_null(strstr(text, "canfs_disk_prefetch_bytes_total{"));
	free(text);
}

static void it_is_asked_every_five_seconds(void **state)
{
	(void)state;
	turn();
	expect_questions();
	reply(PRICES COUNTERS CLIENTS WHO NO_PREFETCH);
	assert_true(reader.is_up);
	close(peer);
	now_usec += 2 * SEC;
	assert_int_equal(turn(), 3000);
	assert_int_equal(accept(listener, NULL, NULL), -1);
	now_usec += 3 * SEC;
	assert_int_equal(turn(), 0);
	expect_questions();
	assert_true(reader.is_up); /* until something else is known */
}

static void one_that_does_not_answer_is_not_up(void **state)
{
	char *text;

	(void)state;
	turn();
	expect_questions();
	reply(PRICES COUNTERS CLIENTS WHO NO_PREFETCH);
	close(peer);
	now_usec += 5 * SEC;
	turn();
	expect_questions();
	reply(PRICES);
	now_usec += 5 * SEC;
	turn();
	text = metrics();
	must(text, "canfs_server_up{server=\"ganesha\"} 0");
	assert_null(strstr(text, "canfs_export_price{"));
	free(text);
}

static void one_that_hangs_up_is_not_up(void **state)
{
	(void)state;
	turn();
	expect_questions();
	reply(PRICES);
	close(peer);
	peer = -1;
	turn();
	assert_int_equal(reader.fd, -1);
	assert_false(reader.is_up);
}

static void one_that_is_not_there_is_not_up(void **state)
{
	(void)state;
	close(listener);
	turn();
	assert_int_equal(reader.fd, -1);
	assert_false(reader.is_up);
	unlink(path);
	serve_socket();
	turn();
	assert_int_equal(accept(listener, NULL, NULL), -1); /* not yet */
	now_usec += 5 * SEC;
	turn();
	expect_questions();
}

static void nonsense_is_no_reply(void **state)
{
	(void)state;
	turn();
	expect_questions();
	reply("nonsense\n[]\n{\"ok\":1}\n\n\n");
	assert_int_equal(reader.fd, -1);
	assert_false(reader.is_up);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_it_says_is_shown, begin, end),
		cmocka_unit_test_setup_teardown(it_is_asked_every_five_seconds, begin, end),
		cmocka_unit_test_setup_teardown(one_that_does_not_answer_is_not_up, begin, end),
		cmocka_unit_test_setup_teardown(one_that_hangs_up_is_not_up, begin, end),
		cmocka_unit_test_setup_teardown(one_that_is_not_there_is_not_up, begin, end),
		cmocka_unit_test_setup_teardown(nonsense_is_no_reply, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
