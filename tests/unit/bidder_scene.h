/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A bidder, the counters of its mount, and its client, of which time goes on tick by tick. */
#ifndef CANFS_TESTS_BIDDER_SCENE_H
#define CANFS_TESTS_BIDDER_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/in.h>

#include "client-agent/auction/bidder.h"

#define MIB       (1ull << 20)
#define TICK_USEC 100000

struct scene {
	struct canfs_agent_config config;
	struct canfs_bidder bidder;
	struct canfs_mountstats stats;
	struct canfs_host_state host;
};

static inline int setup(void **state)
{
	static struct scene scene;
	struct canfs_mount mount = { .mountpoint = "/nowhere", .export_path = "/", .version = 3 };

	scene = (struct scene) { 0 };
	canfs_config_defaults(&scene.config);
	mount.address.ss_family = AF_INET;
	assert_int_equal(canfs_bidder_init(&scene.bidder, &mount, &scene.config, 1), 0);
	scene.stats.found = true;
	scene.host = (struct canfs_host_state) {
		.now_usec = 1000000,
		.bound_bytes = 700 * MIB,
		.meminfo = { .total_bytes = 2000 * MIB, .available_bytes = 1800 * MIB },
	};
	*state = &scene;
	return 0;
}

static inline int teardown(void **state)
{
	struct scene *scene = *state;

	canfs_bidder_fini(&scene->bidder);
	return 0;
}

static const struct canfs_tag high = { .write = 0.96, .bottleneck = CANFS_DISK },
			      cheap = { .write = 0 },
			      commits = { .write = 0.96, .bottleneck = CANFS_LOG };

/* Time goes on by one tick with so much held; returns what is to be sent. */
static inline uint64_t step_bytes(
	struct scene *scene, uint64_t held_bytes, const struct canfs_tag *tag)
{
	scene->host.now_usec += TICK_USEC;
	if (tag)
		scene->bidder.poller.tag_usec = scene->host.now_usec;
	scene->stats.normal_write_bytes = scene->stats.server_write_bytes + held_bytes;
	scene->host.meminfo.dirty_bytes = held_bytes;
	canfs_bidder_observe(
		&scene->bidder, &scene->stats, &scene->host.meminfo, scene->host.now_usec);
	scene->host.backlog_bytes = scene->bidder.held.backlog_bytes;
	return canfs_bidder_bid(&scene->bidder, tag, &scene->host);
}

static inline uint64_t step(struct scene *scene, uint64_t held_mib, const struct canfs_tag *tag)
{
	return step_bytes(scene, held_mib * MIB, tag);
}

static inline uint64_t steps(
	struct scene *scene, unsigned int n, uint64_t held_mib, const struct canfs_tag *tag)
{
	uint64_t sent = 0;

	while (n--)
		sent += step(scene, held_mib, tag);
	return sent;
}

#define scene_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
