/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One mount on a fake kernel, and the actions that follow its auctions. */
#ifndef CANFS_TESTS_ACT_SCENE_H
#define CANFS_TESTS_ACT_SCENE_H

#include "tests/unit/fake_kernel.h"

#include "client-agent/actuators/act.h"

#define MIB      (UINT64_C(1) << 20)
#define MINUTE   UINT64_C(60000000)
#define RA_A     BDI_A "/read_ahead_kb"
#define SHARE_A  BDI_A "/min_ratio"
#define NOW_USEC (10 * MINUTE)

struct scene {
	struct fake_root root;
	struct canfs_agent_config config;
	struct canfs_actors actors;
	struct canfs_bidder bidder; /* of BDI A; asks no server */
	struct canfs_host_state host;
	bool overwrites; /* nobody writes anything new */
};

static inline int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	char error[256];

	fake_root_make(&scene->root);
	fake_stock_limits(&scene->root);
	fake_bdi(&scene->root, BDI_A);
	canfs_config_defaults(&scene->config);
	scene->config.terms.mode = CANFS_ENFORCE;
	strcpy(scene->config.state_dir, "/state");
	assert_int_equal(canfs_actors_open(&scene->actors, &scene->config, scene->root.path, error,
				 sizeof(error)),
		0);
	scene->bidder.mount = mount_a;
	scene->bidder.terms = scene->config.terms;
	scene->bidder.seen.stats.age_sec = 100;
	scene->bidder.seen.reading_usec = NOW_USEC;
	scene->host = (struct canfs_host_state) { .now_usec = NOW_USEC,
		.bound_bytes = 360 * MIB,
		.meminfo = { .total_bytes = 1000 * MIB, .available_bytes = 800 * MIB } };
	*state = scene;
	return 0;
}

static inline int teardown(void **state)
{
	struct scene *scene = *state;

	canfs_actors_close(&scene->actors);
	fake_root_remove(&scene->root);
	free(scene);
	return 0;
}

static inline void defer(struct scene *scene)
{
	struct canfs_bidder *bidder = &scene->bidder;

	if (!scene->overwrites)
		bidder->act.grown_usec = scene->host.now_usec;
	canfs_act_defer(&scene->actors, &bidder, 1, &scene->host);
}

/* A raised flushing point is checked every two seconds. */
static inline void defer_later(struct scene *scene)
{
	scene->host.now_usec += 2000000;
	defer(scene);
}

/* Raises the flushing point for data that is held. */
static inline void raise_flushing_point(struct scene *scene)
{
	scene->bidder.write.verdict = CANFS_DEFER;
	scene->bidder.held.backlog_bytes = 2 * MIB;
	defer(scene);
	assert_true(canfs_defer_active(scene->actors.defer));
	assert_int_equal(fake_root_number(&scene->root, SHARE_A), 90);
}

static inline void assert_flushing_point_is_back(const struct scene *scene)
{
	assert_false(canfs_defer_active(scene->actors.defer));
	assert_int_equal(fake_root_number(&scene->root, SHARE_A), 0);
	assert_int_equal(canfs_journal_count(scene->actors.journal), 0);
}

static inline uint64_t asked_to_send(const struct scene *scene, struct canfs_bdi bdi)
{
	struct canfs_accelerate_status status;

	canfs_accelerate_status(scene->actors.accelerator, bdi, &status);
	return status.requests + status.busy;
}

#define ACT_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
