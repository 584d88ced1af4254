// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/tuner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct canfs_tuner {
	char *root;
	struct canfs_journal *journal;

	/*
	 * A token bucket of changes, full at the start. changes_per_min is 0 before the first tick.
	 */
	unsigned int changes_per_min;
	double changes;
	uint64_t ticked_usec;
	bool told_limit; /* the limit was reported since the bucket was last half full */
};

static const struct canfs_bdi whole_system = { 0, 0 };

static void report(struct canfs_changes *changes, const struct canfs_change *change)
{
	if (!changes)
		return;
	if (changes->n < CANFS_CHANGES_MAX)
		changes->change[changes->n++] = *change;
	else
		changes->dropped++;
}

const char *canfs_tuner_strerror(int error)
{
	if (error == -EPERM)
		return "changed by someone else, not touched";
	if (error == -EDQUOT)
		return "postponed, too many changes in this minute";
	if (error == -ECANCELED)
		return "not changed, the journal cannot be written";
	return error ? strerror(-error) : "";
}

void canfs_change_text(const struct canfs_change *change, char *buf, size_t size)
{
	const struct canfs_knob_info *info = canfs_knob_info(change->knob);
	char where[48] = "";

	if (info->per_bdi)
		snprintf(where, sizeof(where), " of %u:%u", change->bdi.major, change->bdi.minor);
	snprintf(buf, size, "%s%s %llu -> %llu%s%s", info->name, where,
		(unsigned long long)change->old_value, (unsigned long long)change->new_value,
		change->error ? ": " : "", canfs_tuner_strerror(change->error));
}

int canfs_tuner_new(struct canfs_tuner **tuner, const char *root, struct canfs_journal *journal)
{
	struct canfs_tuner *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->root = strdup(root);
	made->journal = journal;
	if (!made->root) {
		free(made);
		return -ENOMEM;
	}
	*tuner = made;
	return 0;
}

void canfs_tuner_free(struct canfs_tuner *tuner)
{
	if (!tuner)
		return;
	free(tuner->root);
	free(tuner);
}

void canfs_tuner_tick(struct canfs_tuner *tuner, unsigned int changes_per_min, uint64_t now_usec)
{
	if (!tuner->changes_per_min)
		tuner->changes = changes_per_min;
	else
		tuner->changes += changes_per_min * (double)(now_usec - tuner->ticked_usec) / 60e6;
	if (tuner->changes > changes_per_min)
		tuner->changes = changes_per_min;
	if (tuner->changes > changes_per_min / 2.0)
		tuner->told_limit = false;
	tuner->changes_per_min = changes_per_min;
	tuner->ticked_usec = now_usec;
}

struct canfs_journal *canfs_tuner_journal(struct canfs_tuner *tuner)
{
	return tuner->journal;
}

const char *canfs_tuner_root(const struct canfs_tuner *tuner)
{
	return tuner->root;
}

/* Reads the value of the knob that this one zeroes; 0 if there is none. */
static int read_pair(const struct canfs_tuner *tuner, enum canfs_knob knob, uint64_t *value)
{
	enum canfs_knob pair = canfs_knob_info(knob)->pair;

	*value = 0;
	return pair == knob ? 0 : canfs_knob_read(tuner->root, pair, whole_system, value);
}

/*
 * Returns true if the knob has its original value. If a *_bytes knob is 0, its ratio must match,
 * too.
 */
static bool is_original(
	const struct canfs_tuner *tuner, const struct canfs_journal_entry *entry, uint64_t value)
{
	uint64_t pair;

	if (value != entry->original)
		return false;
	if (value != 0 || canfs_knob_info(entry->knob)->pair == entry->knob)
		return true;
	return read_pair(tuner, entry->knob, &pair) == 0 && pair == entry->pair_original;
}

/*
 * Returns true if value is what we wrote. After a crash between the journal's line and the write,
 * the knob still has the value before.
 */
static bool is_written(const struct canfs_journal_entry *entry, uint64_t value)
{
	return entry->written && (value == entry->wrote || value == entry->before) &&
	       !(value == 0 && canfs_knob_info(entry->knob)->pair != entry->knob);
}

/*
 * Returns true if the entry is about this mount. BDI numbers are reused. The entry must have been
 * made for the mount, or the knob must still have our value. In the second case, another mount of
 * the same super block now represents the BDI; a new BDI would have the kernel's default.
 */
static bool is_about(
	const struct canfs_journal_entry *entry, const struct canfs_mount *mount, uint64_t value)
{
	return !mount ||
	       (entry->mount_id == mount->id && strcmp(entry->source, mount->source) == 0) ||
	       (!entry->yielded && is_written(entry, value));
}

/* Restores the original of entry. */
static int put_back(struct canfs_tuner *tuner, const struct canfs_journal_entry *entry)
{
	enum canfs_knob pair = canfs_knob_info(entry->knob)->pair;

	if (pair == entry->knob || entry->original != 0)
		return canfs_knob_write(tuner->root, entry->knob, entry->bdi, entry->original);
	if (entry->pair_original == 0) {
		/* The kernel zeroes the other knob only if this value changes, so change it. */
		int ret = canfs_knob_write(tuner->root, pair, whole_system, 1);
		if (ret)
			return ret;
	}
	return canfs_knob_write(tuner->root, pair, whole_system, entry->pair_original);
}

/*
 * The kernel may have rounded the value. Without a line in the journal, the rounded value would
 * look like someone else's. If the journal cannot be written, the change is undone and the result
 * is -ECANCELED.
 */
static int read_back(struct canfs_tuner *tuner, struct canfs_change *change)
{
	const struct canfs_journal_entry *entry =
		canfs_journal_find(tuner->journal, change->knob, change->bdi);
	uint64_t actual;
	int ret;

	if (canfs_knob_read(tuner->root, change->knob, change->bdi, &actual) ||
		actual == change->new_value)
		return 0;
	ret = canfs_journal_wrote(tuner->journal, change->knob, change->bdi, actual);
	if (!ret) {
		change->new_value = actual;
		return 0;
	}
	ret = change->old_value == entry->original
		      ? put_back(tuner, entry)
		      : canfs_knob_write(tuner->root, change->knob, change->bdi, change->old_value);
	return ret ? 0 : -ECANCELED;
}

/* Returns 0, -ECANCELED if the journal cannot be written, or -errno if the pair cannot be read. */
static int journal_change(struct canfs_tuner *tuner, const struct canfs_mount *mount, bool known,
	const struct canfs_change *change)
{
	uint64_t pair;
	int ret = 0;

	if (!known) {
		ret = read_pair(tuner, change->knob, &pair);
		if (ret)
			return ret;
		ret = canfs_journal_original(
			tuner->journal, change->knob, mount, change->old_value, pair);
	}
	if (!ret)
		ret = canfs_journal_wrote(
			tuner->journal, change->knob, change->bdi, change->new_value);
	return ret ? -ECANCELED : 0;
}

/* Journals, writes and reads back. Sets change->new_value to the final value. */
static int write_knob(struct canfs_tuner *tuner, const struct canfs_mount *mount, bool known,
	struct canfs_change *change)
{
	int ret = journal_change(tuner, mount, known, change);

	if (!ret)
		ret = canfs_knob_write(tuner->root, change->knob, change->bdi, change->new_value);
	if (!ret)
		ret = read_back(tuner, change);
	if (!ret)
		return 0;
	/* Nothing has changed. Record that in the journal. */
	if (known)
		canfs_journal_wrote(tuner->journal, change->knob, change->bdi, change->old_value);
	else
		canfs_journal_restored(tuner->journal, change->knob, change->bdi);
	return ret;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* A change towards the original is free. Every other change costs one token. */
static bool is_affordable(struct canfs_tuner *tuner, const struct canfs_journal_entry *entry,
	uint64_t from, uint64_t to)
{
	if (!tuner->changes_per_min ||
		(entry && distance(to, entry->original) < distance(from, entry->original)))
		return true;
	if (tuner->changes < 1)
		return false;
	tuner->changes--;
	return true;
}

int canfs_knob_set(struct canfs_tuner *tuner, enum canfs_knob knob, const struct canfs_mount *mount,
	uint64_t value, struct canfs_changes *changes)
{
	const struct canfs_knob_info *info = canfs_knob_info(knob);
	struct canfs_change change = { .knob = knob,
		.bdi = info->per_bdi && mount ? mount->bdi : whole_system,
		.new_value = value };
	const struct canfs_journal_entry *entry;
	bool known;

	if (info->per_bdi && !mount)
		return -EINVAL;
	mount = info->per_bdi ? mount : NULL;
	change.error = canfs_knob_read(tuner->root, knob, change.bdi, &change.old_value);
	if (change.error)
		goto out;
	entry = canfs_journal_find(tuner->journal, knob, change.bdi);
	known = entry && is_about(entry, mount, change.old_value);
	if (entry && !known)
		canfs_journal_restored(tuner->journal, knob, change.bdi);
	if (known && entry->yielded)
		return -EPERM;
	if (known && !is_original(tuner, entry, change.old_value) &&
		!is_written(entry, change.old_value)) {
		canfs_journal_yielded(tuner->journal, knob, change.bdi);
		change.error = -EPERM;
		goto out;
	}
	if (value == change.old_value)
		return 0;
	if (value < info->lowest || value > info->highest) {
		change.error = -ERANGE;
	} else if (!is_affordable(tuner, known ? entry : NULL, change.old_value, value)) {
		change.error = -EDQUOT;
		if (tuner->told_limit)
			return -EDQUOT;
		tuner->told_limit = true;
	} else {
		change.error = write_knob(tuner, mount, known, &change);
	}
out:
	report(changes, &change);
	return change.error;
}

int canfs_knob_restore(struct canfs_tuner *tuner, enum canfs_knob knob, struct canfs_bdi bdi,
	struct canfs_changes *changes)
{
	struct canfs_change change = { .knob = knob, .bdi = bdi };
	const struct canfs_journal_entry *entry = canfs_journal_find(tuner->journal, knob, bdi);

	if (!entry)
		return 0;
	if (entry->yielded)
		return -EPERM;
	change.new_value = entry->original;
	int ret = canfs_knob_read(tuner->root, knob, bdi, &change.old_value);
	if (ret == -ENOENT || (!ret && is_original(tuner, entry, change.old_value)))
		return canfs_journal_restored(tuner->journal, knob, bdi);
	if (!ret)
		ret = is_written(entry, change.old_value) ? put_back(tuner, entry) : -EPERM;
	change.error = ret;
	report(changes, &change);
	if (ret == -EPERM)
		canfs_journal_yielded(tuner->journal, knob, bdi);
	return ret ? ret : canfs_journal_restored(tuner->journal, knob, bdi);
}

bool canfs_knob_is_ours(const struct canfs_tuner *tuner, enum canfs_knob knob, struct canfs_bdi bdi)
{
	const struct canfs_journal_entry *entry = canfs_journal_find(tuner->journal, knob, bdi);

	return entry && entry->written && !entry->yielded;
}

/*
 * The owner of an entry's BDI: the same mount (or this cannot be determined now), another mount, or
 * no mount in the table.
 */
enum owner { OWNER_SAME, OWNER_OTHER, OWNER_NONE };

static enum owner owner_of(const struct canfs_tuner *tuner, const struct canfs_journal_entry *entry,
	const struct canfs_mounts *mounts)
{
	enum owner owner = OWNER_NONE;
	uint64_t value;

	for (size_t i = 0; i < mounts->n; i++) {
		if (!canfs_bdi_equal(mounts->mount[i].bdi, entry->bdi))
			continue;
		int ret = canfs_knob_read(tuner->root, entry->knob, entry->bdi, &value);
		if (ret == -ENOENT)
			return OWNER_OTHER;
		if (ret || is_about(entry, &mounts->mount[i], value))
			return OWNER_SAME;
		owner = OWNER_OTHER;
	}
	return owner;
}

void canfs_tuner_forget_gone(struct canfs_tuner *tuner, const struct canfs_mounts *mounts)
{
	for (size_t i = canfs_journal_count(tuner->journal); i-- > 0;) {
		const struct canfs_journal_entry *entry = canfs_journal_at(tuner->journal, i);
		if (!canfs_knob_info(entry->knob)->per_bdi)
			continue;
		switch (owner_of(tuner, entry, mounts)) {
		case OWNER_SAME:
			break;
		case OWNER_OTHER:
			canfs_journal_restored(tuner->journal, entry->knob, entry->bdi);
			break;
		case OWNER_NONE:
			if (canfs_knob_restore(tuner, entry->knob, entry->bdi, NULL) == -EPERM)
				canfs_journal_restored(tuner->journal, entry->knob, entry->bdi);
			break;
		}
	}
}

void canfs_tuner_forget_yielded(struct canfs_tuner *tuner)
{
	for (size_t i = canfs_journal_count(tuner->journal); i-- > 0;) {
		const struct canfs_journal_entry *entry = canfs_journal_at(tuner->journal, i);
		if (entry->yielded)
			canfs_journal_restored(tuner->journal, entry->knob, entry->bdi);
	}
}

static int restore_each(
	struct canfs_tuner *tuner, enum canfs_knob knob, struct canfs_changes *changes)
{
	int first = 0;

	for (size_t i = canfs_journal_count(tuner->journal); i-- > 0;) {
		const struct canfs_journal_entry *entry = canfs_journal_at(tuner->journal, i);
		if (entry->knob != knob)
			continue;
		int ret = canfs_knob_restore(tuner, knob, entry->bdi, changes);
		if (ret && ret != -EPERM && !first)
			first = ret;
	}
	return first;
}

int canfs_tuner_restore_all(
	struct canfs_tuner *tuner, bool hold_writes, struct canfs_changes *changes)
{
	int first = 0;

	for (enum canfs_knob knob = 0; knob < CANFS_KNOBS; knob++) {
		int ret = 0;

		if (canfs_knob_info(knob)->holds_writes == hold_writes)
			ret = restore_each(tuner, knob, changes);
		if (ret && !first)
			first = ret;
	}
	return first;
}
