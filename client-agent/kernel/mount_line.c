// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/mount_line.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <string.h>
#include "client-agent/kernel/procfs.h"
#include "common/path.h"
#include "common/unescape.h"

#define ATTRIBUTE_CACHE_SEC 60 /* acregmax and acdirmax, nfs(5): this default is not shown */

/* A piece of the text, without a terminating NUL. */
struct span {
	const char *at;
	size_t len;
};

static bool span_is(struct span s, const char *word)
{
	return s.len == strlen(word) && memcmp(s.at, word, s.len) == 0;
}

/* Cuts the next piece, which ends at separator, from *rest. Returns false if there is none. */
static bool next_piece(struct span *rest, char separator, struct span *piece)
{
	if (rest->len == 0)
		return false;
	const char *end = memchr(rest->at, separator, rest->len);
	size_t len = end ? (size_t)(end - rest->at) : rest->len;

	*piece = (struct span) { rest->at, len };
	rest->at += end ? len + 1 : len;
	rest->len -= end ? len + 1 : len;
	return true;
}

static int span_number(struct span s, uint64_t max, uint64_t *value)
{
	char digits[21];
	const char *p = digits;

	if (s.len >= sizeof(digits))
		return -EPROTO;
	memcpy(digits, s.at, s.len);
	digits[s.len] = '\0';
	if (canfs_parse_u64(&p, value) != 0 || *p || *value > max)
		return -EPROTO;
	return 0;
}

static int span_copy(struct span s, char *buf, size_t size)
{
	if (s.len >= size)
		return -ENAMETOOLONG;
	memcpy(buf, s.at, s.len);
	buf[s.len] = '\0';
	return 0;
}

static int parse_bdi(struct span s, struct canfs_bdi *bdi)
{
	struct span major, minor;
	uint64_t a, b;

	if (!next_piece(&s, ':', &major) || !next_piece(&s, ':', &minor) || s.len)
		return -EPROTO;
	if (span_number(major, UINT_MAX, &a) || span_number(minor, UINT_MAX, &b))
		return -EPROTO;
	*bdi = (struct canfs_bdi) { (unsigned int)a, (unsigned int)b };
	return 0;
}

/* fe80::1%2: the kernel prints the interface's index, mount helpers print its name. */
static int parse_scope(const char *scope, uint32_t *index)
{
	uint64_t number;

	if (span_number((struct span) { scope, strlen(scope) }, UINT32_MAX, &number))
		number = if_nametoindex(scope);
	*index = (uint32_t)number;
	return number ? 0 : -EPROTO;
}

static int parse_address(struct span s, struct sockaddr_storage *address)
{
	char text[INET6_ADDRSTRLEN + IF_NAMESIZE];
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (span_copy(s, text, sizeof(text)))
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
	struct span name, struct span value, struct canfs_mount_options *options)
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
		if (span_is(name, numbers[i].name) && !span_number(value, UINT32_MAX, &number))
			*numbers[i].into = (uint32_t)number;
	}
}

static void parse_flag(struct span option, struct canfs_mount_options *options)
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
		if (span_is(option, flags[i].option))
			*flags[i].into = true;
	}
}

static int parse_version(struct span s, struct canfs_mount *mount)
{
	struct span number;
	uint64_t version, minor = 0;

	if (!next_piece(&s, '.', &number) || span_number(number, 4, &version))
		return -EPROTO;
	if (s.len && span_number(s, 9, &minor))
		return -EPROTO;
	if (version < 2)
		return -EPROTO;
	mount->version = (int)version;
	mount->minor_version = (int)minor;
	return 0;
}

static int parse_server(struct span s, struct canfs_mount *mount)
{
	return parse_address(s, &mount->address);
}

/* The address of MOUNT. It is the NFS server's, unless an administrator has set another one. */
static int parse_mount_server(struct span s, struct canfs_mount *mount)
{
	if (mount->address.ss_family == AF_UNSPEC && parse_address(s, &mount->address))
		mount->address.ss_family = AF_UNSPEC;
	return 0;
}

static int parse_port(struct span s, struct canfs_mount *mount)
{
	uint64_t value;

	if (span_number(s, UINT16_MAX, &value))
		return -EPROTO;
	mount->port = (uint16_t)value;
	return 0;
}

/* A bad port is no error: rpcbind can be asked instead. */
static int parse_mount_port(struct span s, struct canfs_mount *mount)
{
	uint64_t value;

	mount->mount_port = span_number(s, UINT16_MAX, &value) ? 0 : (uint16_t)value;
	return 0;
}

static int parse_transport(struct span s, struct canfs_mount *mount)
{
	mount->tcp = span_is(s, "tcp") || span_is(s, "tcp6");
	return 0;
}

static int parse_flavor(struct span s, struct canfs_mount *mount)
{
	return span_copy(s, mount->sec, sizeof(mount->sec));
}

/* Truncated, because only its presence matters. */
static int parse_transport_security(struct span s, struct canfs_mount *mount)
{
	if (s.len >= sizeof(mount->xprtsec))
		s.len = sizeof(mount->xprtsec) - 1;
	return span_copy(s, mount->xprtsec, sizeof(mount->xprtsec));
}

/* Returns NULL, or why the mount cannot be used. */
static const char *parse_option(struct span name, struct span value, struct canfs_mount *mount)
{
	static const struct {
		const char *name;
		int (*parse)(struct span value, struct canfs_mount *mount);
		const char *why;
	} rows[] = {
		{ "vers", parse_version, "its version of NFS cannot be read" },
		{ "addr", parse_server, "the address of its server cannot be read" },
		{ "mountaddr", parse_mount_server, NULL },
		{ "port", parse_port, "the port of its server cannot be read" },
		{ "mountport", parse_mount_port, NULL },
		{ "proto", parse_transport, NULL },
		{ "sec", parse_flavor, "its security flavor is not known" },
		{ "xprtsec", parse_transport_security, NULL },
	};

	parse_number_option(name, value, &mount->options);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (span_is(name, rows[i].name))
			return rows[i].parse(value, mount) ? rows[i].why : NULL;
	}
	return NULL;
}

static const char *parse_options(struct span options, struct canfs_mount *mount)
{
	const char *why = NULL;
	struct span option, name;
	bool mount_udp = false;

	mount->options.acregmax_sec = mount->options.acdirmax_sec = ATTRIBUTE_CACHE_SEC;
	while (!why && next_piece(&options, ',', &option)) {
		parse_flag(option, &mount->options);
		mount_udp = mount_udp || span_is(option, "mountproto=udp") ||
			    span_is(option, "mountproto=udp6");
		if (next_piece(&option, '=', &name))
			why = parse_option(name, option, mount);
	}
	if (mount_udp) /* prices are asked for over TCP, where MOUNT may have another port */
		mount->mount_port = 0;
	if (!why && !mount->version)
		why = "the mount table names no version of NFS";
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
static bool parse_identity(struct span id, struct span bdi, struct canfs_mount *mount)
{
	uint64_t number;
	bool has_id = span_number(id, INT_MAX, &number) == 0;

	mount->id = has_id ? (int)number : -1;
	return parse_bdi(bdi, &mount->bdi) == 0 && has_id;
}

/* Returns NULL, or why the mount cannot be used. */
static const char *parse_names(struct span point, struct span source, struct canfs_mount *mount)
{
	if (canfs_unescape(point.at, point.len, mount->mountpoint, CANFS_MOUNT_PATH_MAX)) {
		mount->mountpoint[CANFS_MOUNT_PATH_MAX - 1] = '\0';
		return "the path of its mount point is too long";
	}
	if (canfs_unescape(source.at, source.len, mount->source, CANFS_MOUNT_PATH_MAX))
		return "the path of its export is too long";
	if (mount->mountpoint[0] != '/')
		return "its mount point is no absolute path";
	return split_source(mount) ? NULL : "the mount table does not name it as SERVER:/PATH";
}

/* "36 25 0:41 /root /mnt ro,... [tags] - nfs source options" */
int canfs_mount_line_parse(
	const char *line, const char *end, struct canfs_mount *mount, const char **why)
{
	struct span rest = { line, (size_t)(end - line) };
	struct span id, parent, bdi, root, point, flags, word, fstype, source;

	*why = NULL;
	if (!next_piece(&rest, ' ', &id) || !next_piece(&rest, ' ', &parent) ||
		!next_piece(&rest, ' ', &bdi) || !next_piece(&rest, ' ', &root) ||
		!next_piece(&rest, ' ', &point) || !next_piece(&rest, ' ', &flags))
		return -EPROTO;
	do {
		if (!next_piece(&rest, ' ', &word))
			return -EPROTO;
	} while (!span_is(word, "-"));
	if (!next_piece(&rest, ' ', &fstype))
		return -EPROTO;
	if (!span_is(fstype, "nfs") && !span_is(fstype, "nfs4"))
		return -ENOENT;
	if (!next_piece(&rest, ' ', &source))
		source = (struct span) { 0 };

	memset(mount, 0, sizeof(*mount));
	span_copy(fstype, mount->fstype, sizeof(mount->fstype));
	if (!parse_identity(id, bdi, mount))
		*why = "its numbers in the mount table cannot be read";
	const char *reason = parse_names(point, source, mount);
	if (!*why)
		*why = reason ? reason : parse_options(rest, mount);
	return *why ? -EPROTO : 0;
}
