// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/journal_entries.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/text.h"
#include "common/unescape.h"

#define WORDS_MAX 8

/* Escapes a path as mountinfo does, so that it is one word. "-" stands for no path. */
static void escape(const char *path, char *buf)
{
	if (!path || !*path)
		path = "-";
	for (; *path; path++) {
		if (strchr(" \t\n\\#", *path))
			buf += sprintf(buf, "\\%03o", (unsigned char)*path);
		else
			*buf++ = *path;
	}
	*buf = '\0';
}

size_t canfs_format_original(
	const struct canfs_journal_entry *entry, char buf[CANFS_JOURNAL_LINE_MAX])
{
	char source[4 * CANFS_MOUNT_PATH_MAX], mountpoint[4 * CANFS_MOUNT_PATH_MAX];

	escape(entry->source, source);
	escape(entry->mountpoint, mountpoint);
	int n = snprintf(buf, CANFS_JOURNAL_LINE_MAX, "original %s %u:%u %llu %llu %d %s %s\n",
		canfs_knob_info(entry->knob)->name, entry->bdi.major, entry->bdi.minor,
		(unsigned long long)entry->original, (unsigned long long)entry->pair_original,
		entry->mount_id, source, mountpoint);
	return (size_t)n;
}

size_t canfs_format_change(const char *verb, enum canfs_knob knob, struct canfs_bdi bdi,
	const uint64_t *value, char buf[CANFS_JOURNAL_LINE_MAX])
{
	int n = snprintf(buf, CANFS_JOURNAL_LINE_MAX, "%s %s %u:%u", verb,
		canfs_knob_info(knob)->name, bdi.major, bdi.minor);

	if (value)
		n += sprintf(buf + n, " %llu", (unsigned long long)*value);
	return (size_t)(n + sprintf(buf + n, "\n"));
}

struct canfs_journal_entry *canfs_entries_find(
	const struct canfs_journal_entries *entries, enum canfs_knob knob, struct canfs_bdi bdi)
{
	for (size_t i = 0; i < entries->n; i++) {
		const struct canfs_journal_entry *entry = &entries->entry[i];

		/*
		 * The caller may modify its own entries. The cast avoids a second copy of this
		 * loop.
		 */
		if (entry->knob == knob && canfs_bdi_equal(entry->bdi, bdi))
			return (struct canfs_journal_entry *)entry;
	}
	return NULL;
}

int canfs_entries_add(
	struct canfs_journal_entries *entries, const struct canfs_journal_entry *entry)
{
	struct canfs_journal_entry copy = *entry;

	if (canfs_entries_find(entries, entry->knob, entry->bdi))
		return -EEXIST;
	if (entries->n == CANFS_JOURNAL_ENTRIES_MAX)
		return -ENOSPC;
	copy.source = entry->source ? strdup(entry->source) : NULL;
	copy.mountpoint = entry->mountpoint ? strdup(entry->mountpoint) : NULL;
	if ((entry->source && !copy.source) || (entry->mountpoint && !copy.mountpoint)) {
		free(copy.source);
		free(copy.mountpoint);
		return -ENOMEM;
	}
	entries->entry[entries->n++] = copy;
	return 0;
}

void canfs_entry_wrote(struct canfs_journal_entry *entry, uint64_t value)
{
	entry->before = entry->written ? entry->wrote : entry->original;
	entry->wrote = value;
	entry->written = true;
}

void canfs_entries_drop(struct canfs_journal_entries *entries, struct canfs_journal_entry *entry)
{
	size_t i = (size_t)(entry - entries->entry);

	free(entry->source);
	free(entry->mountpoint);
	memmove(entry, entry + 1, (entries->n - i - 1) * sizeof(*entry));
	entries->n--;
}

static int word_number(const char *word, uint64_t max, uint64_t *value)
{
	return canfs_parse_u64(&word, value) || *word || *value > max ? -EPROTO : 0;
}

static int word_bdi(const char *word, struct canfs_bdi *bdi)
{
	uint64_t major, minor;

	if (canfs_parse_u64(&word, &major) || *word++ != ':' || canfs_parse_u64(&word, &minor))
		return -EPROTO;
	if (*word || major > UINT_MAX || minor > UINT_MAX)
		return -EPROTO;
	*bdi = (struct canfs_bdi) { (unsigned int)major, (unsigned int)minor };
	return 0;
}

/*
 * Parses the words of an "original" line after KNOB and MAJOR:MINOR: VALUE PAIR ID SOURCE
 * MOUNTPOINT.
 */
static int parse_original(
	struct canfs_journal_entries *entries, struct canfs_journal_entry *entry, char *words[])
{
	char source[CANFS_MOUNT_PATH_MAX], mountpoint[CANFS_MOUNT_PATH_MAX];
	uint64_t id;

	if (word_number(words[0], UINT64_MAX, &entry->original) ||
		word_number(words[1], UINT64_MAX, &entry->pair_original) ||
		word_number(words[2], INT_MAX, &id))
		return -EPROTO;
	if (canfs_unescape(words[3], strlen(words[3]), source, sizeof(source)) ||
		canfs_unescape(words[4], strlen(words[4]), mountpoint, sizeof(mountpoint)))
		return -EPROTO;
	entry->mount_id = (int)id;
	entry->source = source;
	entry->mountpoint = mountpoint;
	return canfs_entries_add(entries, entry);
}

/* Parses one line. Modifies the line. */
static int parse_line(struct canfs_journal_entries *entries, char *line)
{
	char *words[WORDS_MAX + 1], *save = NULL;
	struct canfs_journal_entry fresh = { 0 };
	int n = 0;

	for (char *w = strtok_r(line, " ", &save); w && n <= WORDS_MAX;
		w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	if (n < 3 || canfs_knob_by_name(words[1], &fresh.knob) || word_bdi(words[2], &fresh.bdi))
		return -EPROTO;
	if (!canfs_knob_info(fresh.knob)->per_bdi && (fresh.bdi.major || fresh.bdi.minor))
		return -EPROTO;
	if (strcmp(words[0], "original") == 0)
		return n == 8 ? parse_original(entries, &fresh, words + 3) : -EPROTO;

	struct canfs_journal_entry *entry = canfs_entries_find(entries, fresh.knob, fresh.bdi);
	uint64_t value;
	if (!entry)
		return -EPROTO;
	if (strcmp(words[0], "wrote") == 0 && n == 4) {
		if (word_number(words[3], UINT64_MAX, &value))
			return -EPROTO;
		canfs_entry_wrote(entry, value);
	} else if (strcmp(words[0], "yielded") == 0 && n == 3) {
		entry->yielded = true;
	} else if (strcmp(words[0], "restored") == 0 && n == 3) {
		canfs_entries_drop(entries, entry);
	} else {
		return -EPROTO;
	}
	return 0;
}

int canfs_entries_parse(
	struct canfs_journal_entries *entries, char *text, char *error, size_t error_size)
{
	char *end;

	/* Parse only whole lines: text after the last newline was torn by a crash. */
	for (int number = 2; (end = strchr(text, '\n')); text = end + 1, number++) {
		char shown[48];
		*end = '\0';
		snprintf(shown, sizeof(shown), "%s", text);
		int ret = parse_line(entries, text);
		if (ret == -ENOMEM)
			return ret;
		if (ret && !error[0])
			snprintf(error, error_size, "journal:%d: \"%s\": unknown line, skipped",
				number, shown);
	}
	return 0;
}
