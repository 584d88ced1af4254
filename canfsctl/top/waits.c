// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/top/waits.h"

const struct canfs_wait_word canfs_wait_causes[] = {
	{ "write_back", "write-back" },
	{ "sync", "commits" },
	{ "read", "reads" },
	{ "read_ahead", "read-ahead" },
	{ 0 },
};

const struct canfs_wait_word canfs_wait_operations[] = {
	{ "read", "reads" },
	{ "write", "writes" },
	{ "commit", "commits" },
	{ 0 },
};

const char *canfs_wait_most(const struct canfs_wait_word *words, const json_t *object)
{
	const char *found = NULL;
	double most = 0;

	for (; words->name; words++) {
		double sec = json_number_value(json_object_get(object, words->name));

		if (sec > most) {
			most = sec;
			found = words->words;
		}
	}
	return found;
}
