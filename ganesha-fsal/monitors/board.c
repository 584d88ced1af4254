// SPDX-License-Identifier: LGPL-3.0-or-later
/* Exports come and go. Of those on the same disks one has the monitors, the others look at its. */
#include "ganesha-fsal/monitors/devices.h"
#include "ganesha-fsal/monitors/sampler_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "pricing/price.h"

static bool have_same_queues(
	const struct canfs_disk_options *one, const struct canfs_disk_options *other)
{
	return one->read_queue == other->read_queue && one->write_queue == other->write_queue;
}

static struct canfs_board *find_watcher(const struct canfs_board *board)
{
	struct canfs_board *other;

	LIST_FOREACH (other, &board->sampler->boards, link) {
		if (other->watched_by == NULL && other->device == board->device &&
			have_same_queues(&other->own, &board->own))
			return other;
	}
	return NULL;
}

/* Whoever it watched for: the first of them takes over, and watches for the rest. */
static void hand_over(struct canfs_board *board)
{
	struct canfs_board *other, *heir = NULL;

	LIST_FOREACH (other, &board->sampler->boards, link) {
		if (other->watched_by != board)
			continue;
		other->watched_by = heir;
		if (heir == NULL)
			heir = other;
	}
	if (heir == NULL)
		return;
	memcpy(heir->monitors, board->monitors, sizeof(heir->monitors));
	memset(board->monitors, 0, sizeof(board->monitors));
	for (int i = 0; i < CANFS_RESOURCES; i++)
		heir->monitors[i].name = heir->name;
}

/* Both under the mutex. */
static void enter(struct canfs_board *board)
{
	struct canfs_sampler *sampler = board->sampler;

	board->watched_by = find_watcher(board);
	if (board->watched_by == NULL) {
		canfs_sampler_open_monitors(board->monitors, sampler, board);
		LIST_INSERT_HEAD(&sampler->boards, board, link);
	} else {
		LIST_INSERT_AFTER(board->watched_by, board, link);
	}
	canfs_board_enter_market(board);
}

static void leave(struct canfs_board *board)
{
	LIST_REMOVE(board, link);
	hand_over(board);
	canfs_sampler_close_monitors(board->monitors);
}

static void free_board(struct canfs_board *board)
{
	free(board->name);
	free(board->path);
	free(board);
}

static bool are_possible(const struct canfs_disk_options *own)
{
	return own->k == 0 || canfs_is_within(own->k, CANFS_K_MIN, CANFS_K_MAX);
}

int canfs_board_open(struct canfs_board **board, struct canfs_sampler *sampler, const char *path,
	dev_t device, const struct canfs_disk_options *own)
{
	struct canfs_monitor_setup setup;
	char resolved[PATH_MAX];
	struct canfs_board *new;

	if (own != NULL && !are_possible(own))
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (new == NULL)
		return -ENOMEM;
	new->sampler = sampler;
	if (own != NULL)
		new->own = *own;
	new->device = device;
	new->name = strdup(path);
	if (canfs_is_anonymous(device)) {
		/* Before the mutex, and once: this may hang, and others must not wait for it. */
		canfs_sampler_setup(sampler, &setup);
		canfs_resolve_path(setup.root, path, resolved);
		path = resolved;
	}
	new->path = strdup(path);
	if (new->name == NULL || new->path == NULL) {
		free_board(new);
		return -ENOMEM;
	}
	pthread_mutex_lock(&sampler->mutex);
	enter(new);
	pthread_mutex_unlock(&sampler->mutex);
	*board = new;
	return 0;
}

int canfs_board_change(
	struct canfs_board *board, const struct canfs_disk_options *own, uint64_t now_usec)
{
	struct canfs_sampler *sampler = board->sampler;
	bool same_monitor, changed;

	if (!are_possible(own))
		return -EINVAL;
	pthread_mutex_lock(&sampler->mutex);
	same_monitor = have_same_queues(&board->own, own);
	changed = !same_monitor || board->own.k != own->k;
	if (!same_monitor)
		leave(board);
	board->own = *own;
	if (!same_monitor) {
		enter(board);
		canfs_sampler_renew_monitors(sampler, now_usec);
	}
	if (changed)
		canfs_sampler_hurry(sampler);
	pthread_mutex_unlock(&sampler->mutex);
	return changed;
}

void canfs_board_close(struct canfs_board *board)
{
	struct canfs_sampler *sampler;

	if (board == NULL)
		return;
	sampler = board->sampler;
	if (sampler != NULL) {
		pthread_mutex_lock(&sampler->mutex);
		leave(board);
		pthread_mutex_unlock(&sampler->mutex);
	} else {
		canfs_sampler_close_monitors(board->monitors);
	}
	free_board(board);
}
