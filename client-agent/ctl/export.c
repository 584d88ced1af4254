// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/ctl/export.h"

#include <string.h>

/* NFSv4 first: one question to one port, which firewalls let through. */
static const struct {
	const char *name;
	int versions[3];
} version_choices[] = { { "auto", { 4, 3 } }, { "3", { 3 } }, { "4", { 4 } } };

static bool parse_version(struct ctl_export *export, const char *text)
{
	for (size_t i = 0; i < sizeof(version_choices) / sizeof(version_choices[0]); i++) {
		if (strcmp(version_choices[i].name, text) == 0) {
			export->versions = version_choices[i].versions;
			return true;
		}
	}
	ctl_warn("--nfs-version is '%s'; allowed: 3, 4, auto", text);
	return false;
}

/* A port of MOUNT or rpcbind implies NFSv3. */
static bool settle_on_version_3(struct ctl_export *export)
{
	if (export->versions[0] == 4 && !export->versions[1]) {
		ctl_warn("--mount-port and --rpcbind-port are for NFSv3 only");
		return false;
	}
	return parse_version(export, "3");
}

bool ctl_export_settle(struct ctl_export *export)
{
	if (!parse_version(export, export->version ? export->version : "auto"))
		return false;
	return !(export->mount_port || export->rpcbind_port) || settle_on_version_3(export);
}

bool ctl_export_parse(struct ctl_export *export, const char *text)
{
	export->text = text;
	if (canfs_export_name_parse(text, &export->name) == 0)
		return true;
	ctl_warn("'%s' is not SERVER:/PATH (an IPv6 address stands in brackets)", text);
	return false;
}

struct canfs_fsstat_target ctl_export_target(
	const struct ctl_export *export, const struct addrinfo *info, int version)
{
	struct canfs_fsstat_target target = {
		.version = version,
		.nfs_port = (uint16_t) export->nfs_port,
		.mount_port = (uint16_t) export->mount_port,
		.rpcbind_port = (uint16_t) export->rpcbind_port,
		.path = export->name.path,
	};

	memcpy(&target.address, info->ai_addr, info->ai_addrlen);
	return target;
}
