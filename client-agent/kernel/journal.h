/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The journal (STATE_DIR/journal) records what the agent has changed, so that a later process can
 * restore it. Each line is one fact, appended before the fact becomes true:
 *
 *	canfs-journal 1 BOOT_ID
 *	original KNOB MAJOR:MINOR VALUE PAIR_VALUE MOUNT_ID SOURCE MOUNTPOINT
 *	wrote KNOB MAJOR:MINOR VALUE
 *	yielded KNOB MAJOR:MINOR            (someone else has changed it: hands off)
 *	restored KNOB MAJOR:MINOR           (forget it)
 *
 * A system-wide knob has 0:0 as its BDI and "0 - -" as its mount. Paths are escaped as in
 * mountinfo. An original is fsynced before its knob is first written. A torn last line is left by a
 * crash and ignored. The first other bad line is reported, and all bad lines are skipped. A journal
 * of another boot is dropped, because a reboot resets the knobs. A journal that has grown is
 * rewritten and renamed into place.
 *
 * Knobs can be restored even if the journal cannot be written. Only turning a knob needs a writable
 * journal. The lines "restored" and "yielded" may be written later.
 *
 * STATE_DIR/lock (flock) keeps a second agent out. If the lock file cannot be created at the start,
 * it is created before the first line is written.
 */
#ifndef CANFS_CLIENT_AGENT_KERNEL_JOURNAL_H
#define CANFS_CLIENT_AGENT_KERNEL_JOURNAL_H

#include "client-agent/kernel/knob.h"

#define CANFS_JOURNAL_ENTRIES_MAX (4 + 3 * CANFS_MOUNTS_MAX)
#define CANFS_JOURNAL_BYTES_MAX   (8 << 20) /* a longer file is not ours */

struct canfs_journal_entry {
	enum canfs_knob knob;
	struct canfs_bdi bdi; /* 0:0 for a system-wide knob */
	uint64_t original;
	uint64_t pair_original; /* of the knob's pair; 0 if it has none */
	uint64_t wrote;         /* the value that we wrote last, or were about to write */
	uint64_t before;        /* the value before that write */
	bool written;           /* a "wrote" line was seen */
	bool yielded;
	int mount_id; /* the mount that had the BDI; BDI numbers are reused */
	char *source;
	char *mountpoint;
};

struct canfs_journal;

/*
 * Creates state_dir if necessary, takes the lock if its file can be created, and loads the journal.
 * root is prepended to /proc and to state_dir.
 *
 * Returns 0, -EBUSY if another agent runs, -EFBIG or -EPROTO if the file is not our journal (it is
 * left untouched), or another -errno. error is "" or one line. If 0 is returned, that line is a
 * warning about a skipped line of the journal.
 */
int canfs_journal_open(struct canfs_journal **journal, const char *root, const char *state_dir,
	char *error, size_t error_size);

/* Releases the lock. Removes the file if no entry is left. journal may be NULL. */
void canfs_journal_close(struct canfs_journal *journal);

/*
 * Entries in the order of their first change. Pointers are valid until the next call that changes
 * the entries.
 */
size_t canfs_journal_count(const struct canfs_journal *journal);
const struct canfs_journal_entry *canfs_journal_at(const struct canfs_journal *journal, size_t i);
const struct canfs_journal_entry *canfs_journal_find(
	const struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi);

/*
 * If canfs_journal_original() or canfs_journal_wrote() returns 0, its line is in the file. If
 * either fails, do not write the knob. Both return 0 or -errno: -ENOSPC if there are
 * CANFS_JOURNAL_ENTRIES_MAX entries, -EEXIST for a second original of a knob, -ENOENT for "wrote"
 * of an unknown knob. The other two return 0, or -ENOENT if the knob is unknown. mount is NULL for
 * a system-wide knob.
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
 * Parses text into a journal in memory, without a file. Public for the tests. Returns 0, -EPROTO if
 * the first line is not a journal's, or -ENOMEM. error is as above. Free the journal with
 * canfs_journal_close().
 */
int canfs_journal_parse(struct canfs_journal **journal, const char *text, const char *boot_id,
	char *error, size_t error_size);

#endif
