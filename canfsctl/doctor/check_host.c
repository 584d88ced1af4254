// SPDX-License-Identifier: LGPL-3.0-or-later
/* Checks of the host: sysctls, kernel, agent, NFS server. */
#include "canfsctl/doctor/checks.h"

/*
 * Talpey's client had 16 slots and stalled with 16 threads. With a round trip of 1 ms, 64 requests
 * of 1 MiB fill any link of today.
 */
#define SLOTS_MIN 64

#define OLDEST_MAJOR 6 /* the oldest kernel that canfs is tested with */
#define OLDEST_MINOR 1

#define SERVER_THREADS 16 /* the default of current Linux distributions; 8 in older ones */

/* This many WRITEs of wsize must fit below the dirty limit to keep a server busy. */
#define WRITES_MIN 16

#define BYTES_PER_MBIT 125000.0

/* The advised dirty limit: what the link moves in this time. */
#define ADVISED_SEC 5

#define MIB (1024.0 * 1024.0)

bool canfs_check_slots(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)mount;
	if (host->slots_max == 0 || host->slots_max >= SLOTS_MIN)
		return false;
	canfs_finding_say(finding,
		"sunrpc.tcp_max_slot_table_entries is %llu: it limits the requests in flight",
		(unsigned long long)host->slots_max);
	return canfs_finding_advise(finding, "sysctl sunrpc.tcp_max_slot_table_entries=65536 (the "
					     "default), then unmount and mount again");
}

/*
 * The kernel's NFS client lets TCP size its buffers, up to tcp_rmem and tcp_wmem. net.core.rmem_max
 * and wmem_max limit only programs that set a size. Half of a buffer is overhead, hence twice the
 * bytes in flight.
 */
bool canfs_check_buffers(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	const struct {
		const char *sysctl;
		uint64_t bytes, transfer_bytes;
		const char *rest; /* minimum and default */
	} buffers[] = {
		{ "net.ipv4.tcp_rmem", host->receive_buffer_bytes, host->rsize_bytes,
			"4096 131072" },
		{ "net.ipv4.tcp_wmem", host->send_buffer_bytes, host->wsize_bytes, "4096 16384" },
	};
	const uint64_t in_flight = 2 * host->bandwidth_delay;

	(void)mount;
	for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
		const uint64_t least = in_flight > buffers[i].transfer_bytes
					       ? in_flight
					       : buffers[i].transfer_bytes;
		if (buffers[i].bytes == 0 || buffers[i].bytes >= least)
			continue;
		canfs_finding_say(finding,
			"%s allows a TCP buffer of %llu bytes; one transfer, or twice the "
			"bandwidth-delay product, needs %llu",
			buffers[i].sysctl, (unsigned long long)buffers[i].bytes,
			(unsigned long long)least);
		return canfs_finding_advise(finding, "sysctl %s='%s %llu'", buffers[i].sysctl,
			buffers[i].rest, (unsigned long long)least);
	}
	return false;
}

bool canfs_check_windows(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)mount;
	if (!host->no_window_scaling)
		return false;
	canfs_finding_say(finding, "TCP window scaling is off: at most 64 KiB per round trip");
	return canfs_finding_advise(
		finding, "sysctl net.ipv4.tcp_window_scaling=1, then unmount and mount again");
}

/* Has an agent set the dirty limits? The agent restores them, so no advice applies. */
static bool agent_defers(const struct canfs_host_facts *host)
{
	return host->agent_runs && (host->dirty_turned || host->journal_hidden);
}

/*
 * More dirty data than the link moves before the kernel wants it written: a close() may block that
 * long.
 */
bool canfs_check_dirty_limit(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	const uint32_t mbit = host->slowest_mbit;
	const double seconds = (double)host->dirty_bytes / (mbit * BYTES_PER_MBIT);

	(void)mount;
	if (agent_defers(host) || mbit == 0 || host->expire_sec == 0 ||
		seconds <= (double)host->expire_sec)
		return false;
	canfs_finding_say(finding,
		"%.0f MiB may be dirty: sending it takes %.0f s at %u Mbit/s, but dirty data "
		"expires after %llu s",
		(double)host->dirty_bytes / MIB, seconds, mbit,
		(unsigned long long)host->expire_sec);
	return canfs_finding_advise(finding,
		"sysctl vm.dirty_bytes=%.0f vm.dirty_background_bytes=%.0f (what the link sends in "
		"%d s, and half of that)",
		ADVISED_SEC * mbit * BYTES_PER_MBIT, ADVISED_SEC * mbit * BYTES_PER_MBIT / 2,
		ADVISED_SEC);
}

bool canfs_check_dirty_small(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	const uint64_t least = (uint64_t)WRITES_MIN * host->wsize_bytes;

	(void)mount;
	if (host->dirty_bytes == 0 || host->dirty_bytes >= least)
		return false;
	canfs_finding_say(finding,
		"%.1f MiB may be dirty, less than %d WRITEs of wsize: writers wait for each other",
		(double)host->dirty_bytes / MIB, WRITES_MIN);
	return canfs_finding_advise(finding,
		"sysctl vm.dirty_bytes=%llu vm.dirty_background_bytes=%llu",
		4 * (unsigned long long)least, 2 * (unsigned long long)least);
}

bool canfs_check_background(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	(void)mount;
	if (agent_defers(host) || host->dirty_bytes == 0 ||
		host->background_bytes < host->dirty_bytes)
		return false;
	canfs_finding_say(finding,
		"background write-back starts at %.0f MiB, not below the dirty limit of %.0f MiB: "
		"the kernel uses half of the dirty limit instead",
		(double)host->background_bytes / MIB, (double)host->dirty_bytes / MIB);
	return canfs_finding_advise(finding,
		"sysctl vm.dirty_background_bytes=%llu, which is in effect anyway",
		(unsigned long long)host->dirty_bytes / 2);
}

bool canfs_check_kernel(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)mount;
	if (host->kernel_major == 0 || host->kernel_major > OLDEST_MAJOR ||
		(host->kernel_major == OLDEST_MAJOR && host->kernel_minor >= OLDEST_MINOR))
		return false;
	canfs_finding_say(finding, "Linux %u.%u is older than any kernel that canfs is tested with",
		host->kernel_major, host->kernel_minor);
	return canfs_finding_advise(finding,
		"run Linux %d.%d or later, or run canfs-agent only with --observe", OLDEST_MAJOR,
		OLDEST_MINOR);
}

/* For a server: without a price service, clients learn prices later or not at all. */
bool canfs_check_price_port(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	const unsigned int port = host->config.price_port;

	(void)mount;
	if (!canfs_serves_nfs(host) || port == 0 || host->price_port_bound)
		return false;
	canfs_finding_say(
		finding, "this host serves NFS, but no price service listens on UDP port %u", port);
	if (host->priced_runs)
		return canfs_finding_advise(finding,
			"canfs-priced listens on another port: set the same price_port in "
			"priced.conf and in agent.conf on its clients");
	if (host->ganesha_serves)
		return canfs_finding_advise(finding,
			"set Price_Port = %u in the CANFS block of Ganesha's configuration, then "
			"restart Ganesha; until then, clients poll its prices by FSSTAT",
			port);
	return canfs_finding_advise(finding, "systemctl enable --now canfs-priced; without it, "
					     "clients get no prices from the kernel's server");
}

bool canfs_check_async(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)mount;
	if (host->async_export[0] == '\0')
		return false;
	canfs_finding_say(finding,
		"%s is exported with async: if this host crashes, acknowledged data is lost",
		host->async_export);
	return canfs_finding_advise(finding,
		"replace async by sync in /etc/exports, then exportfs -ra; a log on flash, or "
		"delegations, make close(2) fast without this risk (doc/stable.md)");
}

bool canfs_check_threads(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)mount;
	if (host->kernel_threads == 0 || host->kernel_threads >= SERVER_THREADS)
		return false;
	canfs_finding_say(finding,
		"the kernel's server has %u threads: if all are busy, requests wait where "
		"canfs-priced cannot see them",
		host->kernel_threads);
	return canfs_finding_advise(finding, "set threads = 64 below [nfsd] in /etc/nfs.conf, and "
					     "run rpc.nfsd 64 for the running server");
}

bool canfs_check_delegations(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	(void)mount;
	if (!host->no_delegations)
		return false;
	canfs_finding_say(finding, "no export grants delegations: NFSv4 clients wait for the disk "
				   "at each close; in our tests, a client with delegations created "
				   "4 times as many small files per second");
	return canfs_finding_advise(finding, "see Delegations in ganesha-canfs-config(8); a client "
					     "that crashes loses data that it has not sent yet");
}

bool canfs_check_meminfo(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)mount;
	if (!host->meminfo_lacks)
		return false;
	canfs_finding_say(finding,
		"/proc/meminfo: the line %s is missing or unusable, so canfs-agent does nothing "
		"here",
		host->meminfo_lacks);
	return canfs_finding_advise(finding,
		"run canfs-agent on the host, not in the container; restart lxcfs if it provides "
		"this file");
}

/* More than canfsctl or canfs-agent can handle. */
bool canfs_check_left_out(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	(void)mount;
	if (host->mounts_left_out + host->disks_left_out == 0)
		return false;
	canfs_finding_say(finding,
		"%u NFS mounts and %u disks and local file systems exceed the limits and were "
		"not checked",
		host->mounts_left_out, host->disks_left_out);
	return canfs_finding_advise(finding,
		"check a single mount with canfsctl doctor MOUNT; in agent.conf, list the "
		"mounts that canfs-agent should manage (mounts =)");
}

bool canfs_check_knobs(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)mount;
	if (!host->knobs_read_only)
		return false;
	canfs_finding_say(finding, "/proc/sys is read-only here: canfs-agent cannot defer");
	return canfs_finding_advise(finding, "run canfs-agent on the host, not in the container");
}

bool canfs_check_agent(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)mount;
	if (!host->has_mounts || host->agent_runs)
		return false;
	canfs_finding_say(finding, "canfs-agent is not running");
	return canfs_finding_advise(finding,
		"systemctl enable --now canfs-agent; by default, it observes and changes nothing");
}

bool canfs_check_journal(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)mount;
	if (host->agent_runs || host->journal_entries == 0)
		return false;
	canfs_finding_say(finding,
		"an agent exited without restoring %zu knobs that it had changed",
		host->journal_entries);
	return canfs_finding_advise(finding, "canfs-agent --restore");
}

bool canfs_check_config(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)mount;
	if (host->config_error[0] == '\0')
		return false;
	canfs_finding_say(finding, "%s", host->config_error);
	return canfs_finding_advise(
		finding, "correct it, then run canfs-agent --check; see canfs-agent.conf(5)");
}
