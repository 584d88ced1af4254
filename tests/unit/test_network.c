// SPDX-License-Identifier: LGPL-3.0-or-later
/* The network monitor: when it asks a link for its speed. */
#include "tests/unit/fake_root.h"

#include "server/monitors/monitors.h"

static struct fake_root root;
static struct canfs_monitor_setup setup;
static void *monitor;
static unsigned int sent_bytes;

static void sends(unsigned int bytes)
{
	char text[512];

	sent_bytes += bytes;
	snprintf(text, sizeof(text),
		"Inter-|\n face |\n  eth0: 0 0 0 0 0 0 0 0 %u 0 0 0 0 0 0 0\n"
		"  eth1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		sent_bytes);
	fake_root_write(&root, "/proc/net/dev", text);
}

static int set_up(void **state)
{
	(void)state;
	fake_root_make(&root);
	for (int i = 0; i < 2; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/sys/class/net/eth%d/device", i);
		fake_root_write(&root, path, "");
		snprintf(path, sizeof(path), "/sys/class/net/eth%d/speed", i);
		fake_root_write(&root, path, "8\n");
		snprintf(path, sizeof(path), "/sys/class/net/eth%d/carrier_changes", i);
		fake_root_write(&root, path, "1\n");
	}
	sent_bytes = 0;
	sends(0);
	setup = (struct canfs_monitor_setup) { .root = root.path };
	return canfs_network_open(&monitor, &setup);
}

static int tear_down(void **state)
{
	(void)state;
	canfs_network_close(monitor);
	fake_root_remove(&root);
	return 0;
}

/* While 500000 bytes are sent a second: half of the 8 Mbit/s at first. */
static double after_sec(unsigned int sec)
{
	double utilization = -1;

	for (unsigned int i = 0; i < sec; i++) {
		int ret;

		sends(500000);
		ret = canfs_network_sample(monitor, 1, &utilization);
		assert_true(ret == 0 || ret == -EAGAIN);
	}
	return utilization;
}

static void speed_is_asked_again_when_a_link_went_down_and_up(void **state)
{
	(void)state;
	assert_float_equal(after_sec(30), 0.5, 1e-9);
	fake_root_write(&root, "/sys/class/net/eth0/speed", "80\n");
	assert_float_equal(after_sec(60), 0.5, 1e-9);
	fake_root_write(&root, "/sys/class/net/eth0/carrier_changes", "3\n");
	/* What it asks for holds from the next sample on. */
	assert_float_equal(after_sec(2), 0.05, 1e-9);
}

/* The driver of a link that is just up may not know yet. */
static void speed_is_asked_once_more_when_it_has_settled(void **state)
{
	(void)state;
	after_sec(30);
	fake_root_write(&root, "/sys/class/net/eth0/speed", "-1\n");
	fake_root_write(&root, "/sys/class/net/eth0/carrier_changes", "3\n");
	assert_float_equal(after_sec(3), 0, 1e-9);
	fake_root_write(&root, "/sys/class/net/eth0/speed", "80\n");
	assert_float_equal(after_sec(3), 0, 1e-9);
	assert_float_equal(after_sec(8), 0.05, 1e-9);
}

/* A bond's own carrier stays when it loses one of its members. */
static void carrier_of_one_link_concerns_all(void **state)
{
	(void)state;
	after_sec(30);
	fake_root_write(&root, "/sys/class/net/eth0/speed", "4\n");
	fake_root_write(&root, "/sys/class/net/eth1/carrier_changes", "2\n");
	assert_float_equal(after_sec(2), 1, 1e-9);
}

static void speed_that_changes_by_itself_is_found_in_the_end(void **state)
{
	(void)state;
	after_sec(30);
	fake_root_write(&root, "/sys/class/net/eth0/speed", "80\n");
	assert_float_equal(after_sec(500), 0.5, 1e-9);
	assert_float_equal(after_sec(200), 0.05, 1e-9);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static char said[1024];

static void hear(const char *message)
{
	strncat(said, message, sizeof(said) - strlen(said) - 2);
	strcat(said, "\n");
}

/* A container host whose own link is listed last, after a torn line. */
static void put_containers(unsigned int count, const char *last)
{
	size_t size = 128 + 64 * (size_t)count;
	char *text = malloc(size);
	size_t used;

	assert_non_null(text);
	used = (size_t)snprintf(text, size, "Inter-|\n face |\n");
	for (unsigned int i = 0; i < count; i++)
		used += (size_t)snprintf(
			text + used, size - used, "veth%07u: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n", i);
	snprintf(text + used, size - used, "  eth1: 7\n%s", last);
	fake_root_write(&root, "/proc/net/dev", text);
	free(text);
}

static void the_last_of_thousands_is_found(void **state)
{
	double utilization = -1;

	(void)state;
	put_containers(3000, "eth0: 0 0 0 0 0 0 0 0 0\n");
	assert_int_equal(canfs_network_sample(monitor, 1, &utilization), -EAGAIN);
	put_containers(3000, "eth0: 0 0 0 0 0 0 0 0 500000\neth0: 0 0 0 0 0 0 0 0 9000000\n");
	assert_int_equal(canfs_network_sample(monitor, 1, &utilization), 0);
	assert_float_equal(utilization, 0.5, 1e-9);
}

static void what_cannot_be_used_is_named(void **state)
{
	double utilization;

	(void)state;
	canfs_network_close(monitor);
	said[0] = '\0';
	setup.say = hear;
	setup.interface_count = 2;
	strcpy(setup.interfaces[0], "eth0");
	strcpy(setup.interfaces[1], "eht1");
	assert_int_equal(canfs_network_open(&monitor, &setup), 0);
	put_containers(1, "eth0: 0 0 0 0 0 0 0 0 0\n");
	for (int i = 0; i < 3; i++)
		canfs_network_sample(monitor, 1, &utilization);
	assert_string_equal(said, "/proc/net/dev: cannot use the line \"eth1: 7\"\n"
				  "Interfaces: there is no eht1\n");
	fake_root_write(&root, "/proc/net/dev", "");
	assert_int_equal(canfs_network_sample(monitor, 1, &utilization), -EPROTO);
	assert_non_null(strstr(said, "/proc/net/dev is empty or truncated"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(speed_is_asked_again_when_a_link_went_down_and_up),
		TEST(speed_is_asked_once_more_when_it_has_settled),
		TEST(carrier_of_one_link_concerns_all),
		TEST(speed_that_changes_by_itself_is_found_in_the_end),
		TEST(the_last_of_thousands_is_found),
		TEST(what_cannot_be_used_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
