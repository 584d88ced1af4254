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
#include "client-agent/kernel/journal_entries.h"
#include "common/file.h"

#define MAGIC        "canfs-journal 1"
#define UNKNOWN_BOOT "-"

struct canfs_journal {
	struct canfs_journal_entries entries;
	char boot_id[64];
	char *dir;         /* NULL: no file, parsed from a text */
	int fd;            /* the file, or -1 */
	int lock_fd;       /* -1: could not be created yet */
	bool behind;       /* the file lacks some entries, or does not exist yet */
	size_t bytes;      /* size of the file */
	size_t compact_at; /* rewrite the file at this size */
};

/* The file is rewritten at twice its size after the last rewrite, but not below this size. */
#define COMPACT_BYTES 65536

/*
 * An unreadable boot ID matches every boot. A stale entry does no harm, because a knob is restored
 * only if it has the value that we wrote.
 */
static bool is_same_boot(const char *a, const char *b)
{
	return strcmp(a, b) == 0 || strcmp(a, UNKNOWN_BOOT) == 0 || strcmp(b, UNKNOWN_BOOT) == 0;
}

static void drop_last(struct canfs_journal *journal)
{
	struct canfs_journal_entries *entries = &journal->entries;

	canfs_entries_drop(entries, &entries->entry[entries->n - 1]);
}

static void free_journal(struct canfs_journal *journal)
{
	while (journal->entries.n > 0)
		drop_last(journal);
	free(journal->dir);
	free(journal);
}

/* Parses and modifies text. If text is empty or of another boot, the journal is empty. */
static int parse_text(struct canfs_journal *journal, char *text, char *error, size_t error_size)
{
	static const char magic[] = MAGIC " ";
	char *end = strchr(text, '\n');

	if (!*text)
		return 0;
	if (!end || strncmp(text, magic, sizeof(magic) - 1) != 0) {
		snprintf(error, error_size, "journal:1: not \"%sBOOT_ID\": not a canfs journal",
			magic);
		return -EPROTO;
	}
	*end = '\0';
	if (!is_same_boot(text + sizeof(magic) - 1, journal->boot_id))
		return 0;
	return canfs_entries_parse(&journal->entries, end + 1, error, error_size);
}

int canfs_journal_parse(struct canfs_journal **journal, const char *text, const char *boot_id,
	char *error, size_t error_size)
{
	struct canfs_journal *parsed = calloc(1, sizeof(*parsed));
	char *copy = strdup(text);
	int ret = -ENOMEM;

	error[0] = '\0';
	if (parsed && copy) {
		parsed->fd = parsed->lock_fd = -1;
		snprintf(parsed->boot_id, sizeof(parsed->boot_id), "%s", boot_id);
		ret = parse_text(parsed, copy, error, error_size);
	}
	free(copy);
	if (ret == 0)
		*journal = parsed;
	else if (parsed)
		free_journal(parsed);
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

/* Writes the lines that represent the entry. */
static int write_entry(int fd, const struct canfs_journal_entry *entry)
{
	char line[CANFS_JOURNAL_LINE_MAX];
	int ret = write_all(fd, line, canfs_format_original(entry, line));

	if (!ret && entry->written && entry->before != entry->original)
		ret = write_all(fd, line,
			canfs_format_change(
				"wrote", entry->knob, entry->bdi, &entry->before, line));
	if (!ret && entry->written)
		ret = write_all(fd, line,
			canfs_format_change("wrote", entry->knob, entry->bdi, &entry->wrote, line));
	if (!ret && entry->yielded)
		ret = write_all(fd, line,
			canfs_format_change("yielded", entry->knob, entry->bdi, NULL, line));
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

/* Replaces the file with a new one that has all entries. On success, fd is open on the new file. */
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
	for (size_t i = 0; !ret && i < journal->entries.n; i++)
		ret = write_entry(fd, &journal->entries.entry[i]);
	if (!ret && (fsync(fd) < 0 || fstat(fd, &st) < 0 || rename(fresh, path) < 0))
		ret = -errno;
	if (ret) {
		close(fd);
		unlink(fresh); /* it would occupy the last blocks of a full disk */
		return ret;
	}
	/* The new file is the journal from here on, even if its directory cannot be synced. */
	if (journal->fd >= 0)
		close(journal->fd);
	journal->fd = fd;
	journal->behind = false;
	journal->bytes = (size_t)st.st_size;
	journal->compact_at =
		journal->bytes * 2 > COMPACT_BYTES ? journal->bytes * 2 : COMPACT_BYTES;
	return fsync_dir(journal->dir);
}

static int take_lock(const char *dir, int *lock_fd)
{
	char path[PATH_MAX];

	/* Opening for writing would fail on a read-only file system. */
	snprintf(path, sizeof(path), "%s/lock", dir);
	int fd = open(path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
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

/*
 * Call before adding a line. Brings the file up to date. Also rewrites a file that would become too
 * long to be read again.
 */
static int catch_up(struct canfs_journal *journal)
{
	int ret = 0;

	if (!journal->dir || (!journal->behind && journal->bytes < CANFS_JOURNAL_BYTES_MAX / 2))
		return 0;
	if (journal->lock_fd < 0)
		ret = take_lock(journal->dir, &journal->lock_fd);
	return ret ? ret : rewrite(journal);
}

static int append(struct canfs_journal *journal, const char *line, size_t len, bool sync)
{
	if (journal->fd < 0)
		return 0; /* in memory only: the tests */
	int ret = write_all(journal->fd, line, len);
	if (!ret && sync && fsync(journal->fd) < 0)
		ret = -errno;
	if (!ret)
		journal->bytes += len;
	else if (ftruncate(journal->fd, (off_t)journal->bytes) < 0)
		journal->behind = true; /* the file ends with a torn line */
	return ret;
}

/* Only keeps the file small, so a failure is no error. */
static void compact_if_long(struct canfs_journal *journal)
{
	if (journal->fd >= 0 && journal->bytes >= journal->compact_at)
		rewrite(journal);
}

/* Appends a line whose loss does no harm, because another process would find out the same. */
static void append_later(struct canfs_journal *journal, const char *line, size_t len)
{
	if (journal->behind ? catch_up(journal) : append(journal, line, len, false))
		journal->behind = true;
	compact_if_long(journal);
}

/* Gets the boot ID, or UNKNOWN_BOOT if the kernel does not show it. */
static void read_boot_id(const char *root, char *buf, size_t size)
{
	ssize_t len = canfs_read_file(root, "/proc/sys/kernel/random/boot_id", buf, size);

	if (len >= 0)
		buf[strcspn(buf, " \n")] = '\0';
	if (len < 0 || !*buf)
		snprintf(buf, size, UNKNOWN_BOOT);
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
	/*
	 * If the lock file cannot be created, nobody holds the lock. Restoring works without the
	 * lock; turning a knob does not.
	 */
	if (ret == -EROFS || ret == -ENOSPC || ret == -EDQUOT)
		ret = access(dir, F_OK) < 0 ? ret : 0;
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
	opened->behind = true;
	catch_up(opened); /* if this fails, the next write tries again */
	dir = NULL;
	lock_fd = -1;
	*journal = opened;
out:
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
	if (journal->lock_fd >= 0 && journal->entries.n == 0) {
		snprintf(path, sizeof(path), "%s/journal", journal->dir);
		unlink(path);
	}
	if (journal->fd >= 0)
		close(journal->fd);
	if (journal->lock_fd >= 0)
		close(journal->lock_fd);
	free_journal(journal);
}

size_t canfs_journal_count(const struct canfs_journal *journal)
{
	return journal->entries.n;
}

const struct canfs_journal_entry *canfs_journal_at(const struct canfs_journal *journal, size_t i)
{
	return i < journal->entries.n ? &journal->entries.entry[i] : NULL;
}

const struct canfs_journal_entry *canfs_journal_find(
	const struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi)
{
	return canfs_entries_find(&journal->entries, knob, bdi);
}

int canfs_journal_original(struct canfs_journal *journal, enum canfs_knob knob,
	const struct canfs_mount *mount, uint64_t value, uint64_t pair_value)
{
	struct canfs_journal_entry entry = {
		.knob = knob, .original = value, .pair_original = pair_value
	};
	char line[CANFS_JOURNAL_LINE_MAX];

	if (mount) {
		entry.bdi = mount->bdi;
		entry.mount_id = mount->id;
		entry.source = (char *)mount->source; /* copied, not modified */
		entry.mountpoint = (char *)mount->mountpoint;
	}
	int ret = catch_up(journal);
	if (!ret)
		ret = canfs_entries_add(&journal->entries, &entry);
	if (ret)
		return ret;
	ret = append(journal, line, canfs_format_original(&entry, line), true);
	if (ret)
		drop_last(journal);
	return ret;
}

int canfs_journal_wrote(
	struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi, uint64_t value)
{
	struct canfs_journal_entry *entry = canfs_entries_find(&journal->entries, knob, bdi);
	char line[CANFS_JOURNAL_LINE_MAX];

	if (!entry)
		return -ENOENT;
	int ret = catch_up(journal);
	if (!ret)
		ret = append(journal, line, canfs_format_change("wrote", knob, bdi, &value, line),
			false);
	if (ret)
		return ret;
	canfs_entry_wrote(entry, value);
	compact_if_long(journal);
	return 0;
}

int canfs_journal_yielded(struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi)
{
	struct canfs_journal_entry *entry = canfs_entries_find(&journal->entries, knob, bdi);
	char line[CANFS_JOURNAL_LINE_MAX];

	if (!entry)
		return -ENOENT;
	entry->yielded = true;
	append_later(journal, line, canfs_format_change("yielded", knob, bdi, NULL, line));
	return 0;
}

int canfs_journal_restored(
	struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi)
{
	struct canfs_journal_entry *entry = canfs_entries_find(&journal->entries, knob, bdi);
	char line[CANFS_JOURNAL_LINE_MAX];

	if (!entry)
		return -ENOENT;
	canfs_entries_drop(&journal->entries, entry);
	append_later(journal, line, canfs_format_change("restored", knob, bdi, NULL, line));
	return 0;
}
