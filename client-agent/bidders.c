// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/bidders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client-agent/actuators/act.h"
#include "common/log.h"
#include "common/notify.h"
#include "common/clock.h"

static const char *mode_word(const struct canfs_bidder *bidder)
{
	return bidder->terms.mode == CANFS_ENFORCE ? "enforcing" : "observing";
}

static struct canfs_bidder *take_bidder(struct canfs_bidders *bidders,
	const struct canfs_agent_config *config, const struct canfs_mount *mount)
{
	for (size_t i = 0; i < bidders->n; i++) {
		struct canfs_bidder *bidder = bidders->bidder[i];

		if (canfs_bdi_equal(bidder->mount.bdi, mount->bdi) &&
			!strcmp(bidder->mount.source, mount->source)) {
			enum canfs_mode mode = bidder->terms.mode;

			bidders->bidder[i] = bidders->bidder[--bidders->n];
			bidder->mount = *mount;
			bidder->act.unwanted = false;
			canfs_bidder_configure(bidder, config);
			if (bidder->terms.mode != mode)
				canfs_log("%s: now %s", mount->mountpoint, mode_word(bidder));
			return bidder;
		}
	}
	return NULL;
}

static struct canfs_bidder *new_bidder(
	const struct canfs_agent_config *config, const struct canfs_mount *mount)
{
	struct canfs_bidder *bidder = calloc(1, sizeof(*bidder));
	unsigned int seed = (unsigned int)(canfs_now_usec() ^ (uint64_t)getpid() << 16);
	int ret = -ENOMEM;

	if (bidder)
		ret = canfs_bidder_init(bidder, mount, config, seed);
	if (ret) {
		canfs_log("%s: left alone: %s", mount->mountpoint, strerror(-ret));
		free(bidder);
		return NULL;
	}
	canfs_log("%s: %s, NFSv%d, BDI %u:%u, %s", mount->mountpoint, mount->source, mount->version,
		mount->bdi.major, mount->bdi.minor, mode_word(bidder));
	return bidder;
}

static void free_bidder(struct canfs_bidder *bidder)
{
	canfs_bidder_fini(bidder);
	free(bidder);
}

static bool has_bdi(const struct canfs_bidders *bidders, struct canfs_bdi bdi)
{
	for (size_t i = 0; i < bidders->n; i++) {
		if (canfs_bdi_equal(bidders->bidder[i]->mount.bdi, bdi))
			return true;
	}
	return false;
}

/* Is this mount one to leave alone? Says so if it was not at the last look at the mounts. */
static bool leave_alone(struct canfs_bidders *now, const struct canfs_bidders *before,
	const struct canfs_mount *mount)
{
	const char *why = canfs_mount_left_alone(mount);
	size_t i = 0;

	if (!why)
		return false;
	while (i < before->left_alone && before->left_alone_id[i] != mount->id)
		i++;
	if (i == before->left_alone)
		canfs_log("%s: sec=%s, left at the kernel's defaults: %s", mount->mountpoint,
			*mount->sec ? mount->sec : "sys", why);
	now->left_alone_id[now->left_alone++] = mount->id;
	return true;
}

static void report(const struct canfs_bidders *now, const struct canfs_bidders *before)
{
	size_t enforced = 0;

	if (now->left_out != before->left_out)
		canfs_log("%zu NFS mounts are too many and left alone", now->left_out);
	for (size_t i = 0; i < now->n; i++)
		enforced += now->bidder[i]->terms.mode == CANFS_ENFORCE;
	canfs_notify_status("NFS mounts: %zu, of which %zu enforced, %zu observed, %zu left alone",
		now->n + now->left_out + now->left_alone, enforced, now->n - enforced,
		now->left_out + now->left_alone);
}

static void add_wanted(struct canfs_bidders *now, struct canfs_bidders *before,
	const struct canfs_mounts *mounts, const struct canfs_agent_config *config)
{
	for (size_t i = 0; i < mounts->n; i++) {
		const struct canfs_mount *mount = &mounts->mount[i];
		struct canfs_bidder *bidder;

		/* The first mount that is wanted stands for its BDI. */
		if (!canfs_config_wants_mount(config, mount->mountpoint) ||
			has_bdi(now, mount->bdi) || leave_alone(now, before, mount))
			continue;
		if (now->n == CANFS_BIDDERS_MAX) {
			now->left_out++;
			continue;
		}
		bidder = take_bidder(before, config, mount);
		if (!bidder)
			bidder = new_bidder(config, mount);
		if (bidder)
			now->bidder[now->n++] = bidder;
	}
}

/* Mounts that are still there, but wanted no more: as long as the kernel would send all that they hold at once. */
static void keep_leaving(struct canfs_bidders *now, struct canfs_bidders *before,
	const struct canfs_mounts *mounts, const struct canfs_actors *actors)
{
	for (size_t i = before->n; i-- > 0;) {
		struct canfs_bidder *bidder = before->bidder[i];

		if (now->n == CANFS_BIDDERS_MAX || has_bdi(now, bidder->mount.bdi) ||
			canfs_mounts_find(mounts, &bidder->mount) < 0 ||
			!canfs_act_has_share(actors, bidder))
			continue;
		before->bidder[i] = before->bidder[--before->n];
		bidder->act.unwanted = true;
		bidder->terms.mode = CANFS_OBSERVE;
		now->bidder[now->n++] = bidder;
	}
}

void canfs_bidders_refresh(struct canfs_bidders *bidders, const struct canfs_mounts *mounts,
	const struct canfs_agent_config *config, struct canfs_actors *actors)
{
	struct canfs_bidders now = { .left_out = mounts->dropped };

	add_wanted(&now, bidders, mounts, config);
	keep_leaving(&now, bidders, mounts, actors);
	for (size_t i = 0; i < bidders->n; i++) {
		canfs_log("%s: not managed any more", bidders->bidder[i]->mount.mountpoint);
		canfs_act_let_go(actors, bidders->bidder[i]);
		free_bidder(bidders->bidder[i]);
	}
	report(&now, bidders);
	*bidders = now;
}

bool canfs_bidders_left(const struct canfs_bidders *bidders, const struct canfs_actors *actors)
{
	for (size_t i = 0; i < bidders->n; i++) {
		if (bidders->bidder[i]->act.unwanted &&
			!canfs_act_has_share(actors, bidders->bidder[i]))
			return true;
	}
	return false;
}

void canfs_bidders_free(struct canfs_bidders *bidders)
{
	while (bidders->n > 0)
		free_bidder(bidders->bidder[--bidders->n]);
}
