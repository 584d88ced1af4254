// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/mounts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "client-agent/kernel/procfs.h"
#include "common/unescape.h"

#define ATTRIBUTE_CACHE_SEC 60 /* acregmax and acdirmax, nfs(5): not shown if they are this */

/* A piece of the text that is not ended by a NUL. */
struct span {
	const char *at;
	size_t len;
};

static bool span_is(struct span s, const char *word)
{
	return s.len == strlen(word) && memcmp(s.at, word, s.len) == 0;
}

/* Cuts the next piece that ends at separator from *rest; false if there is none. */
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

static int parse_address(struct span s, struct sockaddr_storage *address)
{
	char text[INET6_ADDRSTRLEN + 16];
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (span_copy(s, text, sizeof(text)))
		return -EPROTO;
	memset(address, 0, sizeof(*address));
	if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
		memcpy(address, &in, sizeof(in));
		return 0;
	}
	char *scope = strchr(text, '%'); /* fe80::1%2: the kernel prints the interface's index */
	if (scope) {
		uint64_t index;
		*scope++ = '\0';
		if (span_number((struct span) { scope, strlen(scope) }, UINT32_MAX, &index))
			return -EPROTO;
		in6.sin6_scope_id = (uint32_t)index;
	}
	if (inet_pton(AF_INET6, text, &in6.sin6_addr) != 1)
		return -EPROTO;
	memcpy(address, &in6, sizeof(in6));
	return 0;
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

static int parse_port(struct span s, uint16_t *port)
{
	uint64_t value;

	if (span_number(s, UINT16_MAX, &value))
		return -EPROTO;
	*port = (uint16_t)value;
	return 0;
}

/* Options that only advice depends on: one that is odd makes no mount unfit to be used. */
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

static int parse_option(struct span name, struct span value, struct canfs_mount *mount)
{
	parse_number_option(name, value, &mount->options);
	if (span_is(name, "vers"))
		return parse_version(value, mount);
	if (span_is(name, "addr"))
		return parse_address(value, &mount->address);
	if (span_is(name, "mountaddr") && mount->address.ss_family == AF_UNSPEC)
		return parse_address(value, &mount->address);
	if (span_is(name, "port"))
		return parse_port(value, &mount->port);
	if (span_is(name, "mountport"))
		return parse_port(value, &mount->mount_port);
	if (span_is(name, "sec"))
		return span_copy(value, mount->sec, sizeof(mount->sec));
	if (span_is(name, "proto"))
		mount->tcp = span_is(value, "tcp") || span_is(value, "tcp6");
	return 0;
}

static int parse_options(struct span options, struct canfs_mount *mount)
{
	struct span option, name;
	bool mount_udp = false;

	while (next_piece(&options, ',', &option)) {
		parse_flag(option, &mount->options);
		mount_udp = mount_udp || span_is(option, "mountproto=udp") ||
			    span_is(option, "mountproto=udp6");
		if (!next_piece(&option, '=', &name))
			continue;
		int ret = parse_option(name, option, mount);
		if (ret)
			return ret;
	}
	if (mount_udp) /* over TCP, as prices are asked for, MOUNT may have another port */
		mount->mount_port = 0;
	return mount->version ? 0 : -EPROTO;
}

/* server:/path, [v6 address]:/path */
static int split_source(struct canfs_mount *mount)
{
	const char *from = mount->source;

	if (*from == '[' && !(from = strchr(from, ']')))
		return -EPROTO;
	const char *path = strstr(from, ":/");
	if (!path)
		return -EPROTO;
	strcpy(mount->export_path, path + 1);
	return 0;
}

/* "36 25 0:41 /root /mnt ro,... [tags] - nfs source options". -ENOENT: not an NFS mount. */
static int parse_line(struct span line, struct canfs_mount *mount)
{
	struct span id, parent, bdi, root, point, flags, word, fstype, source;
	uint64_t number;

	if (!next_piece(&line, ' ', &id) || !next_piece(&line, ' ', &parent) ||
		!next_piece(&line, ' ', &bdi) || !next_piece(&line, ' ', &root) ||
		!next_piece(&line, ' ', &point) || !next_piece(&line, ' ', &flags))
		return -EPROTO;
	do {
		if (!next_piece(&line, ' ', &word))
			return -EPROTO;
	} while (!span_is(word, "-"));
	if (!next_piece(&line, ' ', &fstype) || !next_piece(&line, ' ', &source) || !line.len)
		return -EPROTO;
	if (!span_is(fstype, "nfs") && !span_is(fstype, "nfs4"))
		return -ENOENT;

	memset(mount, 0, sizeof(*mount));
	mount->options.acregmax_sec = mount->options.acdirmax_sec = ATTRIBUTE_CACHE_SEC;
	if (span_number(id, INT_MAX, &number) || parse_bdi(bdi, &mount->bdi))
		return -EPROTO;
	mount->id = (int)number;
	if (span_copy(fstype, mount->fstype, sizeof(mount->fstype)) ||
		canfs_unescape(point.at, point.len, mount->mountpoint, CANFS_MOUNT_PATH_MAX) ||
		canfs_unescape(source.at, source.len, mount->source, CANFS_MOUNT_PATH_MAX))
		return -EPROTO;
	if (mount->mountpoint[0] != '/')
		return -EPROTO;
	int ret = split_source(mount);
	return ret ? ret : parse_options(line, mount);
}

static void begin(struct canfs_mounts *mounts)
{
	mounts->n = 0;
	mounts->malformed = 0;
	mounts->dropped = 0;
}

static void take_line(void *data, const char *line, const char *end)
{
	struct canfs_mounts *mounts = data;
	struct canfs_mount beyond;
	bool full = mounts->n == CANFS_MOUNTS_MAX;
	int ret = parse_line((struct span) { line, (size_t)(end - line) },
		full ? &beyond : &mounts->mount[mounts->n]);

	if (ret == -ENOENT)
		return;
	if (ret)
		mounts->malformed++;
	else if (full)
		mounts->dropped++;
	else
		mounts->n++;
}

void canfs_mounts_parse(const char *text, struct canfs_mounts *mounts)
{
	const char *end;

	begin(mounts);
	for (; (end = strchr(text, '\n')); text = end + 1)
		take_line(mounts, text, end);
	/* A last line without its newline is torn: it may look whole and not be. */
	if (*text)
		mounts->malformed++;
}

int canfs_mounts_read(const char *root, struct canfs_mounts *mounts)
{
	begin(mounts);
	return canfs_read_lines(root, "/proc/self/mountinfo", take_line, mounts);
}

bool canfs_bdi_equal(struct canfs_bdi a, struct canfs_bdi b)
{
	return a.major == b.major && a.minor == b.minor;
}

size_t canfs_mounts_bdis(const struct canfs_mounts *mounts, size_t index[CANFS_MOUNTS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < mounts->n; i++) {
		size_t k = 0;
		while (k < n && !canfs_bdi_equal(mounts->mount[i].bdi, mounts->mount[index[k]].bdi))
			k++;
		if (k == n)
			index[n++] = i;
	}
	return n;
}

const char *canfs_mount_left_alone(const struct canfs_mount *mount)
{
	static const char *const asked_with[] = { "", "sys", "null", "none" };

	if (mount->address.ss_family == AF_UNSPEC)
		return "the mount table names no address of its server";
	for (size_t i = 0; i < sizeof(asked_with) / sizeof(asked_with[0]); i++) {
		if (strcmp(mount->sec, asked_with[i]) == 0)
			return NULL;
	}
	return "prices cannot be asked for with Kerberos";
}

int canfs_mounts_find(const struct canfs_mounts *mounts, const struct canfs_mount *mount)
{
	for (size_t i = 0; i < mounts->n; i++) {
		const struct canfs_mount *m = &mounts->mount[i];
		if (m->id == mount->id && canfs_bdi_equal(m->bdi, mount->bdi) &&
			strcmp(m->source, mount->source) == 0 &&
			strcmp(m->mountpoint, mount->mountpoint) == 0)
			return (int)i;
	}
	return -ENOENT;
}
