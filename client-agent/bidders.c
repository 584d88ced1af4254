// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/bidders.h"

#include <errno.h>
#include <stdio.h>
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
	const struct canfs_agent_config *config, const struct canfs_mount *mount, const char **why)
{
	struct canfs_bidder *bidder = calloc(1, sizeof(*bidder));
	unsigned int seed = (unsigned int)(canfs_now_usec() ^ (uint64_t)getpid() << 16);
	int ret = -ENOMEM;

	if (bidder)
		ret = canfs_bidder_init(bidder, mount, config, seed);
	if (ret) {
		*why = strerrordesc_np(-ret);
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

static bool is_left_alone(const struct canfs_bidders *bidders, struct canfs_bdi bdi)
{
	for (size_t i = 0; i < bidders->left_alone; i++) {
		if (canfs_bdi_equal(bidders->left_alone_mount[i].bdi, bdi))
			return true;
	}
	return false;
}

/* Returns true if the mount was left alone when the mounts were last read. */
static bool was_left_alone(const struct canfs_bidders *before, const struct canfs_left_alone *mount)
{
	for (size_t i = 0; i < before->left_alone; i++) {
		const struct canfs_left_alone *other = &before->left_alone_mount[i];

		if (other->id == mount->id && canfs_bdi_equal(other->bdi, mount->bdi))
			return true;
	}
	return false;
}

/*
 * Logs this once. A long path must not push the reason out of the line. security is "", or the
 * mount's security followed by a comma and a blank.
 */
static void leave_alone(struct canfs_bidders *now, const struct canfs_bidders *before,
	struct canfs_left_alone mount, const char *mountpoint, const char *security,
	const char *why)
{
	if (!was_left_alone(before, &mount))
		canfs_log("%.256s: %sleft at the kernel's defaults: %s", mountpoint, security, why);
	now->left_alone_mount[now->left_alone++] = mount;
}

static void leave_mount_alone(struct canfs_bidders *now, const struct canfs_bidders *before,
	const struct canfs_mount *mount, const char *why)
{
	const struct canfs_left_alone left = { mount->id, mount->bdi };
	const char *tls = mount->xprtsec;
	char security[64];

	snprintf(security, sizeof(security), "sec=%s%s%s, ", *mount->sec ? mount->sec : "sys",
		*tls ? ", xprtsec=" : "", tls);
	leave_alone(now, before, left, mount->mountpoint, security, why);
}

/* Leaves unfit mounts alone, unless another mount of their BDI is managed. */
static void leave_unfit_alone(struct canfs_bidders *now, const struct canfs_bidders *before,
	const struct canfs_mounts *mounts, const struct canfs_agent_config *config)
{
	for (size_t i = 0; i < mounts->unfits; i++) {
		const struct canfs_unfit_mount *unfit = &mounts->unfit[i];
		const struct canfs_left_alone left = { unfit->id, unfit->bdi };

		if (canfs_config_wants_mount(config, unfit->mountpoint) &&
			!has_bdi(now, unfit->bdi) && !is_left_alone(now, unfit->bdi))
			leave_alone(now, before, left, unfit->mountpoint, "", unfit->why);
	}
}

static void report(const struct canfs_bidders *now, const struct canfs_bidders *before)
{
	size_t enforced = 0;

	if (now->left_out != before->left_out)
		canfs_log("%zu NFS mounts exceed the limit and are not managed", now->left_out);
	if (now->unread != before->unread)
		canfs_log("%zu lines of /proc/self/mountinfo cannot be parsed", now->unread);
	for (size_t i = 0; i < now->n; i++)
		enforced += now->bidder[i]->terms.mode == CANFS_ENFORCE;
	canfs_notify_status("NFS mounts: %zu (%zu enforced, %zu observed, %zu not managed)",
		now->n + now->left_out + now->left_alone, enforced, now->n - enforced,
		now->left_out + now->left_alone);
}

static void add_wanted(struct canfs_bidders *now, struct canfs_bidders *before,
	const struct canfs_mounts *mounts, const struct canfs_agent_config *config)
{
	for (size_t i = 0; i < mounts->n; i++) {
		const struct canfs_mount *mount = &mounts->mount[i];
		const char *why = canfs_mount_left_alone(mount);
		struct canfs_bidder *bidder = NULL;

		/* The first wanted mount represents its BDI. */
		if (!canfs_config_wants_mount(config, mount->mountpoint) ||
			has_bdi(now, mount->bdi) || is_left_alone(now, mount->bdi))
			continue;
		if (!why && now->n == CANFS_BIDDERS_MAX) {
			now->left_out++;
			continue;
		}
		if (!why)
			bidder = take_bidder(before, config, mount);
		if (!why && !bidder)
			bidder = new_bidder(config, mount, &why);
		if (bidder)
			now->bidder[now->n++] = bidder;
		else
			leave_mount_alone(now, before, mount, why);
	}
}

bool canfs_bidders_want(const void *data, const struct canfs_mount *mount)
{
	const struct canfs_bidders_wanted *wanted = data;

	if (canfs_config_wants_mount(wanted->config, mount->mountpoint))
		return true;
	for (size_t i = 0; i < wanted->bidders->n; i++) {
		const struct canfs_mount *managed = &wanted->bidders->bidder[i]->mount;

		if (managed->id == mount->id && canfs_bdi_equal(managed->bdi, mount->bdi))
			return true;
	}
	return false;
}

/*
 * Keeps bidders of mounts that exist but are not wanted any more, as long as they have a share of
 * the flushing point. Without its share, the kernel would send all held data of a mount at once.
 */
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
	struct canfs_bidders now = { .left_out = mounts->dropped,
		.unread = mounts->malformed - mounts->unfits };

	add_wanted(&now, bidders, mounts, config);
	leave_unfit_alone(&now, bidders, mounts, config);
	keep_leaving(&now, bidders, mounts, actors);
	for (size_t i = 0; i < bidders->n; i++) {
		canfs_log("%s: no longer managed", bidders->bidder[i]->mount.mountpoint);
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
