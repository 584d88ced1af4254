// SPDX-License-Identifier: LGPL-3.0-or-later
/* The journal that a crash left: bounded, and every entry names a knob and a place. */
#include "tests/fuzz/text.h"

#include "client-agent/kernel/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), error[256];
	struct canfs_journal *journal;

	if (canfs_journal_parse(&journal, text, "boot", error, sizeof(error)) == 0) {
		FUZZ_CHECK(canfs_journal_count(journal) <= CANFS_JOURNAL_ENTRIES_MAX);
		for (size_t i = 0; i < canfs_journal_count(journal); i++) {
			const struct canfs_journal_entry *entry = canfs_journal_at(journal, i);
			FUZZ_CHECK(entry->knob < CANFS_KNOBS && entry->source);
			FUZZ_CHECK(canfs_journal_find(journal, entry->knob, entry->bdi) == entry);
		}
		canfs_journal_close(journal);
	}
	free(text);
	return 0;
}
