// SPDX-License-Identifier: LGPL-3.0-or-later
/* The control socket and its thread: which server gets the path, and which clients the thread puts up with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "server/control/control.h"
#include "server/control/request.h"
#include "common/control/server.h"
#include "tests/unit/fake_root.h"

static struct fake_root root;
static char path[CANFS_SOCKET_PATH_MAX];
static struct canfs_sampler *sampler;
static struct canfs_clients *clients;

static void say(const char *message)
{
	(void)message;
}

static int set_up(void **state)
{
	struct canfs_sampler_config config = { .interval_ms = 100, .say = say };

	(void)state;
	fake_root_make(&root);
	config.setup.root = root.path;
	/* Its directory is missing: it is made. */
	snprintf(path, sizeof(path), "%s/run/control.sock", root.path);
	clients = canfs_clients_new();
	return canfs_sampler_new(&sampler, &config);
}

static int tear_down(void **state)
{
	(void)state;
	canfs_sampler_free(sampler);
	canfs_clients_free(clients);
	fake_root_remove(&root);
	return 0;
}

static struct canfs_control *start(unsigned int idle_msec)
{
	struct canfs_control_config config = { .path = path,
		.sampler = sampler,
		.clients = clients,
		.idle_msec = idle_msec,
		.say = say };
	struct canfs_control *control;

	assert_int_equal(canfs_control_start(&control, &config), 0);
	return control;
}

static int dial(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void tell(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* The next line; "" at the end. In a static buffer. */
static const char *hear(int fd)
{
	static char line[65536];
	size_t length = 0;

	while (length < sizeof(line) - 1 && recv(fd, line + length, 1, 0) == 1) {
		if (line[length++] == '\n')
			break;
	}
	line[length] = '\0';
	return line;
}

#define COUNTERS "{\"command\":\"counters\"}\n"

static bool is_good(const char *reply)
{
	return strncmp(reply, "{\"ok\":true,", 11) == 0;
}

static void the_path_is_ours_alone_and_gone_afterwards(void **state)
{
	struct canfs_control *control = start(0);
	struct canfs_socket second;
	struct stat st;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(canfs_socket_open(&second, path), -EADDRINUSE);
	canfs_control_stop(control);
	assert_int_equal(stat(path, &st), -1);
}

static void a_dead_socket_is_replaced(void **state)
{
	struct canfs_socket dead, next;

	(void)state;
	assert_int_equal(canfs_socket_open(&dead, path), 0);
	close(dead.fd);
	assert_int_equal(canfs_socket_open(&next, path), 0);
	/* One that was replaced does not take its successor away. */
	dead.inode = next.inode + 1;
	dead.fd = dup(next.fd);
	canfs_socket_close(&dead);
	assert_int_equal(access(path, F_OK), 0);
	canfs_socket_close(&next);
	assert_int_equal(access(path, F_OK), -1);
}

static int hold(const char *lock, int flags)
{
	int fd = open(lock, flags | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	return fd;
}

/* The directory can be read, thus locked, by anybody: nobody is kept from starting so. */
static void only_root_can_keep_the_path(void **state)
{
	char directory[PATH_MAX], lock[PATH_MAX];
	struct canfs_socket listener;
	struct stat st;
	int fd;

	(void)state;
	fake_root_full(&root, "/run", directory);
	fake_root_full(&root, "/run/control.sock.lock", lock);
	assert_int_equal(mkdir(directory, 0755), 0);
	fd = hold(directory, O_RDONLY | O_DIRECTORY);
	assert_int_equal(canfs_socket_open(&listener, path), 0);
	canfs_socket_close(&listener);
	close(fd);
	assert_int_equal(stat(lock, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	fd = hold(lock, O_RDWR);
	assert_int_equal(canfs_socket_open(&listener, path), -EADDRINUSE);
	close(fd);
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(symlink("/dev/null", lock), 0);
	assert_int_equal(canfs_socket_open(&listener, path), -ELOOP);
}

static void what_is_no_socket_stays(void **state)
{
	char longer[2 * CANFS_SOCKET_PATH_MAX];
	struct canfs_socket listener;

	(void)state;
	fake_root_write(&root, "/run/control.sock", "mine");
	assert_int_equal(canfs_socket_open(&listener, path), -EEXIST);
	assert_string_equal(fake_root_read(&root, "/run/control.sock"), "mine");
	assert_int_equal(canfs_socket_open(&listener, "/proc/nowhere/x"), -ENOENT);
	assert_int_equal(canfs_socket_open(&listener, "control.sock"), -EINVAL);
	assert_string_equal(canfs_socket_reason(-EINVAL), "it must be an absolute path");
	assert_non_null(strstr(canfs_socket_reason(-EEXIST), "not a socket"));
	assert_non_null(strstr(canfs_socket_reason(-EADDRINUSE), "another server listens"));
	assert_string_equal(canfs_socket_reason(-EACCES), strerror(EACCES));
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(canfs_socket_open(&listener, longer), -ENAMETOOLONG);
}

static void answers_line_by_line(void **state)
{
	struct canfs_control *control = start(0);
	int fd = dial();

	(void)state;
	tell(fd, COUNTERS "nonsense\n" COUNTERS "{\"command\":");
	assert_true(is_good(hear(fd)));
	assert_false(is_good(hear(fd)));
	assert_true(is_good(hear(fd)));
	/* The last line may lack its newline. */
	tell(fd, "\"set\"}");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_true(is_good(hear(fd)));
	assert_string_equal(hear(fd), "");
	close(fd);
	canfs_control_stop(control);
}

static void a_request_has_an_end(void **state)
{
	struct canfs_control *control = start(0);
	char text[CANFS_CONTROL_REQUEST_MAX + 1];
	int fd = dial();

	(void)state;
	memset(text, ' ', sizeof(text));
	text[CANFS_CONTROL_REQUEST_MAX] = '\0';
	tell(fd, text);
	assert_non_null(strstr(hear(fd), "too long"));
	assert_string_equal(hear(fd), "");
	close(fd);
	canfs_control_stop(control);
}

/* All places are taken by clients that ask and do not read: they wait, nobody else does. */
static void survives_the_deaf(void **state)
{
	struct canfs_control *control = start(0);
	int deaf[CANFS_CONTROL_CONNECTIONS], fd;

	(void)state;
	for (int i = 0; i < CANFS_CONTROL_CONNECTIONS; i++) {
		deaf[i] = dial();
		assert_int_equal(fcntl(deaf[i], F_SETFL, O_NONBLOCK), 0);
		while (send(deaf[i], COUNTERS, strlen(COUNTERS), MSG_NOSIGNAL) > 0)
			;
		assert_int_equal(errno, EAGAIN);
	}
	fd = dial();
	assert_non_null(strstr(hear(fd), "too many connections"));
	assert_string_equal(hear(fd), "");
	close(fd);
	close(deaf[0]);
	do {
		fd = dial();
		(void)!send(fd, COUNTERS, strlen(COUNTERS), MSG_NOSIGNAL);
		if (is_good(hear(fd)))
			break;
		close(fd);
	} while (true);
	close(fd);
	for (int i = 1; i < CANFS_CONTROL_CONNECTIONS; i++)
		close(deaf[i]);
	canfs_control_stop(control);
}

static void the_idle_are_closed(void **state)
{
	struct canfs_control *control = start(1);
	int fd = dial();

	(void)state;
	assert_string_equal(hear(fd), "");
	close(fd);
	canfs_control_stop(control);
}

static void can_be_started_and_stopped_again(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		struct canfs_control *control = start(0);
		int fd = dial();

		tell(fd, COUNTERS);
		canfs_control_stop(control);
		close(fd);
	}
	canfs_control_stop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_path_is_ours_alone_and_gone_afterwards, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_dead_socket_is_replaced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_root_can_keep_the_path, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_socket_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(answers_line_by_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_request_has_an_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(survives_the_deaf, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_idle_are_closed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			can_be_started_and_stopped_again, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
