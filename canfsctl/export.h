/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* An export that is typed as SERVER:/PATH, and how its server is asked for its prices. */
#ifndef CANFS_CANFSCTL_EXPORT_H
#define CANFS_CANFSCTL_EXPORT_H

#include <netdb.h>
#include <stdint.h>

#include "client-agent/auction/export_name.h"
#include "canfsctl/ctl.h"
#include "protocol/fsstat.h"

struct ctl_export {
	const char *text; /* as the user wrote it */
	struct canfs_export_name name;
	const char *version;
	const int *versions; /* of NFS, in the order in which they are tried; 0 ends them */
	unsigned int nfs_port, mount_port, rpcbind_port; /* 0: the standard way */
};

/* Rows of an option_table, for a struct ctl_export that is a member of the subcommand's options. */
#define CTL_EXPORT_OPTIONS(member)                                                                 \
	CTL_TEXT("nfs-version", "=V", member.version,                                              \
		"3, 4, or auto: 4, and 3 where that fails (auto)"),                                \
		CTL_COUNT("port", "=N", member.nfs_port, 1, UINT16_MAX,                            \
			"of NFS (2049 for NFSv4; for NFSv3 rpcbind is asked)"),                    \
		CTL_COUNT("mount-port", "=N", member.mount_port, 1, UINT16_MAX,                    \
			"of MOUNT; rpcbind is not asked for it; NFSv3 only"),                      \
		CTL_COUNT("rpcbind-port", "=N", member.rpcbind_port, 1, UINT16_MAX,                \
			"of rpcbind (111); NFSv3 only")

/* What these options say. Warns if they make no sense. */
bool ctl_export_settle(struct ctl_export *export);

/* SERVER:/PATH. Warns if it is not. */
bool ctl_export_parse(struct ctl_export *export, const char *text);

/*
 * May we ask about the export unencrypted? False if it is mounted here with more privacy (canfs_mount_is_private()); why is set then.
 * addresses: those of the server.
 */
bool ctl_export_may_be_asked(
	const struct ctl_export *export, const struct addrinfo *addresses, char *why, size_t size);

/* Whom to ask, at one of the server's addresses; points into the export. */
struct canfs_fsstat_target ctl_export_target(
	const struct ctl_export *export, const struct addrinfo *info, int version);

#endif
