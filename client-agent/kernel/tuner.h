/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Turns a knob in a way that can be undone:
 *
 *	read -- is it the original, or what we wrote last? --no--> yield: hands off from now on
 *	             | yes
 *	journal the original (once) -- journal the value -- write -- read back
 *
 * The agent turns all knobs here. Only the tuner calls canfs_knob_write(). However the prices jump,
 * the number of changes away from an original is limited per minute, for all knobs together. A
 * change back towards the original is always allowed.
 */
#ifndef CANFS_CLIENT_AGENT_KERNEL_TUNER_H
#define CANFS_CLIENT_AGENT_KERNEL_TUNER_H

#include "client-agent/kernel/journal.h"

/* One change, done or refused, for the log. */
struct canfs_change {
	enum canfs_knob knob;
	struct canfs_bdi bdi; /* 0:0 for a system-wide knob */
	uint64_t old_value;
	uint64_t new_value; /* the requested value; the value read back if error is 0 */
	int error;          /* 0, or the -errno that canfs_knob_set() or _restore() returned */
};

#define CANFS_CHANGES_MAX 32

/* A report that one call fills. The caller empties it by setting n to 0. */
struct canfs_changes {
	size_t n;
	unsigned int dropped; /* changes beyond CANFS_CHANGES_MAX */
	struct canfs_change change[CANFS_CHANGES_MAX];
};

/* "dirty_bytes 0 -> 314572800", "read_ahead_kb of 0:41 128 -> 1024: Permission denied". */
void canfs_change_text(const struct canfs_change *change, char *buf, size_t size);

/* Why a change with this error was not made. "" if error is 0. */
const char *canfs_tuner_strerror(int error);

struct canfs_tuner;

/*
 * The journal must outlive the tuner. Entries of a crashed process in the journal are taken over.
 * Returns 0 or -ENOMEM.
 */
int canfs_tuner_new(struct canfs_tuner **tuner, const char *root, struct canfs_journal *journal);
void canfs_tuner_free(struct canfs_tuner *tuner); /* restores nothing; NULL allowed */

/*
 * Advances the time. Call this on each tick. Up to changes_per_min unused changes accumulate.
 * Before the first call there is no limit.
 */
void canfs_tuner_tick(struct canfs_tuner *tuner, unsigned int changes_per_min, uint64_t now_usec);

struct canfs_journal *canfs_tuner_journal(struct canfs_tuner *tuner);
const char *canfs_tuner_root(const struct canfs_tuner *tuner);

/*
 * Sets a knob. mount names the BDI; NULL for a system-wide knob. Returns 0, also if the knob
 * already has the value (then nothing is reported), or
 * - -EPERM if someone else has changed the knob, now or before; the knob is then theirs,
 * - -ERANGE if value is outside the knob's bounds,
 * - -EDQUOT after too many changes in a minute,
 * - -EROFS or -EACCES in a container,
 * - -ECANCELED if the journal cannot be written,
 * - -EINVAL if the knob is per BDI and mount is NULL,
 * - another -errno.
 *
 * Every change and every error is added to changes, which may be NULL. Repeated -EPERM and -EDQUOT,
 * and -EINVAL for a missing mount, are not added.
 */
int canfs_knob_set(struct canfs_tuner *tuner, enum canfs_knob knob, const struct canfs_mount *mount,
	uint64_t value, struct canfs_changes *changes);

/*
 * Restores the original if the value is still ours, and forgets the knob. Returns 0, also if we
 * never changed the knob. Returns -EPERM if someone else has changed the knob, leaves it alone and
 * records that. A BDI that is gone (-ENOENT) is forgotten without an error. On any other -errno the
 * journal keeps the entry.
 */
int canfs_knob_restore(struct canfs_tuner *tuner, enum canfs_knob knob, struct canfs_bdi bdi,
	struct canfs_changes *changes);

/* Returns true if we changed the knob and must still restore it. */
bool canfs_knob_is_ours(
	const struct canfs_tuner *tuner, enum canfs_knob knob, struct canfs_bdi bdi);

/*
 * Forgets the BDI knobs of mounts that are gone. A BDI that now belongs to another mount is not
 * touched.
 *
 * A BDI without a mount here may live on: after umount -l, in another mount namespace, or for a
 * mount beyond CANFS_MOUNTS_MAX. Its knob is restored if the value is still ours.
 *
 * Call this when mountinfo has changed, before anything is set for the new mounts.
 */
void canfs_tuner_forget_gone(struct canfs_tuner *tuner, const struct canfs_mounts *mounts);

/* Call this at the end: knobs that someone else has changed must not keep the journal alive. */
void canfs_tuner_forget_yielded(struct canfs_tuner *tuner);

/*
 * Restores the knobs that hold writes, or all others, on every BDI, in the order of the table.
 * Continues after an error. Returns 0 or the first error other than -EPERM.
 */
int canfs_tuner_restore_all(
	struct canfs_tuner *tuner, bool hold_writes, struct canfs_changes *changes);

#endif
