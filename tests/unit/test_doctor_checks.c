// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfsctl doctor: from a healthy client one fact is changed; one check must see it, and no other. */
#include "tests/unit/fake_root.h"

#include "canfsctl/doctor/checks.h"

static struct canfs_mount mount;
static struct canfs_mount_facts facts;
static struct canfs_host_facts host;
static bool as_note;             /* whether what was found last was one */
static unsigned long long found; /* bit i: check i has found something in some test */

/* A client of Debian 12 with 16 GiB, an agent, and a mount that was in use, on 1 Gbit/s. */
static void make_healthy(void)
{
	mount = (struct canfs_mount) {
		.bdi = { 0, 41 },
		.mountpoint = "/mnt/a",
		.source = "srv:/export",
		.version = 3,
		.tcp = true,
		.sec = "sys",
		.options = { .rsize_bytes = 1048576,
			.wsize_bytes = 1048576,
			.timeo_dsec = 600,
			.acregmax_sec = 60,
			.acdirmax_sec = 60 },
	};
	facts = (struct canfs_mount_facts) {
		.mount = &mount,
		.stats = {
			.found = true,
			.normal_read_bytes = 1u << 30,
			.server_read_bytes = 1u << 30,
			.xprt = { .connections = 1, .sends = 30000, .backlog = 10, .max_slots = 40 },
			.read = { .ops = 10000, .transmissions = 10003, .queue_msec = 1000,
				.rtt_msec = 10000 },
			.write = { .ops = 10000, .transmissions = 10000, .queue_msec = 9000,
				.rtt_msec = 10000 },
			.commit = { .ops = 100, .transmissions = 100 },
		},
		.read_ahead_kib = 4096,
		.link = { .interface = "eth0",
			.mtu_bytes = 1500,
			.path_mtu_bytes = 1500,
			.speed_mbit = 1000,
			.agent_mbit = 1000,
			.mss_bytes = 1448,
			.rtt_usec = 500 },
		.price = CANFS_PRICE_PUBLISHED,
		.service = CANFS_SERVICE_SERVED,
	};
	host = (struct canfs_host_facts) {
		.page_bytes = 4096,
		.kernel_major = 6,
		.kernel_minor = 1,
		.dirty_bytes = 3000000000,
		.background_bytes = 1500000000,
		.expire_sec = 30,
		.slots_max = 65536,
		.receive_buffer_bytes = 6291456,
		.send_buffer_bytes = 4194304,
		.agent_runs = true,
		.config.price_port = 20590,
	};
}

/* Only the check `name` may find something, and its text must contain `what`. name NULL: none may. */
static void assert_only(const char *name, const char *what, int line)
{
	const struct canfs_check *check;
	struct canfs_finding finding;
	bool seen = false;

	canfs_host_sum_up(&host, &facts, 1);
	for (size_t i = 0; (check = canfs_check_at(i)); i++) {
		if (!check->judge(&host, check->per_mount ? &facts : NULL, &finding))
			continue;
		if (check->note && name && strcmp(check->name, name) != 0)
			continue; /* may stand beside a finding */
		if (!name || strcmp(check->name, name) != 0)
			fail_msg("line %d: %s: %s", line, check->name, finding.what);
		if (!strstr(finding.what, what) && !strstr(finding.remedy, what))
			fail_msg("line %d: '%s' is in neither '%s' nor '%s'", line, what,
				finding.what, finding.remedy);
		assert_true(strlen(finding.what) > 10 && !strchr(finding.what, '\n'));
		assert_true(strlen(finding.remedy) > 10 && !strchr(finding.remedy, '\n'));
		seen = true;
		as_note = check->note;
		found |= 1ull << i;
	}
	if (name && !seen)
		fail_msg("line %d: %s found nothing", line, name);
}

#define HEALTHY(change)                                                                            \
	do {                                                                                       \
		make_healthy();                                                                    \
		change;                                                                            \
		assert_only(NULL, NULL, __LINE__);                                                 \
	} while (0)

#define FINDS(name, what, change)                                                                  \
	do {                                                                                       \
		make_healthy();                                                                    \
		change;                                                                            \
		assert_only(name, what, __LINE__);                                                 \
	} while (0)

/* Of the last case: a note of that name could stand beside what was found. */
static void assert_silent(const char *name)
{
	const struct canfs_check *check;
	struct canfs_finding finding;

	for (size_t i = 0; (check = canfs_check_at(i)); i++)
		if (strcmp(check->name, name) == 0)
			assert_false(
				check->judge(&host, check->per_mount ? &facts : NULL, &finding));
}

/* A note: right for some, and no reason for an exit status. */
#define NOTES(name, what, change)                                                                  \
	do {                                                                                       \
		FINDS(name, what, change);                                                         \
		assert_true(as_note);                                                              \
	} while (0)

static void test_options(void **state)
{
	struct canfs_mount_options *options = &mount.options;

	(void)state;
	HEALTHY(;);
	FINDS("rsize", "8192 bytes: many", options->rsize_bytes = 8192);
	FINDS("rsize", "mount with rsize=1044480", options->rsize_bytes = 1047672);
	FINDS("wsize", "61440 bytes: many", options->wsize_bytes = 61440);
	HEALTHY(options->wsize_bytes = 65536);
	HEALTHY(options->wsize_bytes = 0);
	FINDS("attributes", "noac", options->noac = options->sync = true;
		options->acregmax_sec = options->acdirmax_sec = 0);
	FINDS("attributes", "0 s (files) and 60 s", options->acregmax_sec = 0);
	FINDS("attributes", "60 s (files) and 2 s", options->acdirmax_sec = 2);
	HEALTHY(options->acdirmax_sec = 3);
	FINDS("lookupcache", "lookupcache=pos", options->no_lookup_cache = true);
	FINDS("sync", "each write waits", options->sync = true);
	FINDS("soft", "mount with hard", options->soft = true);
	HEALTHY(options->soft = options->read_only = true); /* nothing to lose */
	FINDS("timeo", "9.9 s without", options->timeo_dsec = 99);
	HEALTHY(options->timeo_dsec = 100);
	HEALTHY(options->timeo_dsec = 7; mount.tcp = false); /* RDMA */
	FINDS("udp", "proto=tcp", options->udp = true; mount.tcp = false);
	FINDS("callback", "vers=4.1", mount.version = 4; options->no_callback = true);
	HEALTHY(mount.version = 4; mount.minor_version = 1; options->no_callback = true);
	FINDS("client-id", "host name, (none)", mount.version = 4;
		strcpy(host.shared_name, "(none)"));
	HEALTHY(mount.version = 3; strcpy(host.shared_name, "(none)"));
	NOTES("krb5", "sec=krb5p", strcpy(mount.sec, "krb5p"); facts.price = CANFS_PRICE_NOT_ASKED);
	NOTES("private", "xprtsec=mtls: prices cannot", strcpy(mount.xprtsec, "mtls");
		facts.price = CANFS_PRICE_NOT_ASKED);
	NOTES("private", "sec=lkey: prices cannot", strcpy(mount.sec, "lkey");
		facts.price = CANFS_PRICE_NOT_ASKED);
	HEALTHY(strcpy(mount.xprtsec, "none"));
}

static void test_link(void **state)
{
	struct canfs_link_facts *link = &facts.link;

	(void)state;
	FINDS("mtu", "MTU of 9000, but the path to the server has 1500", link->mtu_bytes = 9000);
	FINDS("mtu", "TCP segments of 1448 bytes", link->mtu_bytes = link->path_mtu_bytes = 9000);
	HEALTHY(link->mtu_bytes = link->path_mtu_bytes = 9000; link->mss_bytes = 8948);
	HEALTHY(link->mss_bytes = 0);
	/* lo: no packet is larger than 65535 bytes, and TCP halves what it might send */
	HEALTHY(link->mtu_bytes = 65536; link->path_mtu_bytes = 65535; link->mss_bytes = 32741);
	FINDS("mtu", "MTU of 65520, but the path", link->mtu_bytes = 65520);
	HEALTHY(memset(link, 0, sizeof(*link)));
	HEALTHY(host.config.terms.link_speed = 100; link->agent_mbit = 0);
	NOTES("own-network", "the speed of eth0", link->agent_mbit = 0);
	NOTES("jumbo", "eth0 moves 10000 Mbit/s", link->speed_mbit = 10000;
		mount.options.nconnect = 4);
	NOTES("nconnect", "nconnect=4", link->speed_mbit = 10000; link->mtu_bytes = 9000;
		link->path_mtu_bytes = 9000; link->mss_bytes = 8948);
	FINDS("kernel", "Linux 5.2", link->speed_mbit = 10000; link->mtu_bytes = 9000;
		link->path_mtu_bytes = 9000; link->mss_bytes = 8948; host.kernel_major = 5;
		host.kernel_minor = 2);
	FINDS("socket-buffers", "tcp_rmem allows a TCP buffer of 6291456 bytes",
		link->rtt_usec = 30000);
}

/* The agent has turned those of n BDIs, 0:minor and up. */
static void turn_read_ahead(uint32_t n, uint32_t minor)
{
	host.read_aheads_turned = n;
	while (n-- > 0)
		host.read_ahead_turned[n] = (struct canfs_bdi) { 0, minor + n };
}

static void test_counters(void **state)
{
	struct canfs_mountstats *stats = &facts.stats;

	(void)state;
	HEALTHY(memset(stats, 0, sizeof(*stats)));
	FINDS("backlog", "2.0 requests wait", stats->xprt.backlog = 60000);
	FINDS("backlog", "tcp_max_slot_table", stats->xprt.backlog = 60000);
	FINDS("backlog", "max_session_slots", stats->xprt.backlog = 60000; mount.version = 4;
		mount.minor_version = 2);
	HEALTHY(stats->xprt.backlog = 999; stats->xprt.sends = 999);
	FINDS("backlog", "slot on average", stats->xprt.backlog = 60000; stats->xprt.max_slots = 0);
	assert_silent("counters");
	NOTES("counters", "line bytes: of this mount", *stats = (struct canfs_mountstats) { 0 };
		facts.lacks = "bytes:");
	/* An impossible sum: it overflowed, or one of the two is unknown. */
	HEALTHY(stats->read.queue_msec = INT64_MAX; stats->age_sec = 4022110);
	HEALTHY(stats->read.queue_msec = 20000; stats->read.rtt_msec = 0);
	FINDS("queue", "wait 2.0 ms on this client, and then 1.0 ms",
		stats->read.queue_msec = 20000);
	HEALTHY(stats->read.queue_msec = 10000);   /* no longer than the server */
	HEALTHY(stats->write.queue_msec = 900000); /* write-back comes in bursts, for nobody */
	HEALTHY(stats->read.ops = stats->read.transmissions = 999; stats->read.rtt_msec = 999;
		stats->read.queue_msec = 2000);
	HEALTHY(stats->read.ops = 30000; stats->read.transmissions = 30000;
		stats->read.rtt_msec = 1; stats->read.queue_msec = 20000); /* < 1 ms each */
	FINDS("retransmissions", "21 were sent again", stats->read.transmissions = 10021);
	FINDS("retransmissions", "30 timed out", stats->commit.timeouts = 30;
		stats->read.transmissions = 0);
	HEALTHY(stats->read.transmissions = 10020);
	FINDS("read-ahead", "128, less than one READ", facts.read_ahead_kib = 128;
		host.agent_runs = false; turn_read_ahead(1, 41));
}

static void enforce(bool readahead)
{
	host.config.terms.mode = CANFS_ENFORCE;
	host.config.terms.readahead = readahead;
}

static void test_read_ahead(void **state)
{
	struct canfs_mountstats *stats = &facts.stats;

	(void)state;
	NOTES("over-fetch", "8.0 bytes came", stats->normal_read_bytes >>= 3);
	NOTES("over-fetch", "0:41/read_ahead_kb (4096)", stats->normal_read_bytes >>= 3);
	HEALTHY(stats->normal_read_bytes >>= 3; stats->direct_read_bytes = 7u << 27);
	HEALTHY(stats->normal_read_bytes = 0); /* all was mapped */
	HEALTHY(stats->server_read_bytes = 60 << 20; stats->normal_read_bytes = 1);
	HEALTHY(facts.read_ahead_kib = 128; turn_read_ahead(1, 41)); /* the agent's */
	HEALTHY(facts.read_ahead_kib = 128; host.journal_hidden = true);
	FINDS("read-ahead", "in mode enforce", facts.read_ahead_kib = 128); /* it observes */
	FINDS("read-ahead", "is 128", facts.read_ahead_kib = 128; turn_read_ahead(2, 42));
	/* It is there to move it, when something is read. */
	HEALTHY(facts.read_ahead_kib = 128; enforce(true));
	FINDS("read-ahead", "is 128", facts.read_ahead_kib = 128; enforce(false));
	FINDS("read-ahead", "is 128", facts.read_ahead_kib = 128; enforce(true);
		host.agent_runs = false);
	FINDS("read-ahead", "is 128", facts.read_ahead_kib = 128; enforce(true);
		facts.price = CANFS_PRICE_NONE; facts.service = CANFS_SERVICE_CLOSED);
	HEALTHY(facts.read_ahead_kib = 0);
}

static void test_prices(void **state)
{
	(void)state;
	NOTES("prices", "publishes no prices", facts.price = CANFS_PRICE_NONE;
		facts.service = CANFS_SERVICE_CLOSED);
	HEALTHY(facts.price = CANFS_PRICE_NONE); /* canfs-priced: they are pushed */
	FINDS("prices", "no answer about prices: Connection refused",
		facts.price = CANFS_PRICE_UNANSWERED;
		strcpy(facts.price_error, "Connection refused"));
	FINDS("prices", "canfsctl price srv:/export", facts.price = CANFS_PRICE_UNANSWERED);
	assert_false(as_note);
	HEALTHY(facts.price = CANFS_PRICE_NOT_ASKED);
}

static void test_price_service(void **state)
{
	static const char name[] = "price-service";

	(void)state;
	NOTES(name, "UDP port 20590 of the server: no answer",
		facts.service = CANFS_SERVICE_UNANSWERED);
	NOTES(name, "firewall", facts.service = CANFS_SERVICE_UNANSWERED);
	NOTES(name, "closed, so the server", facts.service = CANFS_SERVICE_CLOSED);
	NOTES(name, "Price_Port", facts.service = CANFS_SERVICE_CLOSED);
	NOTES(name, "below 1024", facts.service = CANFS_SERVICE_DENIED);
	NOTES(name, "no prices for this export", facts.service = CANFS_SERVICE_NO_PRICES);
	NOTES(name, "too many subscribers", facts.service = CANFS_SERVICE_FULL);
	NOTES(name, "no answer", facts.service = CANFS_SERVICE_UNANSWERED;
		facts.price = CANFS_PRICE_NONE); /* canfs-priced, perhaps */
	HEALTHY(facts.service = CANFS_SERVICE_NOT_ASKED);
	HEALTHY(facts.read_ahead_kib = 128; enforce(true); facts.price = CANFS_PRICE_NONE);
	/* What the server lacks is said once. */
	FINDS("prices", "no answer about", facts.price = CANFS_PRICE_UNANSWERED;
		facts.service = CANFS_SERVICE_CLOSED);
	assert_silent(name);
	NOTES("prices", "canfs-priced", facts.price = CANFS_PRICE_NONE;
		facts.service = CANFS_SERVICE_CLOSED);
	assert_silent(name);
}

static void test_server(void **state)
{
	static const char name[] = "price-service";

	(void)state;
	HEALTHY(host.kernel_serves = host.price_port_bound = true);
	NOTES(name, "enable --now canfs-priced", host.kernel_serves = true);
	NOTES(name, "Price_Port = 20590", host.ganesha_serves = true);
	NOTES(name, "on another port", host.kernel_serves = host.priced_runs = true);
	HEALTHY(host.kernel_serves = true; host.config.price_port = 0);
	FINDS("async-export", "/srv is exported with async", strcpy(host.async_export, "/srv"));
	NOTES("server-threads", "has 8 threads", host.kernel_threads = 8);
	HEALTHY(host.kernel_threads = 16);
	NOTES("delegations", "at each close", host.no_delegations = true);
}

static void test_host(void **state)
{
	(void)state;
	FINDS("slot-table", "is 16:", host.slots_max = 16);
	HEALTHY(host.slots_max = 64);
	HEALTHY(host.slots_max = 0); /* no sunrpc */
	FINDS("socket-buffers", "'4096 131072 1048576'", host.receive_buffer_bytes = 1000000);
	FINDS("socket-buffers", "'4096 16384 1048576'", host.send_buffer_bytes = 212992);
	FINDS("window-scaling", "64 KiB", host.no_window_scaling = true);
	FINDS("kernel", "Linux 5.10", host.kernel_major = 5; host.kernel_minor = 10);
	FINDS("kernel", "Linux 6.0", host.kernel_minor = 0);
	HEALTHY(host.kernel_major = 0);
	HEALTHY(host.kernel_major = 7; host.kernel_minor = 0);
	FINDS("knobs", "read-only", host.knobs_read_only = true);
	FINDS("meminfo", "the line MemTotal: is missing", host.meminfo_lacks = "MemTotal:");
	NOTES("left-out", "5 NFS mounts", host.mounts_left_out = 5);
	NOTES("left-out", "2 disks", host.disks_left_out = 2);
	FINDS("journal", "restoring 3 knobs", host.journal_entries = 3; host.agent_runs = false);
	NOTES("agent", "enable --now canfs-agent", host.agent_runs = false);
	HEALTHY(host.journal_entries = 3); /* of the agent that runs */
	FINDS("config", "agent.conf:7", strcpy(host.config_error, "agent.conf:7: no such option"));
}

static void test_dirty_limits(void **state)
{
	(void)state;
	FINDS("dirty-limit", "takes 32 s at 1000 Mbit/s,", host.dirty_bytes = 4000000000);
	FINDS("dirty-limit", "vm.dirty_bytes=625000000 vm.dirty_background_bytes=312500000",
		host.dirty_bytes = 4000000000);
	HEALTHY(host.dirty_bytes = 1ull << 40; facts.link.speed_mbit = 0);
	HEALTHY(host.dirty_bytes = 3700000000);
	HEALTHY(host.dirty_bytes = 4000000000; host.background_bytes = 4000000000;
		host.dirty_turned = true); /* the agent's limits */
	HEALTHY(host.dirty_bytes = 4000000000; host.journal_hidden = true);
	FINDS("dirty-limit", "32 s", host.dirty_bytes = 4000000000; turn_read_ahead(1, 41);
		host.journal_entries = 1);
	HEALTHY(host.expire_sec = 0; host.dirty_bytes = 1ull << 40); /* could not be read */
	FINDS("dirty-small", "vm.dirty_bytes=67108864", host.dirty_bytes = 10 << 20;
		host.background_bytes = 5 << 20);
	HEALTHY(host.dirty_bytes = 16 << 20; host.background_bytes = 8 << 20);
	FINDS("background", "1500000000", host.background_bytes = 3000000000);
	HEALTHY(host.dirty_bytes = 0; host.background_bytes = 0);
}

/* The last test: a check without a case above is one that may never find anything. */
static void test_each_check_has_a_case(void **state)
{
	(void)state;
	for (size_t i = 0; canfs_check_at(i); i++) {
		assert_true(i < 64);
		if (!(found >> i & 1))
			fail_msg("no case for %s", canfs_check_at(i)->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_read_ahead),
		cmocka_unit_test(test_prices),
		cmocka_unit_test(test_price_service),
		cmocka_unit_test(test_server),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_dirty_limits),
		cmocka_unit_test(test_each_check_has_a_case),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
