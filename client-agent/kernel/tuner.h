/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Turning a knob so that it can be turned back:
 *
 *	read -- is it the original, or what we wrote last? --no--> yield: hands off from now on
 *	             | yes
 *	journal the original (once) -- journal the value -- write -- read back
 *
 * All knobs of the agent go through here; it is the only caller of canfs_knob_write(). However the
 * prices jump, a knob is turned away from its original at most so often a minute (all knobs together);
 * turning one back is always allowed.
 */
#ifndef CANFS_CLIENT_AGENT_KERNEL_TUNER_H
#define CANFS_CLIENT_AGENT_KERNEL_TUNER_H

#include "client-agent/kernel/journal.h"

/* One change, done or refused, for the log. */
struct canfs_change {
	enum canfs_knob knob;
	struct canfs_bdi bdi; /* 0:0 for the whole system */
	uint64_t old_value;
	uint64_t new_value; /* what was asked for; as read back if error is 0 */
	int error;          /* 0, or the -errno that canfs_knob_set() or _restore() returned */
};

#define CANFS_CHANGES_MAX 32

/* A report that one call fills; the caller empties it by n = 0. */
struct canfs_changes {
	size_t n;
	unsigned int dropped; /* changes beyond CANFS_CHANGES_MAX */
	struct canfs_change change[CANFS_CHANGES_MAX];
};

/* "dirty_bytes 0 -> 314572800", "read_ahead_kb of 0:41 128 -> 1024: Permission denied". */
void canfs_change_text(const struct canfs_change *change, char *buf, size_t size);

/* Why a change was not made, by its error; "" if it was. */
const char *canfs_tuner_strerror(int error);

struct canfs_tuner;

/*
 * The journal must outlive the tuner and may hold entries of a process that crashed: they are
 * taken over. 0, -ENOMEM.
 */
int canfs_tuner_new(struct canfs_tuner **tuner, const char *root, struct canfs_journal *journal);
void canfs_tuner_free(struct canfs_tuner *tuner); /* restores nothing; NULL allowed */

/*
 * Time goes on: call it on each tick. Up to changes_per_min changes are saved up. Before the first call
 * there is no limit.
 */
void canfs_tuner_tick(struct canfs_tuner *tuner, unsigned int changes_per_min, uint64_t now_usec);

struct canfs_journal *canfs_tuner_journal(struct canfs_tuner *tuner);
const char *canfs_tuner_root(const struct canfs_tuner *tuner);

/*
 * Sets a knob. mount names the BDI; NULL for a knob of the whole system. Returns 0, also if the
 * value is there already (then nothing is reported); -EPERM if someone else has changed it, now or
 * before: it is theirs; -ERANGE if value is outside the knob's bounds; -EDQUOT after too many changes
 * in a minute; -EROFS or -EACCES in a container; -ECANCELED if the journal cannot be written; else -errno. Every change, and every error but a
 * repeated -EPERM or -EDQUOT, is added to changes (may be NULL).
 */
int canfs_knob_set(struct canfs_tuner *tuner, enum canfs_knob knob, const struct canfs_mount *mount,
	uint64_t value, struct canfs_changes *changes);

/*
 * Puts the original back if the value is still ours, and forgets the knob. 0, also if we never
 * changed it; -EPERM if it is someone else's: left alone, and remembered as such; a BDI that is gone
 * (-ENOENT) is forgotten and no error. On any other -errno the journal keeps it.
 */
int canfs_knob_restore(struct canfs_tuner *tuner, enum canfs_knob knob, struct canfs_bdi bdi,
	struct canfs_changes *changes);

/* Did we change it, and is it still ours to put back? */
bool canfs_knob_is_ours(
	const struct canfs_tuner *tuner, enum canfs_knob knob, struct canfs_bdi bdi);

/*
 * Forgets the BDI knobs of mounts that are gone. A BDI that belongs to another mount now is not
 * touched. One that no mount here carries may live on (umount -l, another mount namespace, a mount
 * beyond CANFS_MOUNTS_MAX): if its knob is still as we wrote it, it is put back. Call it when mountinfo
 * has changed, before anything is set for the new mounts.
 */
void canfs_tuner_forget_gone(struct canfs_tuner *tuner, const struct canfs_mounts *mounts);

/* At the end: what is someone else's shall not keep the journal. */
void canfs_tuner_forget_yielded(struct canfs_tuner *tuner);

/*
 * Restores the knobs that hold writes, or all others, on whatever BDI, in the order of the table. Returns the first
 * error but -EPERM; goes on after it.
 */
int canfs_tuner_restore_all(
	struct canfs_tuner *tuner, bool hold_writes, struct canfs_changes *changes);

#endif
