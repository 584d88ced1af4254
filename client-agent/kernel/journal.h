/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the agent has changed, on file (STATE_DIR/journal), so that a later process can take it
 * back. One line per fact, appended before the fact:
 *
 *	canfs-journal 1 BOOT_ID
 *	original KNOB MAJOR:MINOR VALUE PAIR_VALUE MOUNT_ID SOURCE MOUNTPOINT
 *	wrote KNOB MAJOR:MINOR VALUE
 *	yielded KNOB MAJOR:MINOR            (someone else has changed it: hands off)
 *	restored KNOB MAJOR:MINOR           (forget it)
 *
 * A knob of the whole system has 0:0 0 - -; paths are escaped as in mountinfo. An original is
 * fsynced before the knob is first written. A torn last line is what a crash leaves and is
 * ignored; any other bad line is named once and skipped. A journal of another boot is dropped:
 * its knobs are gone. When the file has grown it is rewritten and renamed into place.
 *
 * Knobs can be restored even if the journal cannot be written: that is an error only when a knob is to be
 * turned. The lines that a knob was restored or yielded may be written later.
 *
 * STATE_DIR/lock (flock) keeps a second agent out. If it cannot be created at the start, it is created before
 * the first line.
 */
#ifndef CANFS_CLIENT_AGENT_KERNEL_JOURNAL_H
#define CANFS_CLIENT_AGENT_KERNEL_JOURNAL_H

#include "client-agent/kernel/knob.h"

#define CANFS_JOURNAL_ENTRIES_MAX (4 + 3 * CANFS_MOUNTS_MAX)
#define CANFS_JOURNAL_BYTES_MAX   (8 << 20) /* a longer file is not ours */

struct canfs_journal_entry {
	enum canfs_knob knob;
	struct canfs_bdi bdi; /* 0:0 for the whole system */
	uint64_t original;
	uint64_t pair_original; /* of the knob's pair; 0 if it has none */
	uint64_t wrote;         /* what we wrote last, or were about to */
	uint64_t before;        /* what it was before that */
	bool written;           /* a "wrote" line was seen */
	bool yielded;
	int mount_id; /* which mount the BDI belonged to; its number may be used again */
	char *source;
	char *mountpoint;
};

struct canfs_journal;

/*
 * Creates state_dir if necessary, takes the lock if it can be created, loads the journal. 0; -EBUSY (another agent runs);
 * -EFBIG, -EPROTO (not a journal of ours: left alone); else -errno. error: "" or one line, which on
 * 0 is a warning about a line that was skipped. root is for /proc and for state_dir.
 */
int canfs_journal_open(struct canfs_journal **journal, const char *root, const char *state_dir,
	char *error, size_t error_size);

/* Unlocks. If no entry is left the file is removed. NULL allowed. */
void canfs_journal_close(struct canfs_journal *journal);

/* Entries in the order of their first change. Valid until the next call that changes them. */
size_t canfs_journal_count(const struct canfs_journal *journal);
const struct canfs_journal_entry *canfs_journal_at(const struct canfs_journal *journal, size_t i);
const struct canfs_journal_entry *canfs_journal_find(
	const struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi);

/*
 * When the first two return 0, their line is in the file. -ENOSPC (CANFS_JOURNAL_ENTRIES_MAX), -EEXIST (original
 * of a known knob), -ENOENT (the others, for an unknown knob), else -errno: then do not write the knob. The last
 * two return 0 or -ENOENT. mount: NULL for the whole system.
 */
int canfs_journal_original(struct canfs_journal *journal, enum canfs_knob knob,
	const struct canfs_mount *mount, uint64_t value, uint64_t pair_value);
int canfs_journal_wrote(
	struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi, uint64_t value);
int canfs_journal_yielded(
	struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi);
int canfs_journal_restored(
	struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi);

/*
 * The parser, apart for the tests: a journal in memory without a file. 0; -EPROTO if the first
 * line is not a journal's; -ENOMEM. *error as above. Free with canfs_journal_close().
 */
int canfs_journal_parse(struct canfs_journal **journal, const char *text, const char *boot_id,
	char *error, size_t error_size);

#endif
