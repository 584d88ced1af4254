// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "client-agent/kernel/mounts.h"
#include "common/address.h"
#include "common/path.h"

/* "auto" tries NFSv4 first: it needs one request to one port, which firewalls let through. */
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

/* --mount-port and --rpcbind-port imply NFSv3. */
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
	ctl_warn("'%s' is neither SERVER:/PATH nor SERVER:TAG (put an IPv6 address in brackets)",
		text);
	return false;
}

static bool is_same_address(const struct sockaddr_storage *a, const struct sockaddr *b)
{
	struct in6_addr first, second;

	return canfs_read_address((const struct sockaddr *)a, &first) &&
	       canfs_read_address(b, &second) && IN6_ARE_ADDR_EQUAL(&first, &second);
}

/* Compares the mount's server by name, then by address. */
static bool is_of_server(
	const struct canfs_mount *mount, const char *host, const struct addrinfo *addresses)
{
	const char *name = mount->source + (mount->source[0] == '[');
	size_t len = strlen(host);

	if (strncasecmp(name, host, len) == 0 && (name[len] == ':' || name[len] == ']'))
		return true;
	for (; addresses; addresses = addresses->ai_next) {
		if (is_same_address(&mount->address, addresses->ai_addr))
			return true;
	}
	return false;
}

/*
 * The mount with the longest export path that contains this export. If several mounts have that
 * path, a private one is returned. NULL: none.
 */
static const struct canfs_mount *find_mount(const struct canfs_mounts *mounts,
	const struct ctl_export *export, const struct addrinfo *addresses)
{
	const struct canfs_mount *found = NULL;
	char path[CANFS_MOUNT_PATH_MAX];
	size_t longest = 0;

	snprintf(path, sizeof(path), "%s", export->name.path);
	canfs_path_clean(path);
	for (size_t i = 0; i < mounts->n; i++) {
		const struct canfs_mount *mount = &mounts->mount[i];
		size_t len = strlen(mount->export_path);

		if (len < longest || !canfs_path_is_below(path, mount->export_path) ||
			!is_of_server(mount, export->name.host, addresses))
			continue;
		if (len > longest || canfs_mount_is_private(mount))
			found = mount;
		longest = len;
	}
	return found;
}

bool ctl_export_may_be_asked(
	const struct ctl_export *export, const struct addrinfo *addresses, char *why, size_t size)
{
	struct canfs_mounts *mounts = malloc(sizeof(*mounts));
	const struct canfs_mount *mount = NULL;
	const char *reason;

	/* Treat an unreadable mount table as empty. */
	if (mounts && canfs_mounts_read("", mounts) == 0)
		mount = find_mount(mounts, export, addresses);
	reason = mount ? canfs_mount_is_private(mount) : NULL;
	if (reason)
		snprintf(why, size, "it is mounted on %s, and %s", mount->mountpoint, reason);
	free(mounts);
	return !reason;
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
