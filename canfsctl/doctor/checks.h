/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The checks of canfsctl doctor: a table of functions of the facts alone. Most checks are from T.
 * Talpey, "NFS Tuning for High Performance" (USENIX 2004); the table in checks.c names the slides.
 * The checks of a server's disks come from our own measurements.
 */
#ifndef CANFS_CANFSCTL_DOCTOR_CHECKS_H
#define CANFS_CANFSCTL_DOCTOR_CHECKS_H

#include "canfsctl/doctor/facts.h"

struct canfs_finding {
	char what[CANFS_OPTIONS_ERROR_MAX]; /* one line, like remedy: the state, in numbers */
	char remedy[CANFS_OPTIONS_ERROR_MAX];
};

/* mount: NULL for a check of the host. Returns true if there is a finding, and sets *finding. */
typedef bool canfs_check_fn(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding);

struct canfs_check {
	const char *name; /* as in the manual and in JSON */
	bool per_mount;
	bool note; /* informative; nothing is wrong */
	canfs_check_fn *judge;
};

/* The i-th check, mount checks first. NULL: i is past the end. */
const struct canfs_check *canfs_check_at(size_t i);

/* Likewise for each disk of a server. The finding names the disk. */
typedef bool canfs_disk_check_fn(
	const struct canfs_disk_facts *disk, struct canfs_finding *finding);

struct canfs_disk_check {
	const char *name;
	canfs_disk_check_fn *judge;
};

const struct canfs_disk_check *canfs_disk_check_at(size_t i);

/* Likewise for each of its file systems. The finding names the mount point. */
typedef bool canfs_fs_check_fn(const struct canfs_host_facts *host, const struct canfs_fs_facts *fs,
	struct canfs_finding *finding);

struct canfs_fs_check {
	const char *name;
	bool note; /* as in struct canfs_check */
	canfs_fs_check_fn *judge;
};

const struct canfs_fs_check *canfs_fs_check_at(size_t i);

/*
 * Format the two lines of a finding, cut to fit. canfs_finding_advise() returns true, for use as a
 * check's last statement.
 */
void canfs_finding_say(struct canfs_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool canfs_finding_advise(struct canfs_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Checks of a mount's options, network path and counters, of the host, of a disk, and of a file
 * system.
 */
canfs_check_fn canfs_check_rsize, canfs_check_wsize, canfs_check_attributes, canfs_check_lookups,
	canfs_check_sync, canfs_check_soft, canfs_check_timeo, canfs_check_udp,
	canfs_check_callback, canfs_check_client_id, canfs_check_krb5, canfs_check_private;
canfs_check_fn canfs_check_nconnect, canfs_check_mtu, canfs_check_jumbo, canfs_check_read_ahead,
	canfs_check_overfetch, canfs_check_retransmissions, canfs_check_backlog, canfs_check_queue,
	canfs_check_published, canfs_check_answered, canfs_check_price_service,
	canfs_check_own_network, canfs_check_counters;
canfs_check_fn canfs_check_slots, canfs_check_buffers, canfs_check_windows, canfs_check_dirty_limit,
	canfs_check_dirty_small, canfs_check_background, canfs_check_kernel, canfs_check_knobs,
	canfs_check_agent, canfs_check_journal, canfs_check_config, canfs_check_price_port,
	canfs_check_async, canfs_check_threads, canfs_check_delegations, canfs_check_meminfo,
	canfs_check_left_out;
canfs_disk_check_fn canfs_check_disk_scheduler, canfs_check_wbt;
canfs_fs_check_fn canfs_check_barriers, canfs_check_fast_commit, canfs_check_access_times,
	canfs_check_log_on_flash;

#endif
