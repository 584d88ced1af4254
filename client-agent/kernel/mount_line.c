// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/mount_line.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <string.h>
#include "common/mountinfo.h"
#include "common/path.h"
#include "common/unescape.h"

#define ATTRIBUTE_CACHE_SEC 60 /* acregmax and acdirmax, nfs(5): this default is not shown */

/* fe80::1%2: the kernel prints the interface's index, mount helpers print its name. */
static int parse_scope(const char *scope, uint32_t *index)
{
	uint64_t number;

	if (canfs_span_number((struct canfs_span) { scope, strlen(scope) }, UINT32_MAX, &number))
		number = if_nametoindex(scope);
	*index = (uint32_t)number;
	return number ? 0 : -EPROTO;
}

static int parse_address(struct canfs_span s, struct sockaddr_storage *address)
{
	char text[INET6_ADDRSTRLEN + IF_NAMESIZE];
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (canfs_span_copy(s, text, sizeof(text)))
		return -EPROTO;
	memset(address, 0, sizeof(*address));
	if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
		memcpy(address, &in, sizeof(in));
		return 0;
	}
	char *scope = strchr(text, '%');
	if (scope) {
		*scope++ = '\0';
		if (parse_scope(scope, &in6.sin6_scope_id))
			return -EPROTO;
	}
	if (inet_pton(AF_INET6, text, &in6.sin6_addr) != 1)
		return -EPROTO;
	memcpy(address, &in6, sizeof(in6));
	return 0;
}

/* Options that only affect advice. A bad value does not make the mount unfit. */
static void parse_number_option(
	struct canfs_span name, struct canfs_span value, struct canfs_mount_options *options)
{
	const struct {
		const char *name;
		uint32_t *into;
	} numbers[] = {
		{ "rsize", &options->rsize_bytes },
		{ "wsize", &options->wsize_bytes },
		{ "timeo", &options->timeo_dsec },
		{ "nconnect", &options->nconnect },
		{ "acregmax", &options->acregmax_sec },
		{ "acdirmax", &options->acdirmax_sec },
	};
	uint64_t number;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (canfs_span_is(name, numbers[i].name) &&
			!canfs_span_number(value, UINT32_MAX, &number))
			*numbers[i].into = (uint32_t)number;
	}
}

static void parse_flag(struct canfs_span option, struct canfs_mount_options *options)
{
	const struct {
		const char *option;
		bool *into;
	} flags[] = {
		{ "soft", &options->soft },
		{ "softerr", &options->soft },
		{ "ro", &options->read_only },
		{ "sync", &options->sync },
		{ "noac", &options->noac },
		{ "lookupcache=none", &options->no_lookup_cache },
		{ "clientaddr=0.0.0.0", &options->no_callback },
		{ "clientaddr=::", &options->no_callback },
		{ "proto=udp", &options->udp },
		{ "proto=udp6", &options->udp },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (canfs_span_is(option, flags[i].option))
			*flags[i].into = true;
	}
}

static int parse_version(struct canfs_span s, struct canfs_mount *mount)
{
	struct canfs_span number;
	uint64_t version, minor = 0;

	if (!canfs_span_next(&s, '.', &number) || canfs_span_number(number, 4, &version))
		return -EPROTO;
	if (s.len && canfs_span_number(s, 9, &minor))
		return -EPROTO;
	if (version < 2)
		return -EPROTO;
	mount->version = (int)version;
	mount->minor_version = (int)minor;
	return 0;
}

static int parse_server(struct canfs_span s, struct canfs_mount *mount)
{
	return parse_address(s, &mount->address);
}

/* The address of MOUNT. It is the NFS server's, unless an administrator has set another one. */
static int parse_mount_server(struct canfs_span s, struct canfs_mount *mount)
{
	if (mount->address.ss_family == AF_UNSPEC && parse_address(s, &mount->address))
		mount->address.ss_family = AF_UNSPEC;
	return 0;
}

static int parse_port(struct canfs_span s, struct canfs_mount *mount)
{
	uint64_t value;

	if (canfs_span_number(s, UINT16_MAX, &value))
		return -EPROTO;
	mount->port = (uint16_t)value;
	return 0;
}

/* A bad port is no error: rpcbind can be asked instead. */
static int parse_mount_port(struct canfs_span s, struct canfs_mount *mount)
{
	uint64_t value;

	mount->mount_port = canfs_span_number(s, UINT16_MAX, &value) ? 0 : (uint16_t)value;
	return 0;
}

static int parse_transport(struct canfs_span s, struct canfs_mount *mount)
{
	mount->tcp = canfs_span_is(s, "tcp") || canfs_span_is(s, "tcp6");
	return 0;
}

static int parse_flavor(struct canfs_span s, struct canfs_mount *mount)
{
	return canfs_span_copy(s, mount->sec, sizeof(mount->sec));
}

/* Truncated, because only its presence matters. */
static int parse_transport_security(struct canfs_span s, struct canfs_mount *mount)
{
	if (s.len >= sizeof(mount->xprtsec))
		s.len = sizeof(mount->xprtsec) - 1;
	return canfs_span_copy(s, mount->xprtsec, sizeof(mount->xprtsec));
}

/* Returns NULL, or why the mount cannot be used. */
static const char *parse_option(
	struct canfs_span name, struct canfs_span value, struct canfs_mount *mount)
{
	static const struct {
		const char *name;
		int (*parse)(struct canfs_span value, struct canfs_mount *mount);
		const char *why;
	} rows[] = {
		{ "vers", parse_version, "its NFS version cannot be parsed" },
		{ "addr", parse_server, "its server address cannot be parsed" },
		{ "mountaddr", parse_mount_server, NULL },
		{ "port", parse_port, "its server port cannot be parsed" },
		{ "mountport", parse_mount_port, NULL },
		{ "proto", parse_transport, NULL },
		{ "sec", parse_flavor, "its security flavor is unknown" },
		{ "xprtsec", parse_transport_security, NULL },
	};

	parse_number_option(name, value, &mount->options);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (canfs_span_is(name, rows[i].name))
			return rows[i].parse(value, mount) ? rows[i].why : NULL;
	}
	return NULL;
}

static const char *parse_options(struct canfs_span options, struct canfs_mount *mount)
{
	const char *why = NULL;
	struct canfs_span option, name;
	bool mount_udp = false;

	mount->options.acregmax_sec = mount->options.acdirmax_sec = ATTRIBUTE_CACHE_SEC;
	while (!why && canfs_span_next(&options, ',', &option)) {
		parse_flag(option, &mount->options);
		mount_udp = mount_udp || canfs_span_is(option, "mountproto=udp") ||
			    canfs_span_is(option, "mountproto=udp6");
		if (canfs_span_next(&option, '=', &name))
			why = parse_option(name, option, mount);
	}
	if (mount_udp) /* prices are asked for over TCP, where MOUNT may have another port */
		mount->mount_port = 0;
	if (!why && !mount->version)
		why = "the mount table shows no NFS version";
	return why;
}

/*
 * Splits server:/path, [v6 address]:/path, or server:tag (the alternative name of an NFSv3 export).
 */
static bool split_source(struct canfs_mount *mount)
{
	const char *from = mount->source;

	if (*from == '[' && !(from = strchr(from, ']')))
		return false;
	const char *colon = strstr(from, ":/");
	if (!colon)
		colon = strrchr(from, ':');
	if (!colon || colon == mount->source || !colon[1])
		return false;
	strcpy(mount->export_path, colon + 1);
	canfs_path_clean(mount->export_path);
	return true;
}

/* Parses ID and BDI. Sets what it can, even if it fails. */
static bool parse_identity(const struct canfs_mountinfo *from, struct canfs_mount *mount)
{
	uint64_t number;
	bool has_id = canfs_span_number(from->id, INT_MAX, &number) == 0;

	mount->id = has_id ? (int)number : -1;
	return canfs_mountinfo_device(from->device, &mount->bdi.major, &mount->bdi.minor) == 0 &&
	       has_id;
}

/* Returns NULL, or why the mount cannot be used. */
static const char *parse_names(const struct canfs_mountinfo *from, struct canfs_mount *mount)
{
	struct canfs_span point = from->point, source = from->source;

	if (canfs_unescape(point.at, point.len, mount->mountpoint, CANFS_MOUNT_PATH_MAX)) {
		mount->mountpoint[CANFS_MOUNT_PATH_MAX - 1] = '\0';
		return "the path of its mount point is too long";
	}
	if (canfs_unescape(source.at, source.len, mount->source, CANFS_MOUNT_PATH_MAX))
		return "the path of its export is too long";
	if (mount->mountpoint[0] != '/')
		return "its mount point is not an absolute path";
	return split_source(mount) ? NULL : "its source is not SERVER:/PATH";
}

int canfs_mount_line_parse(
	const char *line, const char *end, struct canfs_mount *mount, const char **why)
{
	struct canfs_mountinfo from;

	*why = NULL;
	if (canfs_mountinfo_split(line, end, &from))
		return -EPROTO;
	if (!canfs_span_is(from.type, "nfs") && !canfs_span_is(from.type, "nfs4"))
		return -ENOENT;

	memset(mount, 0, sizeof(*mount));
	canfs_span_copy(from.type, mount->fstype, sizeof(mount->fstype));
	if (!parse_identity(&from, mount))
		*why = "its mount ID or device numbers cannot be parsed";
	const char *reason = parse_names(&from, mount);
	if (!*why)
		*why = reason ? reason : parse_options(from.own_options, mount);
	return *why ? -EPROTO : 0;
}
