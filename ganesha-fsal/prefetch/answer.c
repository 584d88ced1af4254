// SPDX-License-Identifier: LGPL-3.0-or-later
/* Who answers a read that has waited. */
#include "ganesha-fsal/prefetch/device.h"

#define PAGE_BYTES ((uint64_t)4096)

/* By mincore(2): cachestat(2) counts pages that were to be read and could not. */
static bool is_there(const struct canfs_answer *answer)
{
	struct canfs_local_file *file = answer->file;
	uint64_t end = answer->offset + answer->bytes, bytes;
	bool there = true;

	for (uint64_t at = answer->offset & ~(PAGE_BYTES - 1); at < end && there; at += bytes) {
		bytes = end - at < CANFS_RESIDENT_BYTES_MAX ? end - at : CANFS_RESIDENT_BYTES_MAX;
		there = canfs_is_resident_by_mincore(file->fd, at, bytes, file->bytes, &file->map);
	}
	return there;
}

static void run(struct canfs_job *job)
{
	struct canfs_answer *answer = (struct canfs_answer *)job;

	canfs_local_put(answer->file);
	answer->run(answer);
}

static void look(struct canfs_job *job)
{
	struct canfs_answer *answer = (struct canfs_answer *)job;
	struct canfs_tree *tree = answer->file->tree;

	answer->job.run = run;
	if (canfs_tree_is_draining(tree) || is_there(answer))
		run(job);
	else
		canfs_crew_submit(canfs_tree_device(tree)->late_crew, job);
}

void canfs_prefetch_submit(struct canfs_answer *answer)
{
	answer->job.run = look;
	canfs_crew_submit(canfs_tree_device(answer->file->tree)->crew, &answer->job);
}
