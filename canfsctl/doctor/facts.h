/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The facts that canfsctl doctor judges. They are gathered once (host.c, link.c, prices.c,
 * server.c, disks.c). Then the checks (checks.h) judge them without looking at anything else. A
 * fact that could not be learned is 0 or "", and no check reports it.
 *
 * Gathering never blocks on an NFS server, except for price requests, which have a deadline. No
 * path on a mount is looked up.
 */
#ifndef CANFS_CANFSCTL_DOCTOR_FACTS_H
#define CANFS_CANFSCTL_DOCTOR_FACTS_H

#include <net/if.h>
#include "client-agent/config/config.h"
#include "client-agent/kernel/mountstats.h"

/* The network path to a server. */
struct canfs_link_facts {
	char interface[IF_NAMESIZE];
	uint32_t mtu_bytes;      /* of the interface */
	uint32_t path_mtu_bytes; /* the kernel's path MTU; at most mtu_bytes */
	uint32_t speed_mbit;     /* 0 for most virtual interfaces */
	uint32_t agent_mbit;     /* as the agent reads it; 0: neither a card nor a bond */
	uint32_t mss_bytes;      /* TCP segment size to the server, from the price request */
	uint32_t rtt_usec;       /* minimum round-trip time of the same connection */
};

enum canfs_price_fact {
	CANFS_PRICE_NOT_ASKED,
	CANFS_PRICE_PUBLISHED,
	CANFS_PRICE_NONE, /* answered without a price */
	CANFS_PRICE_UNANSWERED,
};

/* The result of subscribing to the server's price service as the agent does. */
enum canfs_service_fact {
	CANFS_SERVICE_NOT_ASKED,
	CANFS_SERVICE_SERVED, /* prices are pushed to this host */
	CANFS_SERVICE_UNANSWERED,
	CANFS_SERVICE_CLOSED,    /* nobody listens on the port */
	CANFS_SERVICE_DENIED,    /* refuses this address and port */
	CANFS_SERVICE_NO_PRICES, /* has no prices of this export now */
	CANFS_SERVICE_FULL,      /* has too many subscribers at this address */
	CANFS_SERVICE_FACTS
};

struct canfs_mount_facts {
	const struct canfs_mount *mount;
	struct canfs_mountstats stats;
	const char *lacks; /* line missing from its counters; NULL: none */
	uint64_t read_ahead_kib;
	struct canfs_link_facts link;
	enum canfs_price_fact price;
	char price_error[256]; /* of CANFS_PRICE_UNANSWERED */
	enum canfs_service_fact service;
};

#define CANFS_DISKS_MAX     64 /* further ones are ignored */
#define CANFS_DISK_NAME_MAX 32 /* the kernel's DISK_NAME_LEN, with NUL */

/*
 * A whole disk, on which a local file system's requests queue, perhaps below partitions, md and dm.
 */
struct canfs_disk_facts {
	char name[CANFS_DISK_NAME_MAX]; /* below /sys/block */
	bool rotational;
	bool is_virtual;       /* the host behind it sorts requests */
	bool no_scheduler;     /* the scheduler is none, though the disk could have one */
	uint64_t wbt_lat_usec; /* write-back throttling; 0: off or unknown */
};

#define CANFS_FILE_SYSTEMS_MAX  64  /* further ones are ignored */
#define CANFS_FS_MOUNTPOINT_MAX 128 /* longer ones are cut; as in mountinfo: a blank is \040 */

/* A local file system on one device. If it is mounted repeatedly, this is the first mount. */
struct canfs_fs_facts {
	struct canfs_bdi device;
	char type[8];
	char mountpoint[CANFS_FS_MOUNTPOINT_MAX];
	bool no_barrier;     /* the drive's cache is not flushed */
	bool stamps_reads;   /* each read updates the access time (strictatime) */
	bool journal_inside; /* the log of ext4 or XFS is on the same device */
	bool fast_commit;    /* ext4 has made fast commits */
	bool rotational;     /* on a disk that is rotational and not virtual */
};

struct canfs_host_facts {
	uint32_t page_bytes;
	uint32_t kernel_major;
	uint32_t kernel_minor;
	uint64_t dirty_bytes; /* limit in force; a ratio is taken of MemAvailable */
	uint64_t background_bytes;
	uint64_t expire_sec;           /* the age at which the kernel writes dirty data back */
	uint64_t slots_max;            /* sunrpc: maximum requests in flight on a TCP connection */
	uint64_t receive_buffer_bytes; /* maximum that TCP grows a connection's buffers to */
	uint64_t send_buffer_bytes;
	bool no_window_scaling; /* of TCP: at most 64 KiB in flight */
	char shared_name
		[64]; /* host name that other NFSv4 clients may have, too; "": it is unambiguous */
	bool knobs_read_only; /* /proc/sys is mounted read-only, as in containers */
	bool agent_runs;
	size_t journal_entries; /* knobs that an agent has changed and not restored yet */
	bool journal_hidden;    /* readable by root only, so any knob may have the agent's value */
	bool dirty_turned;      /* one of the two dirty limits has the agent's value */
	size_t read_aheads_turned;
	struct canfs_bdi read_ahead_turned[CANFS_MOUNTS_MAX]; /* have the agent's read-ahead */
	const char *meminfo_lacks;        /* missing or unusable line of meminfo; NULL: none */
	unsigned int mounts_left_out;     /* beyond the limit; set by the caller */
	struct canfs_agent_config config; /* the agent's; invalid settings have their defaults */
	char config_error[CANFS_OPTIONS_ERROR_MAX];

	/* Set by canfs_server_gather(). */
	bool kernel_serves, ganesha_serves;         /* NFS */
	unsigned int kernel_threads;                /* of the kernel's server */
	char async_export[CANFS_FS_MOUNTPOINT_MAX]; /* the kernel's first async export; "": none */
	bool priced_runs;                           /* canfs-priced */
	bool price_port_bound; /* a process is bound to UDP port config.price_port */

	bool no_delegations; /* Ganesha says that no export grants any; set by the caller */

	/* Set by canfs_disks_gather(). */
	unsigned int disks_left_out; /* disks and file systems beyond the limit */
	size_t disks;
	struct canfs_disk_facts disk[CANFS_DISKS_MAX]; /* of mounted local file systems */
	size_t file_systems;
	struct canfs_fs_facts file_system[CANFS_FILE_SYSTEMS_MAX];

	/* Over all judged mounts. */
	bool has_mounts;
	uint32_t rsize_bytes;     /* the largest */
	uint32_t wsize_bytes;     /* the largest */
	uint32_t slowest_mbit;    /* of the links with a known speed */
	uint64_t bandwidth_delay; /* the largest of any link, bytes */
};

/*
 * Reads root + /proc, /sys, config_file and the state directory that config_file names. Never
 * fails. Clears *host first, and sets all members except those that the caller or the functions
 * below set. agent_runs covers only the caller's pid namespace.
 */
void canfs_host_gather(const char *root, const char *config_file, struct canfs_host_facts *host);

/* Sets the members about all mounts. */
void canfs_host_sum_up(
	struct canfs_host_facts *host, const struct canfs_mount_facts *mounts, size_t n);

/*
 * Finds the NFS servers on this host, and whether a price service runs. Reads root + /proc. Needs
 * host->config. Never fails. Sees servers only in the caller's pid namespace, and ports only in its
 * network namespace.
 */
void canfs_server_gather(const char *root, struct canfs_host_facts *host);

static inline bool canfs_serves_nfs(const struct canfs_host_facts *host)
{
	return host->kernel_serves || host->ganesha_serves;
}

/*
 * Tests whether a line of /proc/net/udp or udp6 has this local port. *end is the line's newline.
 * Exported for tests.
 */
bool canfs_udp_line_has_port(const char *line, const char *end, uint16_t port);

/* Gathers the disks if this host serves NFS. Reads root + /proc and /sys. Never fails. */
void canfs_disks_gather(const char *root, struct canfs_host_facts *host);

/* The first flash disk: neither rotational nor virtual. NULL: none. */
const struct canfs_disk_facts *canfs_flash(const struct canfs_host_facts *host);

/*
 * Parses a line of mountinfo; *end is its newline. Returns true for a local file system other than
 * btrfs. Sets *fs but for the members that canfs_fs_gather() and canfs_disks_gather() set. Exported
 * for tests.
 */
bool canfs_local_fs_parse(const char *line, const char *end, struct canfs_fs_facts *fs);

/*
 * Sets journal_inside of ext4 and fast_commit from /proc and /sys. device: directory name below
 * /sys/class/block.
 */
void canfs_fs_gather(const char *root, const char *device, struct canfs_fs_facts *fs);

/*
 * Sets read_ahead_kib and link, except for mss_bytes and rtt_usec. Needs facts->mount. Sends
 * nothing.
 */
void canfs_mount_gather(const char *root, struct canfs_mount_facts *facts);

/*
 * Asks the servers of all mounts in parallel, first by NFS, then their price services. Sets price,
 * price_error, service, link.mss_bytes and link.rtt_usec. Returns after at most timeout_sec. n: at
 * most CANFS_MOUNTS_MAX. service_port 0: do not ask price services. Private mounts are not asked
 * about (canfs_mount_is_private()).
 */
void canfs_prices_gather(
	struct canfs_mount_facts *mounts, size_t n, uint16_t service_port, double timeout_sec);

/* Does /proc/locks show a flock(2) lock on the file? Exported for tests. */
bool canfs_locks_hold(
	const char *text, unsigned int major, unsigned int minor, unsigned long long inode);

#endif
