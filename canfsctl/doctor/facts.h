/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What canfsctl doctor knows when it judges. Facts are gathered once (host.c, link.c, prices.c, server.c,
 * disks.c), and then judged by functions that look at nothing else (checks.h). A fact that could not be learned is
 * 0 or "", and nothing is said about it.
 *
 * Nothing here waits for an NFS server but the questions for prices, which have a deadline; no path
 * on a mount is looked at.
 */
#ifndef CANFS_CANFSCTL_DOCTOR_FACTS_H
#define CANFS_CANFSCTL_DOCTOR_FACTS_H

#include <net/if.h>
#include "client-agent/config/config.h"
#include "client-agent/kernel/mountstats.h"

/* The way to a server. */
struct canfs_link_facts {
	char interface[IF_NAMESIZE];
	uint32_t mtu_bytes;      /* of the interface */
	uint32_t path_mtu_bytes; /* what the kernel believes of the whole way; at most the above */
	uint32_t speed_mbit;     /* unknown for most virtual interfaces */
	uint32_t agent_mbit;     /* as the agent takes it: of a network card or a bond only */
	uint32_t mss_bytes;      /* what a TCP segment to the server may hold ... */
	uint32_t rtt_usec;       /* ... and its least round trip, both of the question for prices */
};

enum canfs_price_fact {
	CANFS_PRICE_NOT_ASKED,
	CANFS_PRICE_PUBLISHED,
	CANFS_PRICE_NONE, /* an answer without one */
	CANFS_PRICE_UNANSWERED,
};

/* What came of a subscription to the server's price service, as the agent's. */
enum canfs_service_fact {
	CANFS_SERVICE_NOT_ASKED,
	CANFS_SERVICE_SERVED, /* prices are pushed to this host */
	CANFS_SERVICE_UNANSWERED,
	CANFS_SERVICE_CLOSED,    /* nobody is at that port */
	CANFS_SERVICE_DENIED,    /* it says: not for this address and port */
	CANFS_SERVICE_NO_PRICES, /* it has none of this export now */
	CANFS_SERVICE_FULL,      /* it has too many subscribers at this address */
	CANFS_SERVICE_FACTS
};

struct canfs_mount_facts {
	const struct canfs_mount *mount;
	struct canfs_mountstats stats;
	const char *lacks; /* the missing line of its counters; NULL: none */
	uint64_t read_ahead_kib;
	struct canfs_link_facts link;
	enum canfs_price_fact price;
	char price_error[256]; /* of CANFS_PRICE_UNANSWERED */
	enum canfs_service_fact service;
};

#define CANFS_DISKS_MAX     64 /* further ones are not looked at */
#define CANFS_DISK_NAME_MAX 32 /* the kernel's DISK_NAME_LEN: NUL included */

/* What requests of a local file system wait in: a whole disk, be it below partitions, md and dm. */
struct canfs_disk_facts {
	char name[CANFS_DISK_NAME_MAX]; /* below /sys/block */
	bool rotational;
	bool is_virtual;       /* what is behind it sorts requests itself */
	bool no_scheduler;     /* though it could have one */
	uint64_t wbt_lat_usec; /* of write-back throttling; 0: switched off, or not known */
};

#define CANFS_FILE_SYSTEMS_MAX  64  /* likewise */
#define CANFS_FS_MOUNTPOINT_MAX 128 /* cut to this; as in mountinfo: a blank is \040 */

/* A local file system of one device, as it is mounted (first). */
struct canfs_fs_facts {
	struct canfs_bdi device;
	char type[8];
	char mountpoint[CANFS_FS_MOUNTPOINT_MAX];
	bool no_barrier;     /* the drive is not told to empty its cache */
	bool stamps_reads;   /* each read is written down as an access time */
	bool journal_inside; /* the log is on the same device, and ext4's or that of XFS */
	bool fast_commit;    /* of ext4, and it has made some */
	bool rotational;     /* a disk below it is, and is no virtual one */
};

struct canfs_host_facts {
	uint32_t page_bytes;
	uint32_t kernel_major;
	uint32_t kernel_minor;
	uint64_t dirty_bytes; /* the limits in force: a ratio is taken of the available memory */
	uint64_t background_bytes;
	uint64_t expire_sec; /* after which the kernel writes dirty data back anyhow */
	uint64_t slots_max;  /* sunrpc: requests that one TCP connection may have in flight */
	uint64_t receive_buffer_bytes; /* up to which TCP grows the buffers of a connection */
	uint64_t send_buffer_bytes;
	bool no_window_scaling; /* of TCP: 64 KiB in flight at most */
	char shared_name
		[64]; /* the host name, if an NFSv4 server knows us by it and others have it, too */
	bool knobs_read_only; /* /proc/sys is mounted so, as in containers */
	bool agent_runs;
	size_t journal_entries; /* knobs that an agent has turned and not put back */
	bool journal_hidden;    /* from all but root: any knob may be turned */
	bool dirty_turned;      /* by an agent, and nobody else since: a dirty limit ... */
	size_t read_aheads_turned;
	struct canfs_bdi read_ahead_turned[CANFS_MOUNTS_MAX]; /* ... and the read-ahead of these */
	const char *meminfo_lacks;    /* a missing or unusable line of /proc/meminfo; NULL: none */
	unsigned int mounts_left_out; /* beyond the limit; set by the caller */
	struct canfs_agent_config config; /* of the agent; its defaults where it is wrong */
	char config_error[CANFS_CONFIG_ERROR_MAX];

	/* By canfs_server_gather(). */
	bool kernel_serves, ganesha_serves;         /* NFS */
	unsigned int kernel_threads;                /* of the kernel's server */
	char async_export[CANFS_FS_MOUNTPOINT_MAX]; /* its first one with that option; "": none */
	bool priced_runs;                           /* canfs-priced */
	bool price_port_bound; /* UDP, the configuration's price_port: somebody is there */

	bool no_delegations; /* CANFS serves, and grants none; set by the caller */

	/* By canfs_disks_gather(). */
	unsigned int disks_left_out; /* disks and file systems beyond the limit */
	size_t disks;
	struct canfs_disk_facts disk[CANFS_DISKS_MAX]; /* of mounted local file systems */
	size_t file_systems;
	struct canfs_fs_facts file_system[CANFS_FILE_SYSTEMS_MAX];

	/* Over all mounts that are judged. */
	bool has_mounts;
	uint32_t rsize_bytes;     /* the largest */
	uint32_t wsize_bytes;     /* the largest */
	uint32_t slowest_mbit;    /* of the links whose speed is known */
	uint64_t bandwidth_delay; /* of the link where it is the greatest, bytes */
};

/*
 * Reads root + /proc, /sys, config_file and the state directory that it names. Nothing fails. Sets all
 * but the disks and what is over all mounts. agent_runs is seen in the pid namespace of the caller only.
 */
void canfs_host_gather(const char *root, const char *config_file, struct canfs_host_facts *host);

/* What is over all mounts. */
void canfs_host_sum_up(
	struct canfs_host_facts *host, const struct canfs_mount_facts *mounts, size_t n);

/*
 * Which servers of NFS run here, and whether with a price service; reads root + /proc. host->config is set. Nothing
 * fails. A server is seen in the pid namespace of the caller only, a port in its network namespace.
 */
void canfs_server_gather(const char *root, struct canfs_host_facts *host);

static inline bool canfs_serves_nfs(const struct canfs_host_facts *host)
{
	return host->kernel_serves || host->ganesha_serves;
}

/* A line of /proc/net/udp or udp6; *end is its newline. Is the port its own? Apart for the tests. */
bool canfs_udp_line_has_port(const char *line, const char *end, uint16_t port);

/* The disks, if NFS is served here; reads root + /proc and /sys. Nothing fails. */
void canfs_disks_gather(const char *root, struct canfs_host_facts *host);

/* The first that is flash: neither rotational nor virtual. NULL: there is none. */
const struct canfs_disk_facts *canfs_flash(const struct canfs_host_facts *host);

/*
 * A line of mountinfo; *end is its newline. True: it is of a local file system, btrfs excepted, and *fs is set but for what
 * canfs_fs_gather() and canfs_disks_gather() learn. Apart for the tests.
 */
bool canfs_local_fs_parse(const char *line, const char *end, struct canfs_fs_facts *fs);

/* What the kernel shows of it elsewhere: journal_inside of ext4, fast_commit. device: its directory's name below /sys/class/block. */
void canfs_fs_gather(const char *root, const char *device, struct canfs_fs_facts *fs);

/* read_ahead_kib and link, but mss_bytes and rtt_usec; mount is set. Sends nothing. */
void canfs_mount_gather(const char *root, struct canfs_mount_facts *facts);

/*
 * Asks the servers of all mounts side by side, first by NFS, then their price services; sets price, price_error,
 * service, link.mss_bytes and link.rtt_usec. Returns after timeout_sec at the latest. n: up to
 * CANFS_MOUNTS_MAX. service_port 0: ask no price service. Does not ask about private mounts (canfs_mount_is_private()).
 */
void canfs_prices_gather(
	struct canfs_mount_facts *mounts, size_t n, uint16_t service_port, double timeout_sec);

/* Is there a lock of flock(2) on the file, by /proc/locks? Apart for the tests. */
bool canfs_locks_hold(
	const char *text, unsigned int major, unsigned int minor, unsigned long long inode);

#endif
