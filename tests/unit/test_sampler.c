// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The sampler's life: a configuration that is read again, threads that do all of it at once (for ThreadSanitizer),
 * and a hundred lives, of which nothing is left (for LeakSanitizer and valgrind, which the plugin itself cannot
 * have: RTLD_DEEPBIND).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>
#include "server/control/control.h"
#include "server/market/internal.h"
#include "server/monitors/ghosts.h"
#include "pricing/price.h"
#include "common/clock.h"
#include "common/control/socket.h"
#include "tests/unit/fake_root.h"

#define SECOND 1000000
#define LIVES  100

static struct fake_root root;
static char socket_path[CANFS_SOCKET_PATH_MAX];

static void say(const char *message)
{
	(void)message;
}

static void put_dirty(unsigned int pages)
{
	char text[128];

	snprintf(
		text, sizeof(text), "nr_dirty %u\nnr_writeback 0\nnr_dirty_threshold 100\n", pages);
	fake_root_write(&root, "/proc/vmstat", text);
}

static void put_cpu(unsigned int busy, unsigned int idle)
{
	char text[128];

	snprintf(text, sizeof(text), "cpu  %u 0 0 %u 0 0 0 0 0 0\n", busy, idle);
	fake_root_write(&root, "/proc/stat", text);
}

static int set_up(void **state)
{
	(void)state;
	fake_root_make(&root);
	snprintf(socket_path, sizeof(socket_path), "%s/control.sock", root.path);
	put_dirty(50);
	put_cpu(0, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fake_root_remove(&root);
	return 0;
}

static struct canfs_sampler_config configuration(void)
{
	return (struct canfs_sampler_config) { .interval_ms = 100,
		.publish = true,
		.monitors = 1u << CANFS_CPU | 1u << CANFS_MEMORY,
		.setup.root = root.path,
		.say = say };
}

static struct canfs_settings settings_of(struct canfs_sampler *sampler)
{
	struct canfs_settings settings;

	canfs_sampler_settings(sampler, &settings);
	return settings;
}

/* No thread runs: each step is made here. */
static void a_reload_changes_what_differs(void **state)
{
	struct canfs_sampler_config config = configuration();
	struct canfs_sampler *sampler;
	struct canfs_settings settings, before;
	double k_disk;

	(void)state;
	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	k_disk = settings_of(sampler).k[CANFS_DISK];
	assert_int_equal(canfs_sampler_reload(sampler, &config, SECOND), 0);

	config.k_disk = 5;
	assert_int_equal(canfs_sampler_reload(sampler, &config, SECOND), 1);
	assert_float_equal(settings_of(sampler).k[CANFS_DISK], 5, 0);

	/* What was set while it ran stays unless the file says something new of it. */
	before = settings = settings_of(sampler);
	settings.drain = true;
	settings.publish = false;
	settings.k[CANFS_CPU] = 7;
	settings.k[CANFS_DISK] = 6;
	assert_int_equal(canfs_sampler_set(sampler, &before, &settings), 0);
	assert_int_equal(canfs_sampler_reload(sampler, &config, SECOND), 0);
	assert_float_equal(settings_of(sampler).k[CANFS_DISK], 6, 0);
	config.k_disk = 0; /* no longer in the file: the default */
	assert_int_equal(canfs_sampler_reload(sampler, &config, SECOND), 1);
	settings = settings_of(sampler);
	assert_true(settings.drain && !settings.publish);
	assert_float_equal(settings.k[CANFS_CPU], 7, 0);
	assert_float_equal(settings.k[CANFS_DISK], k_disk, 0);
	canfs_sampler_free(sampler);
}

static void step(
	struct canfs_sampler *sampler, uint64_t now_usec, unsigned int busy, unsigned int idle)
{
	put_cpu(busy, idle);
	canfs_sampler_step(sampler, now_usec);
}

static void no_moment_is_without_a_price(void **state)
{
	struct canfs_sampler_config config = configuration();
	struct canfs_sampler *sampler;
	struct canfs_price_table *prices;
	struct canfs_tag tag;

	(void)state;
	config.monitors = 1u << CANFS_CPU;
	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	assert_int_equal(canfs_price_table_open(&prices, sampler, "/a", 0, NULL), 0);
	step(sampler, 1 * SECOND, 0, 0);
	step(sampler, 2 * SECOND, 100, 0);
	assert_true(canfs_price_table_read(prices, 2 * SECOND, &tag));
	assert_true(tag.bottleneck == CANFS_CPU && tag.write == 1);

	/* The cpu is watched anew, and what was posted stands; the next step already knows it. */
	config.setup.link_mbit_per_sec = 1000;
	assert_int_equal(canfs_sampler_reload(sampler, &config, 2 * SECOND + 100000), 1);
	assert_true(canfs_price_table_read(prices, 2 * SECOND + 200000, &tag));
	step(sampler, 2 * SECOND + 200000, 100, 100);
	assert_true(canfs_price_table_read(prices, 2 * SECOND + 200000, &tag));
	assert_true(tag.bottleneck == CANFS_CPU && tag.write < 0.1);

	/* A step came between the reload's look at the clock and itself. */
	config.setup.link_mbit_per_sec = 2000;
	assert_int_equal(canfs_sampler_reload(sampler, &config, 2 * SECOND + 150000), 1);
	step(sampler, 2 * SECOND + 300000, 100, 200);
	assert_true(canfs_price_table_read(prices, 2 * SECOND + 300000, &tag));

	/* Another resource comes, and the one before is out of the market. */
	config.monitors = 1u << CANFS_MEMORY;
	put_dirty(100);
	assert_int_equal(canfs_sampler_reload(sampler, &config, 3 * SECOND), 1);
	assert_true(canfs_price_table_read(prices, 3 * SECOND, &tag));
	canfs_sampler_step(sampler, 4 * SECOND);
	assert_true(canfs_price_table_read(prices, 4 * SECOND, &tag));
	assert_true(tag.bottleneck == CANFS_MEMORY && tag.write == 1);
	canfs_price_table_close(prices);
	canfs_sampler_free(sampler);
}

/* What is measured over next to no time is noise. */
static void a_change_waits_for_the_shortest_interval(void **state)
{
	const uint64_t shortest_usec = CANFS_INTERVAL_MS_MIN * 1000;
	struct canfs_sampler_config config = configuration();
	struct canfs_sampler *sampler;
	struct canfs_settings before, after;
	uint64_t later_usec = canfs_now_usec() + 1000 * SECOND;

	(void)state;
	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	before = after = settings_of(sampler);
	after.drain = true;
	canfs_sampler_step(sampler, 1);
	assert_int_equal(canfs_sampler_set(sampler, &before, &after), 0);
	assert_true(sampler->next_usec <= canfs_now_usec());
	canfs_sampler_step(sampler, later_usec);
	assert_int_equal(canfs_sampler_set(sampler, &before, &after), 0);
	assert_int_equal(sampler->next_usec, later_usec + shortest_usec);
	config.k_disk = 9;
	assert_int_equal(canfs_sampler_reload(sampler, &config, later_usec + 1), 1);
	assert_int_equal(sampler->next_usec, later_usec + shortest_usec);
	/* Which begins the monitors anew. */
	config.setup.link_mbit_per_sec = 9;
	assert_int_equal(canfs_sampler_reload(sampler, &config, later_usec + 1), 1);
	assert_int_equal(sampler->next_usec, later_usec + 1 + shortest_usec);
	canfs_sampler_free(sampler);
}

/* Each looks, and then writes what it wants to change: nothing of the other's. */
static void two_changes_at_once_both_hold(void **state)
{
	struct canfs_sampler_config config = configuration();
	struct canfs_sampler *sampler;
	struct canfs_settings before, one, other;

	(void)state;
	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	before = one = other = settings_of(sampler);
	one.drain = true;
	one.k[CANFS_CPU] = 9;
	other.publish = false;
	other.pmax = 0.25;
	other.k[CANFS_DISK] = 7;
	assert_int_equal(canfs_sampler_set(sampler, &before, &one), 0);
	assert_int_equal(canfs_sampler_set(sampler, &before, &other), 0);
	one.publish = false;
	one.pmax = 0.25;
	one.k[CANFS_DISK] = 7;
	before = settings_of(sampler);
	assert_memory_equal(&before, &one, sizeof(one));
	canfs_sampler_free(sampler);
}

/* A server in small: what the plugin's threads share. */
struct server {
	struct canfs_ghosts *ghosts;
	struct canfs_sampler *sampler;
	struct canfs_clients *clients;
	struct canfs_control *control;
	struct canfs_price_table *prices; /* of the export that stays */
	_Atomic bool stop;
};

static void open_server(struct server *server)
{
	struct canfs_sampler_config config = configuration();

	*server = (struct server) { .clients = canfs_clients_new() };
	assert_int_equal(canfs_ghosts_new(&server->ghosts, CANFS_GHOSTS_MEMORY_MIN_BYTES, 1), 0);
	config.interval_ms = CANFS_INTERVAL_MS_MIN;
	config.setup.ghosts = server->ghosts;
	assert_int_equal(canfs_sampler_new(&server->sampler, &config), 0);
	assert_int_equal(canfs_sampler_start(server->sampler), 0);
	assert_int_equal(
		canfs_price_table_open(&server->prices, server->sampler, "/a", 0, NULL), 0);
	assert_int_equal(canfs_control_start(&server->control,
				 &(struct canfs_control_config) { .path = socket_path,
					 .sampler = server->sampler,
					 .clients = server->clients,
					 .say = say }),
		0);
}

/* In the order of the plugin's end; there a price table may be open still. */
static void close_server(struct server *server, bool price_table_first)
{
	if (price_table_first)
		canfs_price_table_close(server->prices);
	canfs_control_stop(server->control);
	canfs_sampler_free(server->sampler);
	if (!price_table_first)
		canfs_price_table_close(server->prices);
	canfs_clients_free(server->clients);
	canfs_ghosts_free(server->ghosts);
}

/* What a worker does for each request. */
static void serve(struct server *server, uint32_t number)
{
	struct sockaddr_in client = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0x0a000000 + number % 1000) };
	struct canfs_tag tag;

	canfs_ghosts_note_read(server->ghosts, number % 100, (uint64_t)number << 12, 65536);
	canfs_clients_count(
		server->clients, (const struct sockaddr *)&client, CANFS_CLIENT_READ, 65536);
	if (canfs_price_table_read(server->prices, canfs_now_usec(), &tag))
		assert_true(tag.write >= 0 && tag.write <= 1);
}

/* Valgrind runs one thread at a time, and gives the others no turn while this one does not wait. */
static void breathe(uint32_t number)
{
	if (number % 8 == 0)
		usleep(1000);
}

static void *work(void *arg)
{
	struct server *server = arg;

	for (uint32_t number = 0; !server->stop; number++) {
		serve(server, number);
		breathe(number);
	}
	return NULL;
}

/* Exports that come and go. */
static void *export_and_unexport(void *arg)
{
	struct server *server = arg;

	for (uint32_t number = 0; !server->stop; number++) {
		struct canfs_price_table *prices;

		breathe(number);
		assert_int_equal(canfs_price_table_open(
					 &prices, server->sampler, "/b", makedev(0, 77), NULL),
			0);
		canfs_price_table_close(prices);
	}
	return NULL;
}

/* The next line is waited for and thrown away. */
static void ask(const char *request)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char letter = '\0';

	strcpy(address.sun_path, socket_path);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	while (letter != '\n')
		assert_int_equal(recv(fd, &letter, 1, 0), 1);
	close(fd);
}

static void *ask_and_set(void *arg)
{
	static const char *const requests[] = {
		"{\"command\":\"prices\"}\n",
		"{\"command\":\"set\",\"k_cpu\":9,\"drain\":true}\n",
		"{\"command\":\"clients\"}\n",
		"{\"command\":\"counters\"}\n",
		"{\"command\":\"set\",\"k_cpu\":70,\"drain\":false,\"publish\":true}\n",
		"{\"command\":\"history\"}\n",
	};
	struct server *server = arg;

	for (size_t i = 0; !server->stop; i++) {
		ask(requests[i % (sizeof(requests) / sizeof(requests[0]))]);
		breathe((uint32_t)i);
	}
	return NULL;
}

static void *reload(void *arg)
{
	struct canfs_sampler_config config = configuration();
	struct server *server = arg;

	for (unsigned int i = 0; !server->stop; i++) {
		const struct canfs_disk_options own = { .read_queue = i / 2 % 2, .k = 8 };

		assert_true(canfs_price_table_change(server->prices, &own, canfs_now_usec()) >= 0);
		config.k_disk = 10 + i % 3;
		config.setup.link_mbit_per_sec = 1 + i % 5;
		(void)canfs_sampler_reload(server->sampler, &config, canfs_now_usec());
		/* No step comes sooner than that after the monitors have begun anew. */
		usleep(2 * CANFS_INTERVAL_MS_MIN * 1000);
	}
	return NULL;
}

static void threads_do_all_of_it_at_once(void **state)
{
	void *(*const roles[])(void *) = { work, work, export_and_unexport, ask_and_set, reload };
	pthread_t threads[sizeof(roles) / sizeof(roles[0])];
	struct canfs_sampler_counters counters;
	struct server server;

	(void)state;
	open_server(&server);
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, roles[i], &server), 0);
	do {
		usleep(1000);
		canfs_sampler_count(server.sampler, &counters);
	} while (counters.steps < 30);
	server.stop = true;
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		pthread_join(threads[i], NULL);
	close_server(&server, true);
}

static unsigned int open_files(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void of_a_hundred_lives_nothing_is_left(void **state)
{
	unsigned int before = open_files();

	(void)state;
	for (uint32_t life = 0; life < LIVES; life++) {
		struct server server;

		open_server(&server);
		for (uint32_t i = 0; i < 100; i++)
			serve(&server, i);
		ask("{\"command\":\"prices\"}\n");
		close_server(&server, life % 2);
		assert_int_equal(access(socket_path, F_OK), -1);
	}
	assert_int_equal(open_files(), before);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reload_changes_what_differs),
		TEST(no_moment_is_without_a_price),
		TEST(a_change_waits_for_the_shortest_interval),
		TEST(two_changes_at_once_both_hold),
		TEST(threads_do_all_of_it_at_once),
		TEST(of_a_hundred_lives_nothing_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
