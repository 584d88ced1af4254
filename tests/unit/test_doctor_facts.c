// SPDX-License-Identifier: LGPL-3.0-or-later
/* What canfsctl doctor gathers of /proc, /sys and the agent's state directory. */
#include "tests/unit/fake_root.h"

#include <netinet/in.h>
#include <sys/sysmacros.h>

#include "canfsctl/doctor/facts.h"

#define CONFIG "/etc/canfs/agent.conf"

static struct canfs_host_facts gather(const struct fake_root *root)
{
	struct canfs_host_facts host;

	canfs_host_gather(root->path, CONFIG, &host);
	return host;
}

static void write_memory(const struct fake_root *root)
{
	fake_root_write(root, "/proc/meminfo",
		"MemTotal: 2000000 kB\nMemFree: 500000 kB\nMemAvailable: 1000000 kB\n"
		"Active(file): 500000 kB\nDirty: 0 kB\nWriteback: 0 kB\n");
}

static void test_kernel_and_network(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_host_facts host;

	fake_root_write(root, "/proc/sys/kernel/osrelease", "6.12.101-rt3\n");
	fake_root_write(root, "/proc/sys/sunrpc/tcp_max_slot_table_entries", "65536\n");
	fake_root_write(root, "/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
	fake_root_write(root, "/proc/sys/net/ipv4/tcp_wmem", "4096\t16384\n");
	fake_root_write(root, "/proc/sys/net/ipv4/tcp_window_scaling", "1\n");
	host = gather(root);
	assert_int_equal(host.kernel_major, 6);
	assert_int_equal(host.kernel_minor, 12);
	assert_int_equal(host.slots_max, 65536);
	assert_int_equal(host.receive_buffer_bytes, 6291456);
	assert_int_equal(host.send_buffer_bytes, 0); /* torn: not known */
	assert_false(host.no_window_scaling);
	assert_false(host.knobs_read_only);
	fake_root_write(root, "/proc/sys/net/ipv4/tcp_window_scaling", "0\n");
	assert_true(gather(root).no_window_scaling);
}

static void test_shared_name(void **state)
{
	static const char *const unique_id = "/sys/module/nfs/parameters/nfs4_unique_id";
	const struct fake_root *root = *state;

	fake_root_write(root, "/proc/sys/kernel/hostname", "node17\n");
	assert_string_equal(gather(root).shared_name, "");
	fake_root_write(root, "/proc/sys/kernel/hostname", "localhost\n");
	assert_string_equal(gather(root).shared_name, "localhost");
	fake_root_write(root, unique_id, "\n");
	assert_string_equal(gather(root).shared_name, "localhost");
	fake_root_write(root, unique_id, "rack4-node17\n");
	assert_string_equal(gather(root).shared_name, "");
}

static void test_dirty_limits(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_host_facts host;

	write_memory(root);
	fake_root_write(root, "/proc/sys/vm/dirty_bytes", "0\n");
	fake_root_write(root, "/proc/sys/vm/dirty_ratio", "20\n");
	fake_root_write(root, "/proc/sys/vm/dirty_background_bytes", "1048576\n");
	fake_root_write(root, "/proc/sys/vm/dirty_background_ratio", "0\n");
	fake_root_write(root, "/proc/sys/vm/dirty_expire_centisecs", "3000\n");
	host = gather(root);
	assert_int_equal(host.dirty_bytes, 204800000);
	assert_int_equal(host.background_bytes, 1048576);
	assert_int_equal(host.expire_sec, 30);
}

static void test_an_empty_root(void **state)
{
	const struct canfs_host_facts host = gather(*state);

	assert_int_equal(host.kernel_major, 0);
	assert_int_equal(host.dirty_bytes, 0);
	assert_int_equal(host.expire_sec, 0);
	assert_int_equal(host.slots_max, 0);
	assert_false(host.agent_runs || host.no_window_scaling || host.knobs_read_only);
	assert_int_equal(host.journal_entries, 0);
	assert_string_equal(host.config_error, "");
}

static void test_journal_of_this_boot_only(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_host_facts host;

	fake_root_write(root, "/proc/sys/kernel/random/boot_id", "boot-1\n");
	fake_root_write(root, "/run/canfs/journal",
		"canfs-journal 1 boot-1\n"
		"original dirty_bytes 0:0 0 20 0 - -\nwrote dirty_bytes 0:0 300000000\n");
	host = gather(root);
	assert_int_equal(host.journal_entries, 1);
	assert_true(host.dirty_turned);
	assert_int_equal(host.read_aheads_turned, 0);
	fake_root_write(root, "/run/canfs/journal",
		"canfs-journal 1 boot-1\n"
		"original dirty_bytes 0:0 0 20 0 - -\nyielded dirty_bytes 0:0\n"
		"original read_ahead_kb 0:41 128 0 36 s:/x /m\nwrote read_ahead_kb 0:41 512\n"
		"original read_ahead_kb 0:42 128 0 37 s:/y /n\nyielded read_ahead_kb 0:42\n");
	host = gather(root);
	assert_int_equal(host.journal_entries, 3);
	assert_false(host.dirty_turned || host.journal_hidden);
	assert_int_equal(host.read_aheads_turned, 1);
	assert_int_equal(host.read_ahead_turned[0].minor, 41);
	fake_root_write(root, "/run/canfs/journal",
		"canfs-journal 1 boot-0\noriginal dirty_bytes 0:0 0 20 0 - -\n");
	assert_int_equal(gather(root).journal_entries, 0);
	fake_root_write(root, "/run/canfs/journal", "garbage\n");
	assert_int_equal(gather(root).journal_entries, 0);
}

static void test_the_agents_lock(void **state)
{
	const struct fake_root *root = *state;
	char full[PATH_MAX], locks[256];
	struct stat st;

	fake_root_write(root, CONFIG, "[agent]\nstate_dir = /state\n");
	fake_root_write(root, "/state/lock", "");
	fake_root_full(root, "/state/lock", full);
	assert_int_equal(stat(full, &st), 0);
	snprintf(locks, sizeof(locks), "1: FLOCK  ADVISORY  WRITE 708 %02x:%02x:%llu 0 EOF\n",
		major(st.st_dev), minor(st.st_dev), (unsigned long long)st.st_ino);
	assert_false(gather(root).agent_runs);
	fake_root_write(root, "/proc/locks", locks);
	assert_true(gather(root).agent_runs);
	fake_root_write(root, CONFIG, "[agent]\n");
	assert_false(gather(root).agent_runs);
}

static void test_locks(void **state)
{
	(void)state;
	assert_true(canfs_locks_hold("1: POSIX  ADVISORY  WRITE 1 00:16:1 0 EOF\n"
				     "2: FLOCK  ADVISORY  WRITE 708 00:16:493 0 EOF\n",
		0, 22, 493));
	assert_false(
		canfs_locks_hold("1: POSIX  ADVISORY  WRITE 708 00:16:493 0 EOF\n", 0, 22, 493));
	assert_false(
		canfs_locks_hold("1: FLOCK  ADVISORY  WRITE 708 00:16:4930 0 EOF\n", 0, 22, 493));
	assert_false(canfs_locks_hold("1: FLOCK  ADVISORY  WRITE 8 fd:16:493 0 EOF\n", 0, 22, 493));
	assert_false(canfs_locks_hold("1: FLOCK  ADVISORY  WRITE 708 00:16:493 0 EOF", 0, 22, 493));
	assert_false(canfs_locks_hold("", 0, 22, 493));
}

static bool has_port(const char *line, uint16_t port)
{
	return canfs_udp_line_has_port(line, line + strlen(line), port);
}

static void test_udp_lines(void **state)
{
	(void)state;
	assert_true(has_port("   46: 00000000:506E 00000000:0000 07 00000000:00000000", 20590));
	assert_true(has_port("46: 00000000000000000000000000000000:506E 0000", 20590));
	assert_true(has_port("46: 0100007F:006F 0", 0x6f));
	assert_false(has_port("46: 00000000:506F 00000000:506E 07", 20590)); /* the peer's */
	assert_false(has_port("46: 00000000:506E0 00000000:0000 07", 20590));
	assert_false(has_port("46: 00000000:506E", 20590)); /* torn */
	assert_false(has_port("46: 00000000:", 20590));
	assert_false(has_port("46:", 20590));
	assert_false(has_port("", 20590));
	assert_false(has_port("  sl  local_address rem_address   st tx_queue", 20590));
}

static void test_servers(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_host_facts host = gather(root); /* whose port is the default */

	canfs_server_gather(root->path, &host);
	assert_false(canfs_serves_nfs(&host) || host.priced_runs || host.price_port_bound);
	fake_root_write(root, "/proc/700/comm", "nfsd\n");
	fake_root_write(root, "/proc/701/comm", "nfsd\n");
	fake_root_write(root, "/proc/net/udp",
		"  sl  local_address rem_address   st\n"
		"   12: 00000000:006F 00000000:0000 07\n");
	canfs_server_gather(root->path, &host);
	assert_true(host.kernel_serves && !host.ganesha_serves);
	assert_false(host.priced_runs || host.price_port_bound);
	fake_root_write(root, "/proc/800/comm", "canfs-priced\n");
	fake_root_write(root, "/proc/801/comm", "ganesha.nfsd\n");
	fake_root_write(root, "/proc/net/udp6",
		"   12: 00000000000000000000000000000000:506E "
		"00000000000000000000000000000000:0000 07\n");
	canfs_server_gather(root->path, &host);
	assert_true(host.kernel_serves && host.ganesha_serves);
	assert_true(host.priced_runs && host.price_port_bound);
	host.config.price_port = 20591;
	canfs_server_gather(root->path, &host);
	assert_false(host.price_port_bound);
}

static void test_a_wrong_configuration(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_host_facts host;

	fake_root_write(root, CONFIG, "[agent]\nhold_pct = 90\n");
	host = gather(root);
	assert_non_null(strstr(host.config_error, "agent.conf:2: hold_pct"));
}

static void test_link_and_read_ahead(void **state)
{
	const struct fake_root *root = *state;
	struct canfs_mount mount = { .bdi = { 0, 41 }, .address.ss_family = AF_INET };
	struct canfs_mount_facts facts = { .mount = &mount };

	((struct sockaddr_in *)&mount.address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fake_root_write(root, "/sys/class/bdi/0:41/read_ahead_kb", "128\n");
	fake_root_write(root, "/sys/class/net/lo/mtu", "9000\n");
	fake_root_write(root, "/sys/class/net/lo/speed", "-1\n");
	canfs_mount_gather(root->path, &facts);
	assert_int_equal(facts.read_ahead_kib, 128);
	assert_string_equal(facts.link.interface, "lo");
	assert_int_equal(facts.link.mtu_bytes, 9000);
	assert_int_equal(facts.link.speed_mbit, 0);
	assert_true(facts.link.path_mtu_bytes >= 1280);

	mount = (struct canfs_mount) { .bdi = { 0, 42 } }; /* no address */
	facts = (struct canfs_mount_facts) { .mount = &mount };
	canfs_mount_gather(root->path, &facts);
	assert_int_equal(facts.read_ahead_kib, 0);
	assert_string_equal(facts.link.interface, "");
}

/* In a container whose lxcfs has died. */
static void test_a_blank_meminfo(void **state)
{
	struct fake_root *root = *state;
	struct canfs_host_facts host;

	fake_root_write(root, "/proc/meminfo", "");
	fake_root_write(root, "/proc/sys/vm/dirty_bytes", "18446744073709551615\n");
	canfs_host_gather(root->path, "/agent.conf", &host);
	assert_string_equal(host.meminfo_lacks, "MemTotal:");
	assert_int_equal(host.dirty_bytes, 0);
}

static void test_sum_over_mounts(void **state)
{
	const struct canfs_mount mounts[2] = {
		{ .options = { .rsize_bytes = 8192, .wsize_bytes = 1048576 } },
		{ .options = { .rsize_bytes = 65536, .wsize_bytes = 4096 } },
	};
	const struct canfs_mount_facts facts[2] = {
		{ .mount = &mounts[0], .link = { .speed_mbit = 10000, .rtt_usec = 1000 } },
		{ .mount = &mounts[1], .link = { .speed_mbit = 1000, .rtt_usec = 2000 } },
	};
	struct canfs_host_facts host = { 0 };

	(void)state;
	canfs_host_sum_up(&host, facts, 0);
	assert_false(host.has_mounts);
	canfs_host_sum_up(&host, facts, 2);
	assert_true(host.has_mounts);
	assert_int_equal(host.rsize_bytes, 65536);
	assert_int_equal(host.wsize_bytes, 1048576);
	assert_int_equal(host.slowest_mbit, 1000);
	assert_int_equal(host.bandwidth_delay, 1250000); /* 10 Gbit/s for 1 ms */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_kernel_and_network, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_shared_name, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_dirty_limits, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_an_empty_root, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_journal_of_this_boot_only, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_the_agents_lock, fake_root_setup, fake_root_teardown),
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_udp_lines),
		cmocka_unit_test_setup_teardown(test_servers, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_a_wrong_configuration, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_link_and_read_ahead, fake_root_setup, fake_root_teardown),
		cmocka_unit_test_setup_teardown(
			test_a_blank_meminfo, fake_root_setup, fake_root_teardown),
		cmocka_unit_test(test_sum_over_mounts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
