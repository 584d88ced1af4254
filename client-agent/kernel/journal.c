// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "client-agent/kernel/procfs.h"
#include "common/unescape.h"

#define MAGIC "canfs-journal 1"
/* Two paths of which every byte may be escaped to four, and the numbers. */
#define LINE_MAX_BYTES (8 * CANFS_MOUNT_PATH_MAX + 256)

struct canfs_journal {
	size_t n;
	struct canfs_journal_entry entry[CANFS_JOURNAL_ENTRIES_MAX];
	char boot_id[64];
	char *dir; /* NULL: no file, parsed from a text */
	int fd;    /* of the file, or -1 */
	int lock_fd;
	size_t bytes;      /* of the file */
	size_t compact_at; /* rewrite when it has grown to this */
};

/* Rewritten when it is twice as long as after the last time, but not below this. */
#define COMPACT_BYTES 65536
#define WORDS_MAX     8

/* A path as mountinfo escapes it, so that it is one word; "-" for none. */
static void escape(const char *path, char *buf)
{
	if (!path || !*path)
		path = "-";
	for (; *path; path++) {
		if (strchr(" \t\n\\#", *path))
			buf += sprintf(buf, "\\%03o", (unsigned char)*path);
		else
			*buf++ = *path;
	}
	*buf = '\0';
}

/* Each writes one line with its newline into buf and returns its length. */
static size_t format_original(const struct canfs_journal_entry *entry, char buf[LINE_MAX_BYTES])
{
	char source[4 * CANFS_MOUNT_PATH_MAX], mountpoint[4 * CANFS_MOUNT_PATH_MAX];

	escape(entry->source, source);
	escape(entry->mountpoint, mountpoint);
	int n = snprintf(buf, LINE_MAX_BYTES, "original %s %u:%u %llu %llu %d %s %s\n",
		canfs_knob_info(entry->knob)->name, entry->bdi.major, entry->bdi.minor,
		(unsigned long long)entry->original, (unsigned long long)entry->pair_original,
		entry->mount_id, source, mountpoint);
	return (size_t)n;
}

static size_t format(const char *verb, enum canfs_knob knob, struct canfs_bdi bdi,
	const uint64_t *value, char buf[LINE_MAX_BYTES])
{
	int n = snprintf(buf, LINE_MAX_BYTES, "%s %s %u:%u", verb, canfs_knob_info(knob)->name,
		bdi.major, bdi.minor);

	if (value)
		n += sprintf(buf + n, " %llu", (unsigned long long)*value);
	return (size_t)(n + sprintf(buf + n, "\n"));
}

static struct canfs_journal_entry *find_entry(
	struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi)
{
	for (size_t i = 0; i < journal->n; i++) {
		struct canfs_journal_entry *entry = &journal->entry[i];
		if (entry->knob == knob && canfs_bdi_equal(entry->bdi, bdi))
			return entry;
	}
	return NULL;
}

static int add_entry(struct canfs_journal *journal, const struct canfs_journal_entry *entry)
{
	struct canfs_journal_entry copy = *entry;

	if (find_entry(journal, entry->knob, entry->bdi))
		return -EEXIST;
	if (journal->n == CANFS_JOURNAL_ENTRIES_MAX)
		return -ENOSPC;
	copy.source = entry->source ? strdup(entry->source) : NULL;
	copy.mountpoint = entry->mountpoint ? strdup(entry->mountpoint) : NULL;
	if ((entry->source && !copy.source) || (entry->mountpoint && !copy.mountpoint)) {
		free(copy.source);
		free(copy.mountpoint);
		return -ENOMEM;
	}
	journal->entry[journal->n++] = copy;
	return 0;
}

static void note_wrote(struct canfs_journal_entry *entry, uint64_t value)
{
	entry->before = entry->written ? entry->wrote : entry->original;
	entry->wrote = value;
	entry->written = true;
}

static void drop_entry(struct canfs_journal *journal, struct canfs_journal_entry *entry)
{
	size_t i = (size_t)(entry - journal->entry);

	free(entry->source);
	free(entry->mountpoint);
	memmove(entry, entry + 1, (journal->n - i - 1) * sizeof(*entry));
	journal->n--;
}

static int word_number(const char *word, uint64_t max, uint64_t *value)
{
	return canfs_parse_u64(&word, value) || *word || *value > max ? -EPROTO : 0;
}

static int word_bdi(const char *word, struct canfs_bdi *bdi)
{
	uint64_t major, minor;

	if (canfs_parse_u64(&word, &major) || *word++ != ':' || canfs_parse_u64(&word, &minor))
		return -EPROTO;
	if (*word || major > UINT_MAX || minor > UINT_MAX)
		return -EPROTO;
	*bdi = (struct canfs_bdi) { (unsigned int)major, (unsigned int)minor };
	return 0;
}

/* The words of an "original" line behind KNOB and MAJOR:MINOR: VALUE PAIR ID SOURCE MOUNTPOINT. */
static int parse_original(
	struct canfs_journal *journal, struct canfs_journal_entry *entry, char *words[])
{
	char source[CANFS_MOUNT_PATH_MAX], mountpoint[CANFS_MOUNT_PATH_MAX];
	uint64_t id;

	if (word_number(words[0], UINT64_MAX, &entry->original) ||
		word_number(words[1], UINT64_MAX, &entry->pair_original) ||
		word_number(words[2], INT_MAX, &id))
		return -EPROTO;
	if (canfs_unescape(words[3], strlen(words[3]), source, sizeof(source)) ||
		canfs_unescape(words[4], strlen(words[4]), mountpoint, sizeof(mountpoint)))
		return -EPROTO;
	entry->mount_id = (int)id;
	entry->source = source;
	entry->mountpoint = mountpoint;
	return add_entry(journal, entry);
}

/* One line, which it cuts into words. */
static int parse_line(struct canfs_journal *journal, char *line)
{
	char *words[WORDS_MAX + 1], *save = NULL;
	struct canfs_journal_entry fresh = { 0 };
	int n = 0;

	for (char *w = strtok_r(line, " ", &save); w && n <= WORDS_MAX;
		w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	if (n < 3 || canfs_knob_by_name(words[1], &fresh.knob) || word_bdi(words[2], &fresh.bdi))
		return -EPROTO;
	if (!canfs_knob_info(fresh.knob)->per_bdi && (fresh.bdi.major || fresh.bdi.minor))
		return -EPROTO;
	if (strcmp(words[0], "original") == 0)
		return n == 8 ? parse_original(journal, &fresh, words + 3) : -EPROTO;

	struct canfs_journal_entry *entry = find_entry(journal, fresh.knob, fresh.bdi);
	uint64_t value;
	if (!entry)
		return -EPROTO;
	if (strcmp(words[0], "wrote") == 0 && n == 4) {
		if (word_number(words[3], UINT64_MAX, &value))
			return -EPROTO;
		note_wrote(entry, value);
	} else if (strcmp(words[0], "yielded") == 0 && n == 3) {
		entry->yielded = true;
	} else if (strcmp(words[0], "restored") == 0 && n == 3) {
		drop_entry(journal, entry);
	} else {
		return -EPROTO;
	}
	return 0;
}

/* The rest of the text; the first bad line is named in error. */
static void parse_lines(struct canfs_journal *journal, char *text, char *error, size_t error_size)
{
	char *end;

	/* Only whole lines: what follows the last newline was torn by a crash. */
	for (int number = 2; (end = strchr(text, '\n')); text = end + 1, number++) {
		char shown[48];
		*end = '\0';
		snprintf(shown, sizeof(shown), "%s", text);
		if (parse_line(journal, text) != 0 && !error[0])
			snprintf(error, error_size,
				"journal:%d: \"%s\": not a line of ours, skipped", number, shown);
	}
}

int canfs_journal_parse(struct canfs_journal **journal, const char *text, const char *boot_id,
	char *error, size_t error_size)
{
	static const char magic[] = MAGIC " ";
	struct canfs_journal *parsed = calloc(1, sizeof(*parsed));
	char *copy = strdup(text);
	int ret = -ENOMEM;

	error[0] = '\0';
	if (!parsed || !copy)
		goto out;
	parsed->fd = parsed->lock_fd = -1;
	snprintf(parsed->boot_id, sizeof(parsed->boot_id), "%s", boot_id);
	char *end = strchr(copy, '\n');
	if (*copy && (!end || strncmp(copy, magic, sizeof(magic) - 1) != 0)) {
		snprintf(error, error_size, "journal:1: not \"%sBOOT_ID\": not a journal of ours",
			magic);
		ret = -EPROTO;
		goto out;
	}
	if (*copy) {
		*end = '\0';
		if (strcmp(copy + sizeof(magic) - 1, boot_id) == 0)
			parse_lines(parsed, end + 1, error, error_size);
	}
	*journal = parsed;
	parsed = NULL;
	ret = 0;
out:
	free(copy);
	free(parsed);
	return ret;
}

static int write_all(int fd, const char *buf, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, buf, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		buf += n;
		len -= (size_t)n;
	}
	return 0;
}

/* What is needed to say all that the journal knows. */
static int write_entry(int fd, const struct canfs_journal_entry *entry)
{
	char line[LINE_MAX_BYTES];
	int ret = write_all(fd, line, format_original(entry, line));

	if (!ret && entry->written && entry->before != entry->original)
		ret = write_all(
			fd, line, format("wrote", entry->knob, entry->bdi, &entry->before, line));
	if (!ret && entry->written)
		ret = write_all(
			fd, line, format("wrote", entry->knob, entry->bdi, &entry->wrote, line));
	if (!ret && entry->yielded)
		ret = write_all(fd, line, format("yielded", entry->knob, entry->bdi, NULL, line));
	return ret;
}

static int fsync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	int ret = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* A new file with what is known now takes the old one's place; fd is then open on it. */
static int rewrite(struct canfs_journal *journal)
{
	char path[PATH_MAX], fresh[PATH_MAX], line[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/journal", journal->dir);
	snprintf(fresh, sizeof(fresh), "%s/journal.new", journal->dir);
	int fd =
		open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int n = snprintf(line, sizeof(line), "%s %s\n", MAGIC, journal->boot_id);
	int ret = write_all(fd, line, (size_t)n);
	for (size_t i = 0; !ret && i < journal->n; i++)
		ret = write_entry(fd, &journal->entry[i]);
	if (!ret && (fsync(fd) < 0 || fstat(fd, &st) < 0 || rename(fresh, path) < 0))
		ret = -errno;
	if (ret) {
		close(fd);
		return ret;
	}
	/* From here on the new file is the journal, also if its directory cannot be synced. */
	if (journal->fd >= 0)
		close(journal->fd);
	journal->fd = fd;
	journal->bytes = (size_t)st.st_size;
	journal->compact_at =
		journal->bytes * 2 > COMPACT_BYTES ? journal->bytes * 2 : COMPACT_BYTES;
	return fsync_dir(journal->dir);
}

static int append(struct canfs_journal *journal, const char *line, size_t len, bool sync)
{
	if (journal->fd < 0)
		return 0; /* in memory only: the tests */
	int ret = write_all(journal->fd, line, len);
	if (!ret && sync && fsync(journal->fd) < 0)
		ret = -errno;
	if (ret) {
		/* No torn line in the middle of the file. */
		if (ftruncate(journal->fd, (off_t)journal->bytes) < 0)
			return -errno;
		return ret;
	}
	journal->bytes += len;
	return 0;
}

/* Not needed to be right, only to stay small: its failure is no error. */
static void compact_if_long(struct canfs_journal *journal)
{
	if (journal->fd >= 0 && journal->bytes >= journal->compact_at)
		rewrite(journal);
}

static int take_lock(const char *dir, int *lock_fd)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/lock", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int ret = errno == EWOULDBLOCK ? -EBUSY : -errno;
		close(fd);
		return ret;
	}
	*lock_fd = fd;
	return 0;
}

/* Which boot this is; "-" if the kernel does not tell, which is then true of every boot. */
static void read_boot_id(const char *root, char *buf, size_t size)
{
	ssize_t len = canfs_read_file(root, "/proc/sys/kernel/random/boot_id", buf, size);

	if (len >= 0)
		buf[strcspn(buf, " \n")] = '\0';
	if (len < 0 || !*buf)
		snprintf(buf, size, "-");
}

static int load(struct canfs_journal **journal, const char *root, const char *dir, char *error,
	size_t error_size)
{
	char path[PATH_MAX], boot_id[64], *text = NULL;

	read_boot_id(root, boot_id, sizeof(boot_id));
	snprintf(path, sizeof(path), "%s/journal", dir);
	int ret = canfs_read_text("", path, CANFS_JOURNAL_BYTES_MAX, &text);
	if (ret && ret != -ENOENT) {
		snprintf(error, error_size, "%s: %s", path, strerror(-ret));
		return ret;
	}
	ret = canfs_journal_parse(journal, text ? text : "", boot_id, error, error_size);
	free(text);
	return ret;
}

int canfs_journal_open(struct canfs_journal **journal, const char *root, const char *state_dir,
	char *error, size_t error_size)
{
	struct canfs_journal *opened = NULL;
	char *dir = NULL;
	int lock_fd = -1;
	int ret;

	error[0] = '\0';
	if (strlen(root) + strlen(state_dir) > PATH_MAX - sizeof("/journal.new"))
		return -ENAMETOOLONG;
	if (asprintf(&dir, "%s%s", root, state_dir) < 0)
		return -ENOMEM;
	ret = mkdir(dir, 0755) < 0 && errno != EEXIST ? -errno : take_lock(dir, &lock_fd);
	if (ret) {
		snprintf(error, error_size, "%s: %s%s", dir,
			ret == -EBUSY ? "another agent holds the lock" : strerror(-ret),
			ret == -EACCES ? " (are you root?)" : "");
		goto out;
	}
	ret = load(&opened, root, dir, error, error_size);
	if (ret)
		goto out;
	opened->dir = dir;
	opened->lock_fd = lock_fd;
	dir = NULL;
	lock_fd = -1;
	ret = rewrite(opened);
	if (ret) {
		snprintf(error, error_size, "%s/journal: %s", opened->dir, strerror(-ret));
		goto out;
	}
	*journal = opened;
	opened = NULL;
out:
	canfs_journal_close(opened);
	if (lock_fd >= 0)
		close(lock_fd);
	free(dir);
	return ret;
}

void canfs_journal_close(struct canfs_journal *journal)
{
	char path[PATH_MAX];

	if (!journal)
		return;
	if (journal->fd >= 0) {
		snprintf(path, sizeof(path), "%s/journal", journal->dir);
		if (journal->n == 0)
			unlink(path);
		close(journal->fd);
	}
	while (journal->n > 0)
		drop_entry(journal, &journal->entry[journal->n - 1]);
	if (journal->lock_fd >= 0)
		close(journal->lock_fd);
	free(journal->dir);
	free(journal);
}

size_t canfs_journal_count(const struct canfs_journal *journal)
{
	return journal->n;
}

const struct canfs_journal_entry *canfs_journal_at(const struct canfs_journal *journal, size_t i)
{
	return i < journal->n ? &journal->entry[i] : NULL;
}

const struct canfs_journal_entry *canfs_journal_find(
	const struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi)
{
	/* Looking does not change it; the cast spares a second copy of the loop. */
	return find_entry((struct canfs_journal *)journal, knob, bdi);
}

int canfs_journal_original(struct canfs_journal *journal, enum canfs_knob knob,
	const struct canfs_mount *mount, uint64_t value, uint64_t pair_value)
{
	struct canfs_journal_entry entry = {
		.knob = knob, .original = value, .pair_original = pair_value
	};
	char line[LINE_MAX_BYTES];

	if (mount) {
		entry.bdi = mount->bdi;
		entry.mount_id = mount->id;
		entry.source = (char *)mount->source; /* copied, not written to */
		entry.mountpoint = (char *)mount->mountpoint;
	}
	int ret = add_entry(journal, &entry);
	if (ret)
		return ret;
	ret = append(journal, line, format_original(&entry, line), true);
	if (ret)
		drop_entry(journal, &journal->entry[journal->n - 1]);
	return ret;
}

int canfs_journal_wrote(
	struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi, uint64_t value)
{
	struct canfs_journal_entry *entry = find_entry(journal, knob, bdi);
	char line[LINE_MAX_BYTES];

	if (!entry)
		return -ENOENT;
	int ret = append(journal, line, format("wrote", knob, bdi, &value, line), false);
	if (ret)
		return ret;
	note_wrote(entry, value);
	compact_if_long(journal);
	return 0;
}

int canfs_journal_yielded(struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi)
{
	struct canfs_journal_entry *entry = find_entry(journal, knob, bdi);
	char line[LINE_MAX_BYTES];

	if (!entry)
		return -ENOENT;
	int ret = append(journal, line, format("yielded", knob, bdi, NULL, line), false);
	if (!ret)
		entry->yielded = true;
	return ret;
}

int canfs_journal_restored(
	struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi)
{
	struct canfs_journal_entry *entry = find_entry(journal, knob, bdi);
	char line[LINE_MAX_BYTES];

	if (!entry)
		return -ENOENT;
	int ret = append(journal, line, format("restored", knob, bdi, NULL, line), false);
	if (!ret)
		drop_entry(journal, entry);
	compact_if_long(journal);
	return ret;
}
