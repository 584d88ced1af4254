/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* An export that the user typed as SERVER:/PATH, and how to ask its server for prices. */
#ifndef CANFS_CANFSCTL_EXPORT_H
#define CANFS_CANFSCTL_EXPORT_H

#include <netdb.h>
#include <stdint.h>

#include "client-agent/auction/export_name.h"
#include "canfsctl/ctl.h"
#include "protocol/fsstat.h"

struct ctl_export {
	const char *text; /* as typed */
	struct canfs_export_name name;
	const char *version;
	const int *versions; /* NFS versions in the order to try, ended by 0 */
	unsigned int nfs_port, mount_port, rpcbind_port; /* 0: default */
};

/* Rows of an option_table for a struct ctl_export member of the subcommand's options. */
#define CTL_EXPORT_OPTIONS(member)                                                                 \
	CTL_TEXT("nfs-version", "=V", member.version,                                              \
		"3, 4, or auto: 4, then 3 if that fails (auto)"),                                  \
		CTL_COUNT("port", "=N", member.nfs_port, 1, UINT16_MAX,                            \
			"NFS port (NFSv4: 2049; NFSv3: ask rpcbind)"),                             \
		CTL_COUNT("mount-port", "=N", member.mount_port, 1, UINT16_MAX,                    \
			"MOUNT port (ask rpcbind); NFSv3 only"),                                   \
		CTL_COUNT("rpcbind-port", "=N", member.rpcbind_port, 1, UINT16_MAX,                \
			"rpcbind port (111); NFSv3 only")

/* Applies the options. Warns and returns false if they contradict each other. */
bool ctl_export_settle(struct ctl_export *export);

/* Parses SERVER:/PATH. Warns and returns false on a syntax error. */
bool ctl_export_parse(struct ctl_export *export, const char *text);

/*
 * May the export's prices be asked for unencrypted? False, with a reason in why, if the export is
 * mounted here with privacy (canfs_mount_is_private()). addresses: the server's.
 */
bool ctl_export_may_be_asked(
	const struct ctl_export *export, const struct addrinfo *addresses, char *why, size_t size);

/* The target for one address of the server. The target points into the export. */
struct canfs_fsstat_target ctl_export_target(
	const struct ctl_export *export, const struct addrinfo *info, int version);

#endif
