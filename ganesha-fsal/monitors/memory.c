// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/monitors/monitors.h"
#include "ganesha-fsal/monitors/source.h"

#include <errno.h>
#include <string.h>

int canfs_parse_vmstat(const char *text, struct canfs_dirty_pages *pages)
{
	static const char *const names[] = { "nr_dirty ", "nr_writeback ", "nr_dirty_threshold " };
	uint64_t *values[] = { &pages->dirty, &pages->writeback, &pages->limit };
	unsigned int seen = 0;

	for (const char *line = text; *line != '\0'; line = canfs_next_line(line)) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			const char *cursor = line + strlen(names[i]);

			if (strncmp(line, names[i], strlen(names[i])) != 0)
				continue;
			if (!canfs_parse_number(&cursor, values[i]))
				return -EPROTO;
			seen |= 1u << i;
		}
	}
	return seen == 7 ? 0 : -EPROTO;
}

int canfs_memory_open(void **state, const struct canfs_monitor_setup *setup)
{
	*state = (void *)setup; /* it remembers nothing else */
	return 0;
}

void canfs_memory_close(void *state)
{
	(void)state;
}

int canfs_memory_sample(void *state, double elapsed_sec, double *utilization)
{
	const struct canfs_monitor_setup *setup = state;
	struct canfs_dirty_pages pages;
	char text[16384];
	int error;

	(void)elapsed_sec;
	error = canfs_read_source(setup->root, "/proc/vmstat", text, sizeof(text));
	if (error < 0)
		return error;
	error = canfs_parse_vmstat(text, &pages);
	if (error != 0)
		return error;
	if (pages.limit == 0)
		return -ENODATA;
	*utilization = ((double)pages.dirty + (double)pages.writeback) / (double)pages.limit;
	return 0;
}
