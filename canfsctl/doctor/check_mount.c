// SPDX-License-Identifier: LGPL-3.0-or-later
/* Checks of a mount in use: network path, counters since mount, prices. */
#include "canfsctl/doctor/checks.h"

#include <stdio.h>

#define FAST_LINK_MBIT 10000
#define STANDARD_MTU   1500
#define JUMBO_MTU      9000

#define IP_ICMP_HEADERS 28 /* added by ping */

/* Only lo has a larger MTU; then the server is this host. */
#define IP_PACKET_MAX_BYTES UINT16_MAX

/* IPv6 and TCP headers with timestamps are 72 bytes. Rounded up for encapsulation. */
#define HEADERS_MAX_BYTES 128

/* Enough READs and WRITEs for an average. */
#define ENOUGH_OPS        1000
#define ENOUGH_READ_BYTES (64u << 20)

/* Well-tuned read-ahead reads 1.1 bytes per byte used. At 1.5, one third is wasted. */
#define OVERFETCH 1.5

/*
 * Some retransmissions are normal, such as after a lost TCP connection. One in a thousand requests
 * is not.
 */
#define RETRANSMITTED_MIN 10
#define RETRANSMITTED_PER 1000

static uint64_t more(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static double overfetch(const struct canfs_mountstats *stats)
{
	const double used = (double)stats->normal_read_bytes + (double)stats->direct_read_bytes;

	/* Without read(2), all reads were by mmap(), which the kernel does not count. */
	if (stats->server_read_bytes < ENOUGH_READ_BYTES || used <= 0)
		return 1;
	return (double)stats->server_read_bytes / used;
}

bool canfs_check_nconnect(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	const bool has_nconnect =
		host->kernel_major > 5 || (host->kernel_major == 5 && host->kernel_minor >= 3);

	if (!has_nconnect || !mount->mount->tcp || mount->link.speed_mbit < FAST_LINK_MBIT ||
		mount->mount->options.nconnect > 1 || mount->stats.xprt.connections > 1)
		return false;
	canfs_finding_say(finding,
		"a single TCP connection uses one CPU at a time, on a link of %u Mbit/s",
		mount->link.speed_mbit);
	return canfs_finding_advise(finding, "unmount all mounts of this server, then mount with "
					     "nconnect=4 (the first mount decides)");
}

bool canfs_check_mtu(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	const struct canfs_link_facts *link = &mount->link;
	const uint32_t mtu = link->mtu_bytes;

	(void)host;
	if (mtu == 0 || mtu > IP_PACKET_MAX_BYTES)
		return false;
	if (link->path_mtu_bytes && link->path_mtu_bytes < mtu) {
		canfs_finding_say(finding, "%s has an MTU of %u, but the path to the server has %u",
			link->interface, mtu, link->path_mtu_bytes);
	} else if (link->mss_bytes && link->mss_bytes + HEADERS_MAX_BYTES < mtu) {
		canfs_finding_say(finding,
			"%s has an MTU of %u, but the server takes TCP segments of %u bytes",
			link->interface, mtu, link->mss_bytes);
	} else {
		return false;
	}
	return canfs_finding_advise(
		finding, "set the same MTU here, on the server and on each switch between them");
}

bool canfs_check_jumbo(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)host;
	if (mount->link.speed_mbit < FAST_LINK_MBIT || mount->link.mtu_bytes == 0 ||
		mount->link.mtu_bytes > STANDARD_MTU)
		return false;
	canfs_finding_say(finding, "%s moves %u Mbit/s in packets of %u bytes",
		mount->link.interface, mount->link.speed_mbit, mount->link.mtu_bytes);
	return canfs_finding_advise(finding, "an MTU of 9000 costs less CPU, if the server and "
					     "each switch on the path support it");
}

/* Only where the agent would use the link's speed. */
bool canfs_check_own_network(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	const struct canfs_terms *terms =
		canfs_config_terms(&host->config, mount->mount->mountpoint);

	if (!host->agent_runs || mount->price != CANFS_PRICE_PUBLISHED || terms->link_speed ||
		mount->link.agent_mbit || !mount->link.interface[0])
		return false;
	canfs_finding_say(finding,
		"the agent does not know the speed of %s, so it cannot tell when other traffic "
		"fills that link",
		mount->link.interface);
	return canfs_finding_advise(finding, "set link_speed in agent.conf, in Mbit/s");
}

static bool is_v4_session(const struct canfs_mount *mount)
{
	return mount->version == 4 && mount->minor_version > 0;
}

/* Without counters nothing can be said about them, and the agent does not manage the mount. */
bool canfs_check_counters(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	(void)host;
	if (!mount->lacks)
		return false;
	canfs_finding_say(finding,
		"/proc/self/mountstats: the line %s of this mount is missing or unusable",
		mount->lacks);
	return canfs_finding_advise(finding,
		"none: canfs leaves this mount at kernel defaults; please report this as "
		"a bug, with the section of this mount in that file");
}

/* At each send, the kernel adds the number of requests that wait for a slot. */
bool canfs_check_backlog(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	const struct canfs_xprt_stats *xprt = &mount->stats.xprt;
	char most[64] = ""; /* old kernels do not report max_slots */

	(void)host;
	if (xprt->sends < ENOUGH_OPS || xprt->backlog < xprt->sends)
		return false;
	if (xprt->max_slots > 0)
		snprintf(most, sizeof(most), "; at most %llu slots were used at once",
			(unsigned long long)xprt->max_slots);
	canfs_finding_say(finding, "%.1f requests wait for a slot on average%s",
		(double)xprt->backlog / (double)xprt->sends, most);
	if (is_v4_session(mount->mount))
		return canfs_finding_advise(finding,
			"raise the module parameter nfs.max_session_slots here, and the "
			"session slots on the server");
	return canfs_finding_advise(finding, "raise sunrpc.tcp_max_slot_table_entries, then "
					     "unmount and mount again; or mount with nconnect=4");
}

/*
 * No request waits longer than the age of its mount, so a larger sum has overflowed or gone below
 * 0. Returns 0 if the mean is unknown.
 */
static double mean_msec(uint64_t sum_msec, uint64_t ops, uint64_t age_sec)
{
	const double mean = (double)sum_msec / (double)ops;

	return age_sec > 0 && mean > 1000.0 * (double)age_sec ? 0 : mean;
}

/* Only READs: write-back issues WRITEs in bursts, and nothing waits for a single one. */
bool canfs_check_queue(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	const struct canfs_op_stats *read = &mount->stats.read;
	double queue_msec, server_msec;

	(void)host;
	if (read->ops < ENOUGH_OPS)
		return false;
	queue_msec = mean_msec(read->queue_msec, read->ops, mount->stats.age_sec);
	server_msec = mean_msec(read->rtt_msec, read->ops, mount->stats.age_sec);
	if (queue_msec < 1 || queue_msec <= server_msec || server_msec <= 0)
		return false;
	canfs_finding_say(finding,
		"READs wait %.1f ms on this client, and then %.1f ms for the server", queue_msec,
		server_msec);
	return canfs_finding_advise(finding,
		"the link is the bottleneck: use a faster one, or nconnect=4, or lower "
		"vm.dirty_background_bytes for smaller bursts of WRITEs");
}

bool canfs_check_retransmissions(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	const struct canfs_op_stats *const all[] = { &mount->stats.read, &mount->stats.write,
		&mount->stats.commit };
	const uint32_t mtu = mount->link.mtu_bytes > STANDARD_MTU ? JUMBO_MTU : STANDARD_MTU;
	uint64_t ops = 0, again = 0, timeouts = 0;

	(void)host;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		ops += all[i]->ops;
		again += more(all[i]->transmissions, all[i]->ops);
		timeouts += all[i]->timeouts;
	}
	if (again + timeouts < RETRANSMITTED_MIN || again + timeouts <= ops / RETRANSMITTED_PER)
		return false;
	canfs_finding_say(finding,
		"%llu READs, WRITEs and COMMITs since mount: %llu were sent again and %llu timed "
		"out",
		(unsigned long long)ops, (unsigned long long)again, (unsigned long long)timeouts);
	return canfs_finding_advise(finding,
		"look for packet loss (ip -s link; ping -M do -s %u SERVER) or a server that hung",
		mtu - IP_ICMP_HEADERS);
}

static bool has_prices(const struct canfs_mount_facts *mount)
{
	return mount->price == CANFS_PRICE_PUBLISHED || mount->service == CANFS_SERVICE_SERVED;
}

/* Would the agent change this mount's read-ahead when something is read? */
static bool agent_would_move(
	const struct canfs_host_facts *host, const struct canfs_mount_facts *mount)
{
	const char *mountpoint = mount->mount->mountpoint;
	const struct canfs_terms *terms = canfs_config_terms(&host->config, mountpoint);

	return has_prices(mount) && terms->mode == CANFS_ENFORCE && terms->readahead &&
	       canfs_config_wants_mount(&host->config, mountpoint);
}

/* Does an agent set this read-ahead? The agent has a reason, and restores the value. */
static bool agent_moves(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount)
{
	bool turned = host->journal_hidden || agent_would_move(host, mount);

	for (size_t i = 0; i < host->read_aheads_turned; i++)
		turned = turned || canfs_bdi_equal(host->read_ahead_turned[i], mount->mount->bdi);
	return host->agent_runs && turned;
}

/* The kernel's default is 128 KiB, regardless of rsize. */
bool canfs_check_read_ahead(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	const uint64_t rsize_kib = mount->mount->options.rsize_bytes / 1024;

	if (agent_moves(host, mount) || mount->read_ahead_kib == 0 ||
		mount->read_ahead_kib >= rsize_kib || overfetch(&mount->stats) > OVERFETCH)
		return false;
	canfs_finding_say(finding,
		"read_ahead_kb is %llu, less than one READ of rsize (%llu KiB): sequential readers "
		"wait",
		(unsigned long long)mount->read_ahead_kib, (unsigned long long)rsize_kib);
	return canfs_finding_advise(finding,
		"run canfs-agent in mode enforce, which sets it by the server's price if there is "
		"one; or echo %llu >/sys/class/bdi/%u:%u/read_ahead_kb",
		(unsigned long long)rsize_kib * 4, mount->mount->bdi.major,
		mount->mount->bdi.minor);
}

bool canfs_check_overfetch(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	const double ratio = overfetch(&mount->stats);

	(void)host;
	if (ratio <= OVERFETCH)
		return false;
	canfs_finding_say(finding,
		"%.1f bytes came from the server for each byte that programs read since mount",
		ratio);
	return canfs_finding_advise(finding,
		"run canfs-agent; or lower /sys/class/bdi/%u:%u/read_ahead_kb (%llu), unless "
		"programs map their files",
		mount->mount->bdi.major, mount->mount->bdi.minor,
		(unsigned long long)mount->read_ahead_kib);
}

bool canfs_check_published(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	(void)host;
	if (mount->price != CANFS_PRICE_NONE || has_prices(mount))
		return false;
	canfs_finding_say(finding, "the server publishes no prices");
	return canfs_finding_advise(finding,
		"export it through FSAL CANFS, or run canfs-priced beside a kernel "
		"server; until then, canfs-agent leaves this mount at kernel defaults");
}

/*
 * Without the price service, prices arrive 0.1 s later by FSSTAT, unless the service is the only
 * source.
 */
bool canfs_check_price_service(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	static const struct {
		const char *says, *remedy;
	} rows[CANFS_SERVICE_FACTS] = {
		[CANFS_SERVICE_UNANSWERED] = { "no answer",
			"open this port in each firewall on the path, if the server has a price "
			"service" },
		[CANFS_SERVICE_CLOSED] = { "closed, so the server pushes no prices",
			"set Price_Port in the server's CANFS block (ganesha-canfs-config(8)), and "
			"the same price_port in agent.conf; until then, prices are polled by "
			"FSSTAT" },
		[CANFS_SERVICE_DENIED] = { "its price service refuses this address and port",
			"run this as root, which uses a port below 1024; then check "
			"price_calls_denied in canfsctl server counters on the server" },
		[CANFS_SERVICE_NO_PRICES] = { "its price service has no prices for this export now",
			"canfsctl server prices, on the server, shows which resources have no "
			"price" },
		[CANFS_SERVICE_FULL] = { "it has too many subscribers at this address",
			"give each client its own address, if they share one (NAT); clients left "
			"out poll prices by FSSTAT" },
	};
	/* Another check reports servers that answer nothing and servers without canfs. */
	const bool is_told =
		mount->price == CANFS_PRICE_UNANSWERED ||
		(mount->price == CANFS_PRICE_NONE && mount->service == CANFS_SERVICE_CLOSED);

	if (!rows[mount->service].says || is_told)
		return false;
	canfs_finding_say(finding, "UDP port %u of the server: %s", host->config.price_port,
		rows[mount->service].says);
	return canfs_finding_advise(finding, "%s", rows[mount->service].remedy);
}

bool canfs_check_answered(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	(void)host;
	if (mount->price != CANFS_PRICE_UNANSWERED)
		return false;
	canfs_finding_say(finding, "no answer about prices: %s", mount->price_error);
	return canfs_finding_advise(finding,
		"run this as root; let this host reach NFS on the server, for NFSv3 also MOUNT and "
		"rpcbind (TCP); then try canfsctl price %s",
		mount->mount->source);
}
