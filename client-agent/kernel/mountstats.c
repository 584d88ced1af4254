// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/mountstats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "client-agent/kernel/procfs.h"
#include "common/unescape.h"

/* Up to max numbers, separated by blanks, from text to the line's end. How many, or -EPROTO. */
static int parse_numbers(const char *text, uint64_t *numbers, int max)
{
	int n = 0;

	for (;;) {
		text += strspn(text, " \t");
		if (*text == '\n')
			return n;
		uint64_t value;
		if (canfs_parse_u64(&text, &value))
			return -EPROTO;
		if (*text != ' ' && *text != '\t' && *text != '\n')
			return -EPROTO;
		if (n < max)
			numbers[n++] = value;
	}
}

static int parse_bytes(const char *text, struct canfs_mountstats *stats)
{
	uint64_t v[8];

	if (parse_numbers(text, v, 8) != 8)
		return -EPROTO;
	stats->normal_read_bytes = v[0];
	stats->normal_write_bytes = v[1];
	stats->direct_read_bytes = v[2];
	stats->direct_write_bytes = v[3];
	stats->server_read_bytes = v[4];
	stats->server_write_bytes = v[5];
	stats->begun_write_bytes = v[7] * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

static int parse_age(const char *text, struct canfs_mountstats *stats)
{
	return parse_numbers(text, &stats->age_sec, 1) == 1 ? 0 : -EPROTO;
}

static int parse_op(const char *text, struct canfs_op_stats *op)
{
	uint64_t v[9] = { 0 };

	if (parse_numbers(text, v, 9) < 8) /* statvers 1.0 has no errors */
		return -EPROTO;
	*op = (struct canfs_op_stats) { v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8] };
	return 0;
}

/* "tcp PORT BINDS CONNECTS CONNECT_TIME IDLE SENDS RECVS BAD_XIDS REQUESTS BACKLOG SLOTS ..." */
static int parse_xprt(const char *text, struct canfs_mountstats *stats)
{
	struct canfs_xprt_stats *xprt = &stats->xprt;
	uint64_t v[11];

	text += strspn(text, " \t");
	if (strncmp(text, "tcp ", 4) != 0)
		return 0;
	if (parse_numbers(text + 4, v, 11) < 11)
		return -EPROTO;
	xprt->connections++;
	xprt->sends += v[5];
	xprt->backlog += v[9];
	if (v[10] > xprt->max_slots)
		xprt->max_slots = v[10];
	return 0;
}

static int parse_read(const char *text, struct canfs_mountstats *stats)
{
	return parse_op(text, &stats->read);
}

static int parse_write(const char *text, struct canfs_mountstats *stats)
{
	return parse_op(text, &stats->write);
}

static int parse_commit(const char *text, struct canfs_mountstats *stats)
{
	return parse_op(text, &stats->commit);
}

/* The lines that we want; a mount is found when all needed ones were there and whole. */
static const struct row {
	const char *name;
	int (*parse)(const char *text, struct canfs_mountstats *stats);
	bool needed;
} rows[] = {
	{ "age:", parse_age, false },
	{ "bytes:", parse_bytes, true },
	{ "xprt:", parse_xprt, false },
	{ "READ:", parse_read, true },
	{ "WRITE:", parse_write, true },
	{ "COMMIT:", parse_commit, true },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Cuts "X mounted on Y with fstype nfs" behind "device ". false: not an NFS mount's header. */
static bool parse_device(const char *line, size_t len, char *source, char *mountpoint)
{
	static const char on[] = " mounted on ", with[] = " with fstype nfs";
	const char *at = memmem(line, len, on, sizeof(on) - 1);

	if (!at)
		return false;
	const char *point = at + sizeof(on) - 1;
	const char *end = memmem(point, len - (size_t)(point - line), with, sizeof(with) - 1);
	return end && !canfs_unescape(line, (size_t)(at - line), source, CANFS_MOUNT_PATH_MAX) &&
	       !canfs_unescape(point, (size_t)(end - point), mountpoint, CANFS_MOUNT_PATH_MAX);
}

/* Which mount the header is about: the first match that has had no header yet. -1: none. */
static int find_mount(const char *line, size_t len, const struct canfs_mounts *mounts,
	const bool taken[CANFS_MOUNTS_MAX])
{
	char source[CANFS_MOUNT_PATH_MAX], mountpoint[CANFS_MOUNT_PATH_MAX];

	if (!parse_device(line, len, source, mountpoint))
		return -1;
	for (size_t i = 0; i < mounts->n; i++) {
		if (!taken[i] && strcmp(mounts->mount[i].mountpoint, mountpoint) == 0 &&
			strcmp(mounts->mount[i].source, source) == 0)
			return (int)i;
	}
	return -1;
}

/* One line of a mount's section. 1 if it was malformed and needed. */
static unsigned int parse_line(
	const char *line, struct canfs_mountstats *stats, unsigned int *seen, unsigned int *bad)
{
	line += strspn(line, " \t");
	for (unsigned int i = 0; i < ROWS; i++) {
		size_t len = strlen(rows[i].name);
		if (strncmp(line, rows[i].name, len) != 0)
			continue;
		if (rows[i].parse(line + len, stats) == 0) {
			*seen |= 1u << i;
			return 0;
		}
		*bad |= 1u << i;
		return rows[i].needed;
	}
	return 0;
}

/* A section ends: keep it only if it is whole. */
static void finish(struct canfs_mountstats *stats, unsigned int seen, unsigned int bad)
{
	unsigned int needed = 0;

	for (unsigned int i = 0; i < ROWS; i++)
		needed |= (unsigned int)rows[i].needed << i;
	if ((seen & needed) == needed && !(bad & needed))
		stats->found = true;
	else
		memset(stats, 0, sizeof(*stats));
}

/* What goes with the text from line to line. */
struct reader {
	const struct canfs_mounts *mounts;
	struct canfs_mountstats *stats;
	bool taken[CANFS_MOUNTS_MAX];
	int current; /* mount whose section it is, or -1 */
	unsigned int seen, bad;
	unsigned int malformed;
};

static void take_line(void *data, const char *line, const char *end)
{
	static const char device[] = "device ";
	struct reader *reader = data;

	if (strncmp(line, device, sizeof(device) - 1) != 0) {
		if (reader->current >= 0)
			reader->malformed += parse_line(
				line, &reader->stats[reader->current], &reader->seen, &reader->bad);
		return;
	}
	if (reader->current >= 0)
		finish(&reader->stats[reader->current], reader->seen, reader->bad);
	line += sizeof(device) - 1;
	reader->current = find_mount(line, (size_t)(end - line), reader->mounts, reader->taken);
	if (reader->current >= 0)
		reader->taken[reader->current] = true;
	reader->seen = reader->bad = 0;
}

static void begin(
	struct reader *reader, const struct canfs_mounts *mounts, struct canfs_mountstats *stats)
{
	*reader = (struct reader) { .mounts = mounts, .stats = stats, .current = -1 };
	memset(stats, 0, mounts->n * sizeof(*stats));
}

static void end_of_text(struct reader *reader)
{
	if (reader->current >= 0)
		finish(&reader->stats[reader->current], reader->seen, reader->bad);
}

unsigned int canfs_mountstats_parse(
	const char *text, const struct canfs_mounts *mounts, struct canfs_mountstats *stats)
{
	struct reader reader;
	const char *end;

	begin(&reader, mounts, stats);
	/* Only whole lines: what follows the last newline is torn. */
	for (const char *line = text; (end = strchr(line, '\n')); line = end + 1)
		take_line(&reader, line, end);
	end_of_text(&reader);
	return reader.malformed;
}

int canfs_mountstats_read(
	const char *root, const struct canfs_mounts *mounts, struct canfs_mountstats *stats)
{
	struct reader reader;

	begin(&reader, mounts, stats);
	int ret = canfs_read_lines(root, "/proc/self/mountstats", take_line, &reader);
	end_of_text(&reader);
	return ret;
}
