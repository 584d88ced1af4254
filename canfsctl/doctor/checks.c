// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/doctor/checks.h"

#include <stdarg.h>
#include <stdio.h>

/*
 * To add a check, add a row here, its function, a line in canfsctl-doctor(1), and rows in
 * test_doctor_checks.c.
 */
static const struct canfs_check checks[] = {
	/*
	 * Talpey 2004, "Check mount options"; sizes: "Linux breaks all I/O into page-size chunks"
	 */
	{ "rsize", true, false, canfs_check_rsize },
	{ "wsize", true, false, canfs_check_wsize },
	{ "attributes", true, false, canfs_check_attributes },
	{ "lookupcache", true, false, canfs_check_lookups },
	{ "sync", true, false, canfs_check_sync },
	{ "soft", true, false, canfs_check_soft },
	{ "timeo", true, false, canfs_check_timeo },
	{ "krb5", true, true, canfs_check_krb5 },
	{ "private", true, true, canfs_check_private },
	{ "callback", true, false, canfs_check_callback },
	{ "client-id", true, false, canfs_check_client_id },
	/* "Network Configuration": UDP vs TCP; "Enable Ethernet Jumbo Frames" at both ends */
	{ "udp", true, false, canfs_check_udp },
	{ "mtu", true, false, canfs_check_mtu },
	{ "jumbo", true, true, canfs_check_jumbo },
	{ "own-network", true, true, canfs_check_own_network }, /* CA-NFS §3.3 */
	/* "Single mount point parallelism"; Little's law and the RPC slot table */
	{ "nconnect", true, true, canfs_check_nconnect },
	{ "counters", true, true, canfs_check_counters },
	{ "backlog", true, false, canfs_check_backlog },
	{ "queue", true, false, canfs_check_queue },
	{ "retransmissions", true, false, canfs_check_retransmissions },
	/* "NFS Readahead count"; "Over-Zealous Prefetch" */
	{ "read-ahead", true, false, canfs_check_read_ahead },
	{ "over-fetch", true, true, canfs_check_overfetch },
	{ "prices", true, false, canfs_check_answered },
	{ "prices", true, true, canfs_check_published },
	{ "price-service", true, true, canfs_check_price_service },

	/* Little's law again; "Check socket options", TCP Large Windows */
	{ "slot-table", false, false, canfs_check_slots },
	{ "socket-buffers", false, false, canfs_check_buffers },
	{ "window-scaling", false, false, canfs_check_windows },
	/* The aim of canfs: CA-NFS §2.1 */
	{ "dirty-limit", false, false, canfs_check_dirty_limit },
	{ "dirty-small", false, false, canfs_check_dirty_small },
	{ "background", false, false, canfs_check_background },
	{ "kernel", false, false, canfs_check_kernel }, /* "Up-to-date Patch levels" */
	{ "meminfo", false, false, canfs_check_meminfo },
	{ "left-out", false, true, canfs_check_left_out },
	{ "knobs", false, false, canfs_check_knobs },
	{ "config", false, false, canfs_check_config },
	{ "journal", false, false, canfs_check_journal },
	{ "agent", false, true, canfs_check_agent },
	{ "price-service", false, true, canfs_check_price_port },
	/* For a server: "Server-specific options" */
	{ "async-export", false, false, canfs_check_async },
	{ "server-threads", false, true, canfs_check_threads },
	{ "delegations", false, true, canfs_check_delegations },
};

/*
 * For each disk of a server. A new row needs the same as one of checks[], with rows in
 * test_doctor_storage.c.
 */
static const struct canfs_disk_check disk_checks[] = {
	{ "disk-scheduler", canfs_check_disk_scheduler },
	{ "write-throttling", canfs_check_wbt },
};

/* For each file system of a server; see doc/stable.md. */
static const struct canfs_fs_check fs_checks[] = {
	{ "barriers", false, canfs_check_barriers },
	{ "fast-commit", false, canfs_check_fast_commit },
	{ "access-times", false, canfs_check_access_times },
	{ "log-on-flash", true, canfs_check_log_on_flash },
};

const struct canfs_check *canfs_check_at(size_t i)
{
	return i < sizeof(checks) / sizeof(checks[0]) ? &checks[i] : NULL;
}

const struct canfs_disk_check *canfs_disk_check_at(size_t i)
{
	return i < sizeof(disk_checks) / sizeof(disk_checks[0]) ? &disk_checks[i] : NULL;
}

const struct canfs_fs_check *canfs_fs_check_at(size_t i)
{
	return i < sizeof(fs_checks) / sizeof(fs_checks[0]) ? &fs_checks[i] : NULL;
}
