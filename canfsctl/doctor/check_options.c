// SPDX-License-Identifier: LGPL-3.0-or-later
/* Checks of mount options, see nfs(5). */
#include "canfsctl/doctor/checks.h"

#include <string.h>

/*
 * Half of the kernel's smallest default. Below this, the number of requests limits the server, not
 * the bytes.
 */
#define SMALL_TRANSFER_BYTES 65536

/*
 * The default of acregmin in nfs(5). With less, even attributes of files unchanged for hours are
 * not cached.
 */
#define SHORT_ATTRIBUTES_SEC 3

/* TCP recovers lost packets itself. An earlier retry only asks a slow server twice. */
#define SHORT_TIMEO_DSEC 100

static bool check_size(uint32_t bytes, const char *name, const struct canfs_host_facts *host,
	struct canfs_finding *finding)
{
	if (bytes == 0)
		return false;
	if (bytes < SMALL_TRANSFER_BYTES) {
		canfs_finding_say(finding,
			"%u bytes: many small requests are sent instead of a large one", bytes);
		return canfs_finding_advise(finding,
			"unmount, then mount without %s= (the largest size that both ends allow), "
			"or with %s=1048576",
			name, name);
	}
	if (host->page_bytes == 0 || bytes % host->page_bytes == 0)
		return false;
	canfs_finding_say(finding,
		"%u bytes is not a multiple of the page size, %u: requests split pages", bytes,
		host->page_bytes);
	return canfs_finding_advise(finding, "unmount, then mount with %s=%u", name,
		bytes / host->page_bytes * host->page_bytes);
}

bool canfs_check_rsize(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	return check_size(mount->mount->options.rsize_bytes, "rsize", host, finding);
}

bool canfs_check_wsize(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	return check_size(mount->mount->options.wsize_bytes, "wsize", host, finding);
}

/* Talpey: "actimeo=0 != noac (noac disables write caching)". */
bool canfs_check_attributes(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	const struct canfs_mount_options *options = &mount->mount->options;

	(void)host;
	if (options->noac) {
		canfs_finding_say(finding,
			"noac: attributes are not cached, and each write waits for the server");
		return canfs_finding_advise(finding,
			"unmount, then mount without noac; if other clients' changes must show at "
			"once, use actimeo=0, which does not disable write caching");
	}
	if (options->acregmax_sec >= SHORT_ATTRIBUTES_SEC &&
		options->acdirmax_sec >= SHORT_ATTRIBUTES_SEC)
		return false;
	canfs_finding_say(finding,
		"attributes are cached for %u s (files) and %u s (directories) at most, then "
		"fetched again by GETATTR",
		options->acregmax_sec, options->acdirmax_sec);
	return canfs_finding_advise(finding,
		"unmount, then mount without actimeo=, acregmax= and acdirmax= (the "
		"default is 60 s), unless other clients' changes must show sooner");
}

bool canfs_check_lookups(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)host;
	if (!mount->mount->options.no_lookup_cache)
		return false;
	canfs_finding_say(finding, "lookupcache=none: each component of each path needs a LOOKUP");
	return canfs_finding_advise(finding, "unmount, then mount with lookupcache=pos, which "
					     "still shows new files of other clients");
}

bool canfs_check_sync(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	const struct canfs_mount_options *options = &mount->mount->options;

	(void)host;
	if (!options->sync || options->noac) /* noac implies it and was reported */
		return false;
	canfs_finding_say(
		finding, "sync: each write waits for the server; nothing can be deferred");
	return canfs_finding_advise(
		finding, "unmount, then mount without sync; programs that need it call fsync(2)");
}

bool canfs_check_soft(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)host;
	if (!mount->mount->options.soft || mount->mount->options.read_only)
		return false;
	canfs_finding_say(
		finding, "soft: written data can be lost if the server is slow or restarts");
	return canfs_finding_advise(finding, "unmount, then mount with hard (the default)");
}

bool canfs_check_timeo(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	const uint32_t dsec = mount->mount->options.timeo_dsec;

	(void)host;
	if (!mount->mount->tcp || dsec == 0 || dsec >= SHORT_TIMEO_DSEC)
		return false;
	canfs_finding_say(finding,
		"timeo=%u: after %u.%u s without an answer, requests are sent again; over TCP, "
		"this only loads a busy server more",
		dsec, dsec / 10, dsec % 10);
	return canfs_finding_advise(
		finding, "unmount, then mount without timeo= (the default is 600, a minute)");
}

bool canfs_check_udp(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)host;
	if (!mount->mount->options.udp)
		return false;
	canfs_finding_say(finding, "proto=udp: one lost fragment costs a whole request, and "
				   "wrongly reassembled requests may go unnoticed");
	return canfs_finding_advise(finding, "unmount, then mount with proto=tcp");
}

/*
 * Clients with the same ID take each other's opens and locks away, each as if the other had
 * restarted. Programs see EIO.
 */
bool canfs_check_client_id(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	if (mount->mount->version != 4 || host->shared_name[0] == '\0')
		return false;
	canfs_finding_say(finding,
		"NFSv4 servers identify this client by its host name, %s: clients with the same "
		"name take each other's opens and locks away",
		host->shared_name);
	return canfs_finding_advise(finding,
		"give this host a unique name, or set the module option nfs.nfs4_unique_id; then "
		"unmount all mounts of the server, and mount again");
}

/* Without delegations, each small file that is written and closed costs the server a disk flush. */
bool canfs_check_callback(const struct canfs_host_facts *host,
	const struct canfs_mount_facts *mount, struct canfs_finding *finding)
{
	(void)host;
	if (mount->mount->version != 4 || mount->mount->minor_version != 0 ||
		!mount->mount->options.no_callback)
		return false;
	canfs_finding_say(
		finding, "NFSv4.0 without a callback address: the server cannot grant delegations");
	return canfs_finding_advise(
		finding, "unmount, then mount with vers=4.1 or later, which needs no such address");
}

bool canfs_check_krb5(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	(void)host;
	if (strncmp(mount->mount->sec, "krb5", 4) != 0)
		return false;
	canfs_finding_say(finding,
		"sec=%s: canfs has no Kerberos ticket, so it does not ask for prices",
		mount->mount->sec);
	return canfs_finding_advise(finding, "none needed: this mount stays at kernel defaults");
}

/* Prices are asked for with AUTH_SYS, unencrypted, so a private mount's are not asked for. */
bool canfs_check_private(const struct canfs_host_facts *host, const struct canfs_mount_facts *mount,
	struct canfs_finding *finding)
{
	const struct canfs_mount *m = mount->mount;
	const char *why = canfs_mount_is_private(m);
	const bool tls = m->xprtsec[0] != '\0';

	(void)host;
	if (!why || (!tls && strncmp(m->sec, "krb5", 4) == 0))
		return false;
	canfs_finding_say(
		finding, "%s=%s: %s", tls ? "xprtsec" : "sec", tls ? m->xprtsec : m->sec, why);
	return canfs_finding_advise(finding, "none needed: this mount stays at kernel defaults");
}
