// SPDX-License-Identifier: LGPL-3.0-or-later
/* The status server in a poll loop: a client that asks is answered, one that does not read keeps nobody. */
#include "tests/unit/fake_agent.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "client-agent/status/server.h"
#include "common/clock.h"

static struct fake_agent agent;
static struct canfs_status_server status_server;

static int setup(void **state)
{
	(void)state;
	fake_agent_make(&agent);
	strcpy(agent.config.state_dir, "/state");
	status_server =
		(struct canfs_status_server) { .root = agent.root.path, .view = agent.view };
	canfs_status_server_configure(&status_server, &agent.config);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	canfs_status_server_close(&status_server);
	fake_agent_remove(&agent);
	return 0;
}

/* The loop goes round so often; it never waits longer than for what is ready. */
static void turn(unsigned int rounds)
{
	struct pollfd polled[CANFS_DESK_POLLED];

	while (rounds-- > 0) {
		int timeout_msec = 20;
		size_t n = canfs_status_server_poll(&status_server, polled, &timeout_msec);

		assert_true(n <= CANFS_DESK_POLLED);
		assert_true(poll(polled, n, timeout_msec) >= 0);
		canfs_status_server_serve(&status_server, polled, canfs_now_usec());
	}
}

static int dial(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	snprintf(
		address.sun_path, sizeof(address.sun_path), "%s/state/agent.sock", agent.root.path);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* What comes until so much of it is this; the loop goes round meanwhile. In a static buffer. */
static const char *hear(int fd, const char *until)
{
	static char text[1 << 18];
	size_t got = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < 1000; i++) {
		ssize_t now = recv(fd, text + got, sizeof(text) - 1 - got, MSG_DONTWAIT);

		got += now > 0 ? (size_t)now : 0;
		text[got] = '\0';
		if (now == 0 || strstr(text, until))
			return text;
		turn(1);
	}
	fail_msg("no '%s' in '%s'", until, text);
	return NULL;
}

static void test_the_socket_is_roots_alone(void **state)
{
	char path[PATH_MAX];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s/state/agent.sock", agent.root.path);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	canfs_status_server_close(&status_server);
	assert_int_equal(stat(path, &st), -1);
}

static void test_asking(void **state)
{
	int fd = dial();

	(void)state;
	say(fd, "{\"command\":\"status\"}\n");
	assert_non_null(strstr(hear(fd, "\n"), "\"mountpoint\":\"/mnt/b\""));
	say(fd, "{\"command\":\"why\"}\n");
	assert_non_null(strstr(hear(fd, "\n"), "\"decisions\":[]"));
	say(fd, "nonsense\n");
	assert_non_null(strstr(hear(fd, "\n"), "\"ok\":false"));
	close(fd);
	turn(3);
	assert_int_equal(status_server.server.count, 0);
	assert_int_equal(status_server.view.counters.requests, 3);
	assert_int_equal(status_server.view.counters.requests_bad, 1);
}

static void test_too_many_and_deaf_ones(void **state)
{
	int fd[CANFS_CONTROL_CONNECTIONS + 1];

	(void)state;
	for (size_t i = 0; i <= CANFS_CONTROL_CONNECTIONS; i++) {
		fd[i] = dial();
		turn(1);
	}
	assert_int_equal(status_server.server.count, CANFS_CONTROL_CONNECTIONS);
	assert_non_null(strstr(hear(fd[CANFS_CONTROL_CONNECTIONS], "\n"), "too many connections"));
	/* One asks without reading: its requests wait, the others do not. */
	for (size_t i = 0; i < 2000; i++)
		(void)!send(fd[0], "{\"command\":\"status\"}\n", 21, MSG_NOSIGNAL | MSG_DONTWAIT);
	turn(500);
	assert_true(status_server.view.counters.requests < 2000);
	say(fd[1], "{\"command\":\"why\"}\n");
	assert_non_null(strstr(hear(fd[1], "\n"), "\"ok\":true"));
	for (size_t i = 0; i <= CANFS_CONTROL_CONNECTIONS; i++)
		close(fd[i]);
}

/* A port of the loopback that was free a moment ago. */
static unsigned int free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	close(fd);
	return ntohs(address.sin_port);
}

static int dial_http(unsigned int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void test_metrics(void **state)
{
	static const struct {
		const char *request;
		const char *status;
		const char *until;
	} cases[] = {
		/* What becomes of nonsense is the library's affair; we go on. */
		{ "nonsense\r\n\r\n", NULL, "\r\n\r\n" },
		{ "GET /metrics HTTP/1.0\r\n\r\n", "200", "canfs_mount_info{mount=\"/mnt/b\"" },
		{ "HEAD /metrics HTTP/1.0\r\n\r\n", "200", "\r\n\r\n" },
		{ "GET / HTTP/1.0\r\n\r\n", "404", "only /metrics" },
		{ "POST /metrics HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", "405",
			"Allow: GET, HEAD" },
	};
	unsigned int port = free_port();

	(void)state;
	snprintf(agent.config.metrics_listen, sizeof(agent.config.metrics_listen), "127.0.0.1:%u",
		port);
	canfs_status_server_configure(&status_server, &agent.config);
	assert_non_null(status_server.http);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd = dial_http(port);
		const char *said;

		say(fd, cases[i].request);
		said = hear(fd, cases[i].until);
		if (cases[i].status)
			assert_memory_equal(said + strlen("HTTP/1.x "), cases[i].status, 3);
		close(fd);
	}
}

static void test_reconfigured(void **state)
{
	char path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s/state/agent.sock", agent.root.path);
	assert_int_equal(access(path, F_OK), 0);
	canfs_status_server_close(&status_server);
	assert_int_equal(access(path, F_OK), -1);
	turn(2);
	/* What cannot be opened is done without, and tried again with the next configuration. */
	strcpy(agent.config.state_dir, "/no/such/directory");
	strcpy(agent.config.metrics_listen, "127.0.0.1:0");
	canfs_status_server_configure(&status_server, &agent.config);
	assert_string_equal(status_server.socket, "");
	assert_null(status_server.http);
	turn(2);
	strcpy(agent.config.state_dir, "/state");
	canfs_status_server_configure(&status_server, &agent.config);
	close(dial());
}

#define AGENT_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(test_the_socket_is_roots_alone),
		AGENT_TEST(test_asking),
		AGENT_TEST(test_too_many_and_deaf_ones),
		AGENT_TEST(test_metrics),
		AGENT_TEST(test_reconfigured),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
