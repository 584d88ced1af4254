/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The NFS mounts of this client, from /proc/self/mountinfo.
 *
 *	36 25 0:41 / /mnt/data rw,relatime shared:9 - nfs srv:/export rw,vers=3,...,addr=10.0.0.1
 *	|     |      mount point                      |   source        options
 *	id    major:minor = name of the BDI           fs type
 *
 * A BDI is the kernel's unit of write-back and read-ahead control. It belongs to a super block, so
 * several mounts may share one: bind mounts, and v3 exports on one file system of the server. The
 * agent's unit of control is therefore the BDI.
 */
#ifndef CANFS_CLIENT_AGENT_KERNEL_MOUNTS_H
#define CANFS_CLIENT_AGENT_KERNEL_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define CANFS_MOUNTS_MAX     256  /* canfs_mounts_parse() says which ones are dropped */
#define CANFS_MOUNTS_UNFIT   32   /* unusable NFS mounts that are kept for messages */
#define CANFS_MOUNT_PATH_MAX 1024 /* NUL included; a mount with a longer path is unfit */

struct canfs_bdi {
	unsigned int major;
	unsigned int minor; /* 0:NN numbers are reused after umount */
};

/*
 * Options that nfs(5) lets an administrator set. An option that is missing or makes no sense is 0.
 */
struct canfs_mount_options {
	uint32_t rsize_bytes;
	uint32_t wsize_bytes;
	uint32_t timeo_dsec;
	uint32_t nconnect;     /* 0: one connection */
	uint32_t acregmax_sec; /* validity of cached attributes; the default of 60 is not shown */
	uint32_t acdirmax_sec;
	bool soft; /* or softerr: a request may fail */
	bool read_only;
	bool sync;
	bool noac;
	bool no_lookup_cache;
	bool no_callback; /* v4.0, and the server cannot call back: no delegations */
	bool udp;
};

struct canfs_mount {
	int id; /* mount ID, as in fdinfo */
	struct canfs_bdi bdi;
	char mountpoint[CANFS_MOUNT_PATH_MAX];
	char source[CANFS_MOUNT_PATH_MAX];      /* server:/path, or server:tag */
	char export_path[CANFS_MOUNT_PATH_MAX]; /* /path of source, clean (common/path.h), or tag */
	char fstype[8];                         /* "nfs" or "nfs4" */
	int version;                            /* 3 or 4 (2 for very old servers) */
	int minor_version;                      /* of version 4; else 0 */
	struct sockaddr_storage address;        /* addr=, else mountaddr=; AF_UNSPEC if neither */
	uint16_t port;                          /* 0: not given */
	uint16_t mount_port;                    /* TCP port of MOUNT; 0: not given */
	bool tcp;
	char sec[16];     /* "sys", "krb5" ...; "" if not given */
	char xprtsec[16]; /* "tls", "mtls": RPCs are encrypted; "" if not given; truncated */
	struct canfs_mount_options options;

	/* Set when the mount is added to the table: */
	bool is_wanted; /* the caller wants it */
	bool is_spare;  /* another mount represents its BDI, and is wanted at least as much */
};

/* An NFS mount that canfs cannot use. */
struct canfs_unfit_mount {
	int id; /* -1: not known */
	struct canfs_bdi bdi;
	char mountpoint[CANFS_MOUNT_PATH_MAX]; /* truncated if it is longer */
	const char *why;                       /* the reason in words */
};

struct canfs_mounts {
	size_t n;
	size_t unfits;          /* one for each BDI; also counted in malformed */
	unsigned int malformed; /* unreadable lines */
	unsigned int dropped;   /* wanted mounts whose BDI has no mount in the table */
	struct canfs_mount mount[CANFS_MOUNTS_MAX]; /* ~ 800 KB in all: not for the stack */
	struct canfs_unfit_mount unfit[CANFS_MOUNTS_UNFIT];
};

/*
 * Replaces *mounts with the mounts in text, in the same order. Never fails. Counts bad lines in
 * malformed, and keeps bad NFS mounts in unfit[].
 *
 * If the table is full, mounts that share a super block (BDI) with another one, such as bind
 * mounts, are left out first. Mounts are therefore dropped only if there are more than
 * CANFS_MOUNTS_MAX BDIs.
 */
void canfs_mounts_parse(const char *text, struct canfs_mounts *mounts);

/*
 * Does the same for root + /proc/self/mountinfo, of any length. Returns 0, or an error of
 * canfs_read_lines(). On an error, *mounts holds the mounts read so far.
 */
int canfs_mounts_read(const char *root, struct canfs_mounts *mounts);

/*
 * The same for a caller that uses only some mounts. If there are too many mounts, or several of one
 * BDI, the wanted ones stay.
 */
typedef bool canfs_mount_wanted_fn(const void *data, const struct canfs_mount *mount);
int canfs_mounts_read_wanted(const char *root, canfs_mount_wanted_fn *is_wanted, const void *data,
	struct canfs_mounts *mounts);

/* Returns the unfit mount with this ID or on this BDI, or NULL. An id of -1 matches no ID. */
const struct canfs_unfit_mount *canfs_mounts_find_unfit(
	const struct canfs_mounts *mounts, int id, struct canfs_bdi bdi);

/*
 * Returns the unfit mount on this mount point, or NULL. mountpoint may be longer than the stored
 * part.
 */
const struct canfs_unfit_mount *canfs_mounts_find_unfit_at(
	const struct canfs_mounts *mounts, const char *mountpoint);

bool canfs_bdi_equal(struct canfs_bdi a, struct canfs_bdi b);

/*
 * Stores the first mount of each BDI, in order, as indices into mounts->mount. Returns how many.
 * Pass these mounts to actuators.
 */
size_t canfs_mounts_bdis(const struct canfs_mounts *mounts, size_t index[CANFS_MOUNTS_MAX]);

/*
 * Why the agent leaves this mount at the kernel's defaults, in words. NULL: the agent manages it.
 *
 * The agent asks for prices with AUTH_SYS and unencrypted, and names the export. It asks for none
 * if the mount uses stronger security.
 */
const char *canfs_mount_left_alone(const struct canfs_mount *mount);

/* The same, but ignores a missing address. */
const char *canfs_mount_is_private(const struct canfs_mount *mount);

/* Returns the index of the mount with the same ID, BDI, source and mount point, or -ENOENT. */
int canfs_mounts_find(const struct canfs_mounts *mounts, const struct canfs_mount *mount);

#endif
