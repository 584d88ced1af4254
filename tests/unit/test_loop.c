// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The loop as its service manager sees it, in a process of its own on a made-up kernel, with a server
 * whose prices are always the highest in another. The test goes by what it is told, not by the clock.
 */
#include "tests/unit/fake_kernel.h"
#include "tests/unit/fake_nfs.h"

#include <signal.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "client-agent/loop.h"
#include "protocol/tag.h"

#define CONFIG_FILE  "/agent.conf"
#define TIMEOUT_MSEC 30000 /* then the test has failed */

struct scene {
	struct fake_root root;
	struct server server;
	int notify_fd;
	pid_t server_pid;
	pid_t agent_pid;
};

/* In place of the right answer: the tag says that everything costs 1. */
static void become_expensive(struct server *server, struct reply *reply)
{
	const struct canfs_tag tag = { .write = 1, .readahead = 1, .bottleneck = CANFS_DISK };
	struct canfs_space space = { UINT64_C(1) << 40, UINT64_C(1) << 39, UINT64_C(1) << 39 };
	uint64_t tagged[3];

	if (server->service != NFS)
		return;
	assert_int_equal(canfs_tag_encode(&space, &tag), 0);
	tagged[0] = space.total_bytes;
	tagged[1] = space.free_bytes;
	tagged[2] = space.avail_bytes;
	memset(reply, 0, sizeof(*reply));
	reply_fsstat(reply, call_word(server, 0), true, tagged);
}

/* A writer that has 300 MiB dirty for ever: no release ends by itself. */
static void write_proc(const struct scene *scene)
{
	char text[512];

	snprintf(text, sizeof(text),
		"36 25 0:41 / /mnt/a rw - nfs srv:/a "
		"rw,vers=3,proto=tcp,addr=127.0.0.1,port=%u,mountport=%u\n",
		scene->server.port[NFS], scene->server.port[MOUNT]);
	fake_root_write(&scene->root, "/proc/self/mountinfo", text);
	fake_root_write(&scene->root, "/proc/self/mountstats",
		"device srv:/a mounted on /mnt/a with fstype nfs statvers=1.1\n"
		"\tage:\t1234\n"
		"\tbytes:\t0 400000000 0 0 0 90000000 0 0\n"
		"\tREAD: 1 1 0 1 1 1 1 1 0\n"
		"\tWRITE: 1 1 0 1 1 1 1 1 0\n"
		"\tCOMMIT: 1 1 0 1 1 1 1 1 0\n");
	fake_root_write(&scene->root, "/proc/meminfo",
		"MemTotal: 2000000 kB\nMemFree: 1000000 kB\nMemAvailable: 1600000 kB\n"
		"Active(file): 500000 kB\nDirty: 300000 kB\nWriteback: 0 kB\n");
}

static void configure(const struct scene *scene, const char *text)
{
	fake_root_write(&scene->root, CONFIG_FILE, text);
}

static int listen_for_notices(const struct scene *scene)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", scene->root.path);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	setenv("WATCHDOG_USEC", "4000000", 1);
	return fd;
}

/* Waits for a notice that holds these words, past all others. */
static void expect_notice(const struct scene *scene, const char *words)
{
	struct pollfd polled = { scene->notify_fd, POLLIN, 0 };
	char text[512];
	ssize_t len;

	do {
		if (poll(&polled, 1, TIMEOUT_MSEC) <= 0)
			fail_msg("waited in vain for \"%s\"", words);
		len = recv(scene->notify_fd, text, sizeof(text) - 1, 0);
		assert_true(len >= 0);
		text[len] = '\0';
	} while (!strstr(text, words));
}

/* Waits until the knob is, or is not, at a value. Notices meanwhile go unread: a full queue would stop the agent. */
static void expect_knob(const struct scene *scene, const char *path, uint64_t value, bool equal)
{
	char notice[512];

	for (int msec = 0; msec < TIMEOUT_MSEC; msec += 10) {
		while (recv(scene->notify_fd, notice, sizeof(notice), MSG_DONTWAIT) >= 0)
			continue;
		if ((fake_root_number(&scene->root, path) == value) == equal)
			return;
		poll(NULL, 0, 10);
	}
	fail_msg("waited in vain for %s", path);
}

static pid_t start_agent(const struct scene *scene)
{
	char file[PATH_MAX], error[CANFS_OPTIONS_ERROR_MAX];
	struct canfs_loop_options options = {
		.root = scene->root.path, .config_file = file, .mode = -1
	};
	struct canfs_agent_config config;
	pid_t pid;

	fake_root_full(&scene->root, CONFIG_FILE, file);
	canfs_config_defaults(&config);
	assert_int_equal(canfs_config_parse_file(&config, file, error), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(canfs_loop_run(&config, &options) ? 1 : 0);
	return pid;
}

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	fake_root_make(&scene->root);
	fake_stock_limits(&scene->root);
	fake_bdi(&scene->root, BDI_A);
	start_server(&scene->server, AF_INET);
	scene->server.change = become_expensive;
	write_proc(scene);
	configure(scene, "[agent]\nmode = enforce\nstate_dir = /state\n");
	scene->notify_fd = listen_for_notices(scene);
	scene->server_pid = fork();
	assert_true(scene->server_pid >= 0);
	while (scene->server_pid == 0)
		serve(&scene->server, -1, 0);
	scene->agent_pid = start_agent(scene);
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	kill(scene->server_pid, SIGKILL);
	waitpid(scene->server_pid, NULL, 0);
	if (scene->agent_pid > 0) {
		kill(scene->agent_pid, SIGKILL);
		waitpid(scene->agent_pid, NULL, 0);
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	close(scene->notify_fd);
	stop_server(&scene->server);
	fake_root_remove(&scene->root);
	free(scene);
	return 0;
}

static void expect_end(struct scene *scene)
{
	int status;

	assert_int_equal(waitpid(scene->agent_pid, &status, 0), scene->agent_pid);
	scene->agent_pid = 0;
	assert_int_equal(status, 0);
	assert_int_equal(fake_root_number(&scene->root, BDI_A "/min_ratio"), 0);
	assert_string_equal(fake_root_read(&scene->root, "/state/journal"), "");
}

/* The first SIGTERM drains, which here has no end; the second does not wait for it. */
static void test_second_sigterm_restores_at_once(void **state)
{
	struct scene *scene = *state;

	expect_notice(scene, "READY=1");
	expect_knob(scene, BDI_A "/min_ratio", 0, false);
	expect_notice(scene, "WATCHDOG=1");
	kill(scene->agent_pid, SIGTERM);
	expect_notice(scene, "STOPPING=1");
	assert_int_equal(waitpid(scene->agent_pid, NULL, WNOHANG), 0);
	kill(scene->agent_pid, SIGTERM);
	expect_end(scene);
}

/* A bad file changes nothing; a good one switches a mount off, and what was raised for it goes back. */
static void test_reload(void **state)
{
	struct scene *scene = *state;

	expect_notice(scene, "READY=1");
	expect_notice(scene, "1 enforced");
	expect_knob(scene, DIRTY_BYTES, 0, false);
	configure(scene, "[agent]\nmode = observe\nhold_pct = 99\n");
	kill(scene->agent_pid, SIGHUP);
	expect_notice(scene, "RELOADING=1");
	expect_notice(scene, "READY=1");
	expect_knob(scene, DIRTY_BYTES, 0, false);
	configure(scene,
		"[agent]\nmode = enforce\nstate_dir = /state\n[mount /mnt/*]\nmode = observe\n");
	kill(scene->agent_pid, SIGHUP);
	expect_notice(scene, "RELOADING=1");
	expect_notice(scene, "0 enforced, 1 observed");
	fake_root_write(&scene->root, "/proc/meminfo",
		"MemTotal: 2000000 kB\nMemFree: 1000000 kB\nMemAvailable: 1600000 kB\n"
		"Active(file): 500000 kB\nDirty: 0 kB\nWriteback: 0 kB\n");
	expect_knob(scene, BDI_A "/min_ratio", 0, true);
	kill(scene->agent_pid, SIGTERM);
	expect_end(scene);
}

/* A mount that the configuration has no more is still drained before it is let go. */
static void test_mount_that_is_wanted_no_more(void **state)
{
	struct scene *scene = *state;

	expect_notice(scene, "1 enforced");
	expect_knob(scene, BDI_A "/min_ratio", 0, false);
	configure(scene, "[agent]\nmode = enforce\nstate_dir = /state\nmounts = /elsewhere\n");
	kill(scene->agent_pid, SIGHUP);
	expect_notice(scene, "0 enforced, 1 observed");
	fake_root_write(&scene->root, "/proc/meminfo",
		"MemTotal: 2000000 kB\nMemFree: 1000000 kB\nMemAvailable: 1600000 kB\n"
		"Active(file): 500000 kB\nDirty: 0 kB\nWriteback: 0 kB\n");
	expect_notice(scene, "NFS mounts: 0");
	assert_int_equal(fake_root_number(&scene->root, BDI_A "/min_ratio"), 0);
	kill(scene->agent_pid, SIGTERM);
	expect_end(scene);
}

/* Counters that cannot be read any more are as good as no price, whatever else can be read. */
static void test_counters_that_are_gone(void **state)
{
	struct scene *scene = *state;
	char file[PATH_MAX];

	configure(scene, "[agent]\nmode = enforce\nstate_dir = /state\nprice_idle_sec = 1\n");
	expect_notice(scene, "READY=1");
	kill(scene->agent_pid, SIGHUP);
	expect_notice(scene, "READY=1");
	expect_knob(scene, BDI_A "/min_ratio", 0, false);
	fake_root_full(&scene->root, "/proc/self/mountstats", file);
	assert_int_equal(unlink(file), 0);
	expect_knob(scene, BDI_A "/min_ratio", 0, true);
	write_proc(scene);
	expect_knob(scene, BDI_A "/min_ratio", 0, false);
	kill(scene->agent_pid, SIGTERM);
	kill(scene->agent_pid, SIGINT);
	expect_end(scene);
}

#define LOOP_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOOP_TEST(test_second_sigterm_restores_at_once),
		LOOP_TEST(test_reload),
		LOOP_TEST(test_mount_that_is_wanted_no_more),
		LOOP_TEST(test_counters_that_are_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
