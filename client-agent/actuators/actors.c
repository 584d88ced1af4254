// SPDX-License-Identifier: LGPL-3.0-or-later
/* Opens and closes the actuators. Restores all knobs at the end, and those that a crashed agent has left changed. */
#include "client-agent/actuators/act.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

/* Longest drain before the knobs of a crashed agent are restored by force. */
static const unsigned int take_back_msec = 20000;

/* Sends part of the bytes on every NFS BDI, while the knobs of a crashed agent are restored. */
static void drain_all(void *data, uint64_t bytes)
{
	struct canfs_actors *actors = data;
	struct canfs_mounts *mounts = calloc(1, sizeof(*mounts));
	size_t index[CANFS_MOUNTS_MAX];
	size_t n;

	if (!mounts || canfs_mounts_read(actors->root, mounts))
		goto out;
	n = canfs_mounts_bdis(mounts, index);
	for (size_t i = 0; i < n; i++)
		canfs_accelerate(actors->accelerator, mounts->mount[index[i]].bdi, bytes / n, true);
out:
	free(mounts);
}

int canfs_act_take_back(struct canfs_actors *actors)
{
	struct canfs_changes changes = { 0 };
	int ret, others;

	if (!canfs_journal_count(actors->journal))
		return 0;
	canfs_log("journal: an agent exited without restoring; %zu knobs to restore",
		canfs_journal_count(actors->journal));
	ret = canfs_defer_restore_wait(actors->defer, take_back_msec,
		(uint64_t)(CANFS_PACE_BLIND_BYTES_PER_SEC / 10), drain_all, actors, &changes);
	canfs_act_log_changes(
		&actors->decisions, "restore", "restoring the original value", &changes);
	others = canfs_tuner_restore_all(actors->tuner, false, &changes);
	ret = ret ? ret : others;
	canfs_act_log_changes(
		&actors->decisions, "restore", "restoring the original value", &changes);
	canfs_tuner_forget_yielded(actors->tuner);
	if (ret)
		canfs_log("restore: %s; the journal keeps the remaining knobs", strerror(-ret));
	return ret;
}

int canfs_actors_open(struct canfs_actors *actors, const struct canfs_agent_config *config,
	const char *root, char *error, size_t error_size)
{
	int ret;

	*actors = (struct canfs_actors) { .root = root };
	*error = '\0';
	ret = canfs_journal_open(&actors->journal, root, config->state_dir, error, error_size);
	if (!ret)
		ret = canfs_tuner_new(&actors->tuner, root, actors->journal);
	if (!ret)
		ret = canfs_defer_new(&actors->defer, actors->tuner);
	if (!ret)
		ret = canfs_accelerator_new(&actors->accelerator, root);
	if (ret && !*error)
		snprintf(error, error_size, "%s: %s", config->state_dir, strerror(-ret));
	if (ret)
		canfs_actors_close(actors);
	return ret;
}

void canfs_actors_close(struct canfs_actors *actors)
{
	canfs_accelerator_free(actors->accelerator);
	canfs_defer_free(actors->defer);
	if (actors->tuner)
		canfs_tuner_forget_yielded(actors->tuner);
	canfs_tuner_free(actors->tuner);
	canfs_journal_close(actors->journal);
	*actors = (struct canfs_actors) { 0 };
}

int canfs_act_restore_all(struct canfs_actors *actors)
{
	struct canfs_changes changes = { 0 };
	int ret, forced;

	if (!actors->tuner)
		return 0;
	ret = canfs_tuner_restore_all(actors->tuner, false, &changes);
	canfs_act_log_changes(
		&actors->decisions, "restore", "restoring the original value", &changes);
	forced = canfs_defer_restore_force(actors->defer, &changes);
	canfs_act_log_changes(
		&actors->decisions, "restore", "restoring the original value", &changes);
	return ret ? ret : forced;
}
