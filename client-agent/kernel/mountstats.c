// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/mountstats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/file.h"
#include "common/text.h"
#include "common/unescape.h"

/*
 * An impossible number: negative, or above INT64_MAX. The kernel prints a counter below 0 like
 * that.
 */
#define UNKNOWN UINT64_MAX

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Parses a number and moves *text past it. Returns 0, or -EPROTO if there is none. */
static int parse_number(const char **text, uint64_t *number)
{
	const char *p = *text, *digits = p + (*p == '-');
	size_t len = strspn(digits, "0123456789");

	if (len == 0 || !is_blank(digits[len]))
		return -EPROTO;
	if (canfs_parse_u64(&p, number) || *number > INT64_MAX)
		*number = UNKNOWN;
	*text = digits + len;
	return 0;
}

/*
 * Reads up to max numbers, separated by blanks, up to the end of the line. Missing or impossible
 * numbers are 0. Returns 0, or -EPROTO if
 * - a word is not a number,
 * - there are fewer than least numbers,
 * - one of the first needed numbers is impossible.
 */
static int parse_numbers(
	const char *text, size_t needed, size_t least, uint64_t *numbers, size_t max)
{
	uint64_t value;
	size_t n = 0;

	memset(numbers, 0, max * sizeof(*numbers));
	for (text += strspn(text, " \t"); *text != '\n'; text += strspn(text, " \t"), n++) {
		if (parse_number(&text, &value) || (value == UNKNOWN && n < needed))
			return -EPROTO;
		if (n < max)
			numbers[n] = value == UNKNOWN ? 0 : value;
	}
	return n < least ? -EPROTO : 0;
}

static int parse_bytes(const char *text, struct canfs_mountstats *stats)
{
	uint64_t v[8];

	if (parse_numbers(text, 6, 6, v, 8))
		return -EPROTO;
	stats->normal_read_bytes = v[0];
	stats->normal_write_bytes = v[1];
	stats->direct_read_bytes = v[2];
	stats->direct_write_bytes = v[3];
	stats->server_read_bytes = v[4];
	stats->server_write_bytes = v[5];
	if (__builtin_mul_overflow(
		    v[7], (uint64_t)sysconf(_SC_PAGESIZE), &stats->begun_write_bytes))
		stats->begun_write_bytes = 0;
	return 0;
}

static int parse_age(const char *text, struct canfs_mountstats *stats)
{
	return parse_numbers(text, 0, 1, &stats->age_sec, 1);
}

static int parse_op(const char *text, struct canfs_op_stats *op)
{
	uint64_t v[9];

	if (parse_numbers(text, 1, 8, v, 9)) /* statvers 1.0 has no column of errors */
		return -EPROTO;
	*op = (struct canfs_op_stats) { v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8] };
	return 0;
}

/* "tcp PORT BINDS CONNECTS CONNECT_TIME IDLE SENDS RECVS BAD_XIDS REQUESTS BACKLOG [SLOTS ...]" */
static int parse_xprt(const char *text, struct canfs_mountstats *stats)
{
	struct canfs_xprt_stats *xprt = &stats->xprt;
	uint64_t v[11], sends, backlog;

	text += strspn(text, " \t");
	if (strncmp(text, "tcp ", 4) != 0)
		return 0;
	if (parse_numbers(text + 4, 0, 10, v, 11))
		return -EPROTO;
	xprt->connections++;
	sends = xprt->sends + v[5];
	backlog = xprt->backlog + v[9];
	if (v[5] && sends <= INT64_MAX && backlog <= INT64_MAX) {
		xprt->sends = sends;
		xprt->backlog = backlog;
	}
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

/* The lines that we parse. A mount is found if all its needed lines are present and complete. */
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

/*
 * Parses "X mounted on Y with fstype nfs", the text after "device ". Returns false if the line is
 * not the header of an NFS mount.
 */
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

/*
 * Parses one line of a mount's section. Returns 1 if the line is needed and malformed, else 0. The
 * last line with a name counts.
 */
static unsigned int parse_line(const char *line, struct canfs_mountstats *stats, unsigned int *seen)
{
	line += strspn(line, " \t");
	for (unsigned int i = 0; i < ROWS; i++) {
		size_t len = strlen(rows[i].name);
		if (strncmp(line, rows[i].name, len) != 0)
			continue;
		*seen |= 1u << i;
		if (rows[i].parse(line + len, stats) == 0)
			return 0;
		*seen &= ~(1u << i);
		return rows[i].needed;
	}
	return 0;
}

/* State that is kept from line to line. */
struct reader {
	const struct canfs_mounts *mounts;
	struct canfs_mountstats *stats;
	unsigned int ends_max; /* ends of a server's text to skip after its first one */
	bool is_doubtful;      /* a larger ends_max may give another result */
	bool taken[CANFS_MOUNTS_MAX];
	bool repeated[CANFS_MOUNTS_MAX];
	const char *lacks[CANFS_MOUNTS_MAX]; /* name of a needed line that is missing; NULL: none */
	int current;                         /* mount of the current section, or -1 */
	unsigned int seen;
	unsigned int malformed;
	struct server_text {
		size_t left_bytes; /* length that the text may still have; 0: not in a text */
		bool is_open;      /* no end was found yet */
		unsigned int ends; /* ends after the first one */
		int current;       /* value at the start of the text */
		unsigned int seen;
		bool taken[CANFS_MOUNTS_MAX];
	} text;
};

/* Returns the mount of a header: the first match without a header so far. -1: none. */
static int find_mount(struct reader *reader, const char *line, size_t len)
{
	char source[CANFS_MOUNT_PATH_MAX], mountpoint[CANFS_MOUNT_PATH_MAX];
	const struct canfs_mounts *mounts = reader->mounts;
	int repeated = -1;

	if (!parse_device(line, len, source, mountpoint))
		return -1;
	for (size_t i = 0; i < mounts->n; i++) {
		if (strcmp(mounts->mount[i].mountpoint, mountpoint) != 0 ||
			strcmp(mounts->mount[i].source, source) != 0)
			continue;
		if (!reader->taken[i])
			return (int)i;
		repeated = (int)i;
	}
	if (repeated >= 0)
		reader->is_doubtful = reader->repeated[repeated] = true;
	return -1;
}

/* Ends a section. The mount counts as found only if the section is complete. */
static void finish(struct reader *reader)
{
	const char *lacks = NULL;

	if (reader->current < 0)
		return;
	for (unsigned int i = ROWS; i-- > 0;) {
		if (rows[i].needed && !(reader->seen & 1u << i))
			lacks = rows[i].name;
	}
	reader->lacks[reader->current] = lacks;
	reader->stats[reader->current].found = true;
}

static void take_header(struct reader *reader, const char *line, const char *end)
{
	finish(reader);
	reader->current = find_mount(reader, line, (size_t)(end - line));
	reader->seen = 0;
	if (reader->current >= 0)
		reader->taken[reader->current] = true;
}

/*
 * A server of NFSv4.1 or later sends a text about its implementation. The kernel prints that text
 * without escapes:
 *
 *	impl_id:	name='WORDS',domain='WORDS',date='1293840000,0'
 *
 * The text may contain newlines and forged lines of the kernel, such as the header of another
 * mount. So everything after an open quote is skipped, up to the end that the kernel writes.
 *
 * The text may also contain a forged end. Then a header occurs more often than there are such
 * mounts. In that case the file is read again, and further ends within the maximum length of the
 * text are skipped, until no header is repeated. The kernel's next section is never that close: the
 * rest of a section has at least 2 KB, for some 60 operations.
 */
static const char text_name[] = "impl_id:", text_date[] = "',date='";
#define SERVER_TEXT_MAX (2 * 1024 + 64) /* name and domain: NFS4_OPAQUE_LIMIT each */
#define ENDS_MAX        (SERVER_TEXT_MAX / 16)

static bool ends_server_text(const char *line, const char *end)
{
	const char *at = line;

	while ((at = memmem(at, (size_t)(end - at), text_date, sizeof(text_date) - 1))) {
		at += sizeof(text_date) - 1;
		if (at + strspn(at, "0123456789,") == end - 1 && end[-1] == '\'')
			return true;
	}
	return false;
}

static void begin_server_text(struct reader *reader, const char *end)
{
	struct server_text *text = &reader->text;

	text->left_bytes = SERVER_TEXT_MAX;
	text->is_open = end[-1] != '\'';
	text->ends = 0;
	text->current = reader->current;
	text->seen = reader->seen;
	memcpy(text->taken, reader->taken, sizeof(text->taken));
}

/* Undoes everything that was parsed since the text started: it belongs to the text. */
static void take_back(struct reader *reader)
{
	const struct server_text *text = &reader->text;

	for (size_t i = 0; i < reader->mounts->n; i++) {
		if (!reader->taken[i] || text->taken[i])
			continue;
		memset(&reader->stats[i], 0, sizeof(reader->stats[i]));
		reader->lacks[i] = NULL;
	}
	memcpy(reader->taken, text->taken, sizeof(reader->taken));
	memset(reader->repeated, 0, sizeof(reader->repeated));
	reader->current = text->current;
	reader->seen = text->seen;
}

/* Returns true if the line is a part of a server's text. */
static bool take_server_text(struct reader *reader, const char *line, const char *end)
{
	struct server_text *text = &reader->text;
	size_t len = (size_t)(end - line) + 1;
	bool was_open = text->is_open, may_go_on = was_open || text->ends < reader->ends_max;

	text->left_bytes = text->left_bytes > len ? text->left_bytes - len : 0;
	if (text->left_bytes == 0 || !may_go_on) {
		text->is_open = false;
		line += strspn(line, " \t");
		if (strncmp(line, text_name, sizeof(text_name) - 1) != 0)
			return false;
		begin_server_text(reader, end);
		return true;
	}
	if (!ends_server_text(line, end))
		return was_open;
	if (!was_open) {
		text->ends++;
		take_back(reader);
	}
	text->is_open = false;
	return true;
}

static void take_line(void *data, const char *line, const char *end)
{
	static const char device[] = "device ";
	struct reader *reader = data;

	if (take_server_text(reader, line, end))
		return;
	if (strncmp(line, device, sizeof(device) - 1) == 0)
		take_header(reader, line + sizeof(device) - 1, end);
	else if (reader->current >= 0)
		reader->malformed +=
			parse_line(line, &reader->stats[reader->current], &reader->seen);
}

static void begin(struct reader *reader, const struct canfs_mounts *mounts,
	struct canfs_mountstats *stats, unsigned int ends_max)
{
	*reader = (struct reader) {
		.mounts = mounts, .stats = stats, .current = -1, .ends_max = ends_max
	};
	memset(stats, 0, mounts->n * sizeof(*stats));
}

/*
 * If a mount has two sections, neither is used. Returns true if the file must be read again; the
 * reader is then reset.
 */
static bool end_of_text(struct reader *reader)
{
	finish(reader);
	for (size_t i = 0; i < reader->mounts->n; i++) {
		if (reader->lacks[i] || reader->repeated[i])
			memset(&reader->stats[i], 0, sizeof(reader->stats[i]));
	}
	if (!reader->is_doubtful || reader->ends_max > ENDS_MAX)
		return false;
	begin(reader, reader->mounts, reader->stats, 2 * reader->ends_max + 1);
	return true;
}

unsigned int canfs_mountstats_parse(
	const char *text, const struct canfs_mounts *mounts, struct canfs_mountstats *stats)
{
	struct reader reader;
	const char *end;

	begin(&reader, mounts, stats, 0);
	do {
		/* Parse only whole lines: text after the last newline is torn. */
		for (const char *line = text; (end = strchr(line, '\n')); line = end + 1)
			take_line(&reader, line, end);
	} while (end_of_text(&reader));
	return reader.malformed;
}

static int read_file(struct reader *reader, const char *root)
{
	int ret;

	do {
		ret = canfs_read_lines(root, "/proc/self/mountstats", take_line, reader);
	} while (end_of_text(reader) && ret == 0);
	return ret;
}

int canfs_mountstats_read(
	const char *root, const struct canfs_mounts *mounts, struct canfs_mountstats *stats)
{
	struct reader reader;

	begin(&reader, mounts, stats, 0);
	return read_file(&reader, root);
}

const char *canfs_mountstats_lack(const char *root, const struct canfs_mounts *mounts, size_t i)
{
	struct canfs_mountstats *stats = calloc(CANFS_MOUNTS_MAX, sizeof(*stats));
	const char *lacks = NULL;
	struct reader reader;

	if (!stats)
		return NULL;
	begin(&reader, mounts, stats, 0);
	if (read_file(&reader, root) == 0 && !stats[i].found)
		lacks = reader.lacks[i] ? reader.lacks[i] : "device";
	free(stats);
	return lacks;
}
