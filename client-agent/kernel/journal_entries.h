/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The entries of the journal and their lines (journal.h). Pure: no file, no I/O. */
#ifndef CANFS_CLIENT_AGENT_KERNEL_JOURNAL_ENTRIES_H
#define CANFS_CLIENT_AGENT_KERNEL_JOURNAL_ENTRIES_H

#include "client-agent/kernel/journal.h"

/* Two paths, in which each byte may be escaped to four, and the numbers. */
#define CANFS_JOURNAL_LINE_MAX (8 * CANFS_MOUNT_PATH_MAX + 256)

struct canfs_journal_entries {
	size_t n;
	struct canfs_journal_entry entry[CANFS_JOURNAL_ENTRIES_MAX];
};

/* Returns NULL if there is no such entry. */
struct canfs_journal_entry *canfs_entries_find(
	const struct canfs_journal_entries *entries, enum canfs_knob knob, struct canfs_bdi bdi);

/* Appends a copy of entry. Returns 0, -EEXIST, -ENOSPC or -ENOMEM. */
int canfs_entries_add(
	struct canfs_journal_entries *entries, const struct canfs_journal_entry *entry);
void canfs_entries_drop(struct canfs_journal_entries *entries, struct canfs_journal_entry *entry);

void canfs_entry_wrote(struct canfs_journal_entry *entry, uint64_t value);

/* Each writes one line with its newline into buf and returns its length. value may be NULL. */
size_t canfs_format_original(
	const struct canfs_journal_entry *entry, char buf[CANFS_JOURNAL_LINE_MAX]);
size_t canfs_format_change(const char *verb, enum canfs_knob knob, struct canfs_bdi bdi,
	const uint64_t *value, char buf[CANFS_JOURNAL_LINE_MAX]);

/*
 * Parses the lines after the first one. Modifies text. Reports the first bad line in error. Returns
 * 0 or -ENOMEM.
 */
int canfs_entries_parse(
	struct canfs_journal_entries *entries, char *text, char *error, size_t error_size);

#endif
