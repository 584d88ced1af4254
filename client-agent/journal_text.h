/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The journal's entries and their lines; internal to journal.c and journal_text.c. */
#ifndef CANFS_AGENT_JOURNAL_TEXT_H
#define CANFS_AGENT_JOURNAL_TEXT_H

#include "client-agent/journal.h"

#define CANFS_JOURNAL_MAGIC "canfs-journal 1"
/* Two paths of which every byte may be escaped to four, and the numbers. */
#define CANFS_JOURNAL_LINE_MAX (8 * CANFS_MOUNT_PATH_MAX + 256)

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

/* Each writes one line with its newline into buf and returns its length. */
size_t canfs_journal_format_original(
	const struct canfs_journal_entry *entry, char buf[CANFS_JOURNAL_LINE_MAX]);
size_t canfs_journal_format(const char *verb, enum canfs_knob knob, struct canfs_bdi bdi,
	const uint64_t *value, char buf[CANFS_JOURNAL_LINE_MAX]);

/* The entries' part of journal.h's functions, without the file. */
struct canfs_journal_entry *canfs_journal_entry(
	struct canfs_journal *journal, enum canfs_knob knob, struct canfs_bdi bdi);
int canfs_journal_add(struct canfs_journal *journal, const struct canfs_journal_entry *entry);
void canfs_journal_note_wrote(struct canfs_journal_entry *entry, uint64_t value);
void canfs_journal_drop(struct canfs_journal *journal, struct canfs_journal_entry *entry);

#endif
