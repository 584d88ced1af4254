/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "client-agent/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "client-agent/journal_text.h"
#include "client-agent/procfs.h"

/* Rewritten when it is twice as long as after the last time, but not below this. */
#define COMPACT_BYTES 65536

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
	char line[CANFS_JOURNAL_LINE_MAX];
	int err = write_all(fd, line, canfs_journal_format_original(entry, line));

	if (!err && entry->written && entry->before != entry->original)
		err = write_all(fd, line,
			canfs_journal_format(
				"wrote", entry->knob, entry->bdi, &entry->before, line));
	if (!err && entry->written)
		err = write_all(fd, line,
			canfs_journal_format(
				"wrote", entry->knob, entry->bdi, &entry->wrote, line));
	if (!err && entry->yielded)
		err = write_all(fd, line,
			canfs_journal_format("yielded", entry->knob, entry->bdi, NULL, line));
	return err;
}

static int fsync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	int err = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return err;
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
	int n = snprintf(line, sizeof(line), "%s %s\n", CANFS_JOURNAL_MAGIC, journal->boot_id);
	int err = write_all(fd, line, (size_t)n);
	for (size_t i = 0; !err && i < journal->n; i++)
		err = write_entry(fd, &journal->entry[i]);
	if (!err && (fsync(fd) < 0 || fstat(fd, &st) < 0 || rename(fresh, path) < 0))
		err = -errno;
	if (err) {
		close(fd);
		return err;
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
	int err = write_all(journal->fd, line, len);
	if (!err && sync && fsync(journal->fd) < 0)
		err = -errno;
	if (err) {
		/* No torn line in the middle of the file. */
		if (ftruncate(journal->fd, (off_t)journal->bytes) < 0)
			return -errno;
		return err;
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
		int err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		close(fd);
		return err;
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
	int err = canfs_read_text("", path, CANFS_JOURNAL_BYTES_MAX, &text);
	if (err && err != -ENOENT) {
		snprintf(error, error_size, "%s: %s", path, strerror(-err));
		return err;
	}
	err = canfs_journal_parse(journal, text ? text : "", boot_id, error, error_size);
	free(text);
	return err;
}

int canfs_journal_open(struct canfs_journal **journal, const char *root, const char *state_dir,
	char *error, size_t error_size)
{
	struct canfs_journal *opened = NULL;
	char *dir = NULL;
	int lock_fd = -1;
	int err;

	error[0] = '\0';
	if (strlen(root) + strlen(state_dir) > PATH_MAX - sizeof("/journal.new"))
		return -ENAMETOOLONG;
	if (asprintf(&dir, "%s%s", root, state_dir) < 0)
		return -ENOMEM;
	err = mkdir(dir, 0755) < 0 && errno != EEXIST ? -errno : take_lock(dir, &lock_fd);
	if (err) {
		snprintf(error, error_size, "%s: %s%s", dir,
			err == -EBUSY ? "another agent holds the lock" : strerror(-err),
			err == -EACCES ? " (are you root?)" : "");
		goto out;
	}
	err = load(&opened, root, dir, error, error_size);
	if (err)
		goto out;
	opened->dir = dir;
	opened->lock_fd = lock_fd;
	dir = NULL;
	lock_fd = -1;
	err = rewrite(opened);
	if (err) {
		snprintf(error, error_size, "%s/journal: %s", opened->dir, strerror(-err));
		goto out;
	}
	*journal = opened;
	opened = NULL;
out:
	canfs_journal_close(opened);
	if (lock_fd >= 0)
		close(lock_fd);
	free(dir);
	return err;
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
		canfs_journal_drop(journal, &journal->entry[journal->n - 1]);
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
	return canfs_journal_entry((struct canfs_journal *)journal, knob, bdi);
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
		entry.source = (char *)mount->source; /* copied, not written to */
		entry.mountpoint = (char *)mount->mountpoint;
	}
	int err = canfs_journal_add(journal, &entry);
	if (err)
		return err;
	err = append(journal, line, canfs_journal_format_original(&entry, line), true);
	if (err)
		canfs_journal_drop(journal, &journal->entry[journal->n - 1]);
	return err;
}

int canfs_journal_wrote(
	struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi, uint64_t value)
{
	struct canfs_journal_entry *entry = canfs_journal_entry(journal, knob, bdi);
	char line[CANFS_JOURNAL_LINE_MAX];

	if (!entry)
		return -ENOENT;
	int err = append(
		journal, line, canfs_journal_format("wrote", knob, bdi, &value, line), false);
	if (err)
		return err;
	canfs_journal_note_wrote(entry, value);
	compact_if_long(journal);
	return 0;
}

int canfs_journal_yielded(struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi)
{
	struct canfs_journal_entry *entry = canfs_journal_entry(journal, knob, bdi);
	char line[CANFS_JOURNAL_LINE_MAX];

	if (!entry)
		return -ENOENT;
	int err = append(
		journal, line, canfs_journal_format("yielded", knob, bdi, NULL, line), false);
	if (!err)
		entry->yielded = true;
	return err;
}

int canfs_journal_restored(
	struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi)
{
	struct canfs_journal_entry *entry = canfs_journal_entry(journal, knob, bdi);
	char line[CANFS_JOURNAL_LINE_MAX];

	if (!entry)
		return -ENOENT;
	int err = append(
		journal, line, canfs_journal_format("restored", knob, bdi, NULL, line), false);
	if (!err)
		canfs_journal_drop(journal, entry);
	compact_if_long(journal);
	return err;
}
