// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * A client's own network from the kernel's counters to the verdict, with an idle server: routes are this machine's (to its
 * loopback), counters and speeds are made up, and time goes on by steps.
 */
#include "tests/unit/fake_kernel.h"

#include <math.h>
#include <netinet/in.h>
#include "client-agent/actuators/act.h"
#include "client-agent/interfaces.h"
#include "client-agent/kernel/interface.h"

#define LO        "/sys/class/net/lo"
#define MIB       (UINT64_C(1) << 20)
#define STEP_USEC 100000
#define SPEED     12.5e6 /* bytes per second: 100 Mbit/s */

struct scene {
	struct fake_root root;
	struct canfs_agent_config config;
	struct canfs_bidder bidder[2]; /* of one server */
	struct canfs_bidder *bidders[2];
	struct canfs_mountstats stats[2];
	struct canfs_interfaces interfaces;
	struct canfs_host_state host;
	uint64_t received_bytes, sent_bytes;
};

static const struct canfs_tag idle = { .bottleneck = CANFS_DISK };

static void write_number(const struct scene *scene, const char *path, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	fake_root_write(&scene->root, path, text);
}

static void put_counters(const struct scene *scene)
{
	write_number(scene, LO "/statistics/rx_bytes", scene->received_bytes);
	write_number(scene, LO "/statistics/tx_bytes", scene->sent_bytes);
}

/* A network card of that speed. */
static void put_speed(const struct scene *scene, unsigned int mbit, unsigned int carrier_changes)
{
	fake_root_write(&scene->root, LO "/device", "");
	write_number(scene, LO "/speed", mbit);
	write_number(scene, LO "/carrier_changes", carrier_changes);
}

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct sockaddr_in loopback = { .sin_family = AF_INET };

	loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fake_root_make(&scene->root);
	put_counters(scene);
	put_speed(scene, 100, 1);
	canfs_config_defaults(&scene->config);
	for (size_t i = 0; i < 2; i++) {
		struct canfs_mount mount = i ? mount_b : mount_a;

		strcpy(mount.export_path, "/");
		mount.version = 3;
		memcpy(&mount.address, &loopback, sizeof(loopback));
		assert_int_equal(
			canfs_bidder_init(&scene->bidder[i], &mount, &scene->config, 1), 0);
		scene->bidders[i] = &scene->bidder[i];
		scene->stats[i].found = true;
	}
	scene->host = (struct canfs_host_state) {
		.now_usec = 1000000,
		.bound_bytes = 700 * MIB,
		.meminfo = { .total_bytes = 2000 * MIB, .available_bytes = 1800 * MIB },
	};
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	for (size_t i = 0; i < 2; i++)
		canfs_bidder_fini(&scene->bidder[i]);
	fake_root_remove(&scene->root);
	free(scene);
	return 0;
}

/* One step of traffic, in bytes per second, and of the loop. Returns what the first mount is to send. */
static uint64_t step(struct scene *scene, double received, double sent)
{
	const double sec = STEP_USEC / 1e6;

	scene->host.now_usec += STEP_USEC;
	scene->received_bytes += (uint64_t)(received * sec);
	scene->sent_bytes += (uint64_t)(sent * sec);
	put_counters(scene);
	for (size_t i = 0; i < 2; i++) {
		scene->bidder[i].poller.tag_usec = scene->host.now_usec;
		canfs_bidder_observe(&scene->bidder[i], &scene->stats[i], &scene->host.meminfo,
			scene->host.now_usec);
	}
	canfs_interfaces_sample(
		&scene->interfaces, scene->root.path, scene->bidders, 2, scene->host.now_usec);
	canfs_bidder_bid(&scene->bidder[1], &idle, &scene->host);
	return canfs_bidder_bid(&scene->bidder[0], &idle, &scene->host);
}

static uint64_t steps(struct scene *scene, unsigned int n, double received, double sent)
{
	uint64_t bytes = 0;

	while (n--)
		bytes += step(scene, received, sent);
	return bytes;
}

/* So much is written and not sent, of the first mount. */
static void hold(struct scene *scene, uint64_t mib)
{
	step(scene, 0, 0);
	scene->stats[0].normal_write_bytes += mib * MIB;
	scene->host.meminfo.dirty_bytes = mib * MIB;
}

/* So much of a mount's is sent and answered in the next step. */
static void send_back(struct scene *scene, size_t i, double bytes_per_sec)
{
	scene->stats[i].server_write_bytes += (uint64_t)(bytes_per_sec * STEP_USEC / 1e6);
}

static void test_route_and_numbers(void **state)
{
	const struct scene *scene = *state;
	struct sockaddr_storage address = scene->bidder[0].mount.address;
	char name[IF_NAMESIZE];
	uint64_t received, sent;

	assert_int_equal(canfs_interface_of_route(&address, name), 0);
	assert_string_equal(name, "lo");
	assert_int_equal(canfs_interface_mbit(scene->root.path, "lo"), 100);
	assert_int_equal(canfs_interface_bytes(scene->root.path, "lo", &received, &sent), 0);
	assert_int_equal(
		canfs_interface_bytes(scene->root.path, "eth9", &received, &sent), -ENOENT);
	assert_int_equal(canfs_interface_mbit(scene->root.path, "eth9"), 0);
	fake_root_write(&scene->root, LO "/speed", "-1\n");
	assert_int_equal(canfs_interface_mbit(scene->root.path, "lo"), 0);
	fake_root_write(&scene->root, "/sys/class/net/tun0/speed", "10\n");
	assert_int_equal(canfs_interface_mbit(scene->root.path, "tun0"), 0);
	fake_root_write(&scene->root, "/sys/class/net/bond0/speed", "20000\n");
	fake_root_write(&scene->root, "/sys/class/net/bond0/bonding/mode", "802.3ad 4\n");
	assert_int_equal(canfs_interface_mbit(scene->root.path, "bond0"), 20000);

	address.ss_family = AF_UNSPEC;
	assert_int_equal(canfs_interface_of_route(&address, name), -EAFNOSUPPORT);
	assert_string_equal(name, "");
}

static void test_busy_link_holds_and_idle_link_sends(void **state)
{
	struct scene *scene = *state;
	struct canfs_bidder *bidder = &scene->bidder[0];

	hold(scene, 100);
	steps(scene, 20, 0.95 * SPEED, 0);
	assert_int_equal(bidder->write.verdict, CANFS_DEFER);
	assert_string_equal(bidder->network.interface, "lo");
	assert_true(bidder->network.bytes_per_sec == SPEED);
	assert_float_equal(bidder->network.used_by_others, 0.95, 0.15);
	assert_int_equal(canfs_bidder_asked(bidder, &idle).bottleneck, CANFS_OWN_NETWORK);
	assert_int_equal(steps(scene, 30, 0.99 * SPEED, 0), 0);

	canfs_act_report(bidder, &idle, &scene->host);
	assert_string_equal(canfs_decisions_at(&bidder->decisions, 0)->to, "defer");
	assert_ptr_equal(strstr(canfs_decisions_at(&bidder->decisions, 0)->reason, "own network "),
		canfs_decisions_at(&bidder->decisions, 0)->reason);
	assert_non_null(strstr(
		canfs_decisions_at(&bidder->decisions, 0)->reason, "(server 0.00) above own"));
	assert_true(canfs_decisions_at(&bidder->decisions, 0)->bids.network_price > 0.9);

	assert_true(steps(scene, 60, 0, 0) > 4 * MIB);
	assert_int_equal(bidder->write.verdict, CANFS_ACCELERATE);
}

/* What the other mount writes back is background work as its own is. */
static void test_write_back_of_no_mount_is_others(void **state)
{
	struct scene *scene = *state;

	hold(scene, 100);
	for (int i = 0; i < 50; i++) {
		send_back(scene, 0, 0.5 * SPEED);
		send_back(scene, 1, 0.4 * SPEED);
		step(scene, 0.02 * SPEED, 0.94 * SPEED);
		assert_true(scene->bidder[0].network.write < 0.02);
		assert_true(scene->bidder[1].network.write < 0.02);
	}
	assert_int_equal(scene->bidder[0].write.verdict, CANFS_ACCELERATE);
}

/* The first mount's readers are others to the second one's read-ahead, not to its own. */
static void test_readahead_pays_for_others_readers(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 50; i++) {
		scene->stats[0].server_read_bytes += (uint64_t)(0.9 * SPEED * STEP_USEC / 1e6);
		scene->stats[0].normal_read_bytes += (uint64_t)(0.9 * SPEED * STEP_USEC / 1e6);
		step(scene, 0.94 * SPEED, 0.02 * SPEED);
	}
	assert_true(scene->bidder[0].network.readahead < 0.02);
	assert_true(scene->bidder[1].network.readahead > 0.8);
}

static void test_speed_not_known(void **state)
{
	struct scene *scene = *state;
	struct canfs_bidder *bidder = &scene->bidder[0];

	fake_root_write(&scene->root, LO "/speed", "-1\n");
	hold(scene, 100);
	steps(scene, 20, SPEED, 0);
	assert_int_equal(bidder->write.verdict, CANFS_ACCELERATE);
	assert_true(scene->bidder[1].network.bytes_per_sec == 0);
	assert_true(scene->bidder[1].network.write == 0);

	/* What is said of one mount's link is of that only. */
	bidder->terms.link_speed = 100;
	steps(scene, 20, SPEED, 0);
	assert_int_equal(bidder->write.verdict, CANFS_DEFER);
	assert_true(scene->bidder[1].network.write == 0);

	/* Counters that are gone. */
	assert_int_equal(nftw(scene->root.path, fake_root_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
	scene->host.now_usec += STEP_USEC;
	canfs_interfaces_sample(
		&scene->interfaces, scene->root.path, scene->bidders, 2, scene->host.now_usec);
	assert_true(bidder->network.bytes_per_sec == 0 && bidder->network.write == 0);
	canfs_bidder_bid(bidder, &idle, &scene->host);
	assert_int_equal(bidder->write.verdict, CANFS_ACCELERATE);
	assert_int_equal(mkdir(scene->root.path, 0755), 0); /* for teardown() */
}

/* Its speed is asked for when its link has changed, and once more when the driver must have settled. */
static void test_speed_is_asked_for_when_the_link_changes(void **state)
{
	struct scene *scene = *state;
	const struct canfs_bidder *bidder = &scene->bidder[0];

	steps(scene, 2, 0, 0);
	assert_true(bidder->network.bytes_per_sec == SPEED);
	put_speed(scene, 1000, 1);
	steps(scene, 50, 0, 0);
	assert_true(bidder->network.bytes_per_sec == SPEED);
	put_speed(scene, 1000, 2);
	steps(scene, 20, 0, 0);
	assert_true(bidder->network.bytes_per_sec == 10 * SPEED);
	put_speed(scene, 100, 2);
	steps(scene, 120, 0, 0);
	assert_true(bidder->network.bytes_per_sec == SPEED);
}

static void test_an_interface_that_nobody_uses_is_forgotten(void **state)
{
	struct scene *scene = *state;

	step(scene, 0, 0);
	assert_int_equal(scene->interfaces.n, 1);
	canfs_interfaces_sample(&scene->interfaces, scene->root.path, NULL, 0, 5000000);
	assert_int_equal(scene->interfaces.n, 0);
}

#define SCENE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(test_route_and_numbers),
		SCENE_TEST(test_busy_link_holds_and_idle_link_sends),
		SCENE_TEST(test_write_back_of_no_mount_is_others),
		SCENE_TEST(test_readahead_pays_for_others_readers),
		SCENE_TEST(test_speed_not_known),
		SCENE_TEST(test_speed_is_asked_for_when_the_link_changes),
		SCENE_TEST(test_an_interface_that_nobody_uses_is_forgotten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
