/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* An agent as its status server sees it, on a fake kernel: /mnt/a defers, /mnt/b has no price. */
#ifndef CANFS_TESTS_FAKE_AGENT_H
#define CANFS_TESTS_FAKE_AGENT_H

#include "tests/unit/fake_kernel.h"

#include <arpa/inet.h>
#include "client-agent/status/status.h"

#define MIB (UINT64_C(1) << 20)
#define SEC UINT64_C(1000000)

struct fake_agent {
	struct fake_root root;
	struct canfs_agent_config config;
	struct canfs_actors actors;
	struct canfs_bidder *bidders[2];
	struct canfs_view view;
	uint64_t now_usec;
};

/* address: of a server that does not exist. */
static inline struct canfs_bidder *fake_bidder(
	const struct fake_agent *agent, const struct canfs_mount *mount, const char *address)
{
	struct canfs_bidder *bidder = calloc(1, sizeof(*bidder));
	struct canfs_mount copy = *mount;

	copy.address.ss_family = AF_INET;
	inet_pton(AF_INET, address, &((struct sockaddr_in *)&copy.address)->sin_addr);
	strcpy(copy.export_path, "/");
	assert_int_equal(canfs_bidder_init(bidder, &copy, &agent->config, 1), 0);
	return bidder;
}

static inline void fake_agent_make(struct fake_agent *agent)
{
	char error[256];

	*agent = (struct fake_agent) { .now_usec = 1000 * SEC };
	fake_root_make(&agent->root);
	fake_root_write(&agent->root, DIRTY_BYTES, "0\n");
	fake_root_write(&agent->root, DIRTY_RATIO, "20\n");
	fake_root_write(&agent->root, BACKGROUND_BYTES, "0\n");
	fake_root_write(&agent->root, BACKGROUND_RATIO, "10\n");
	fake_bdi(&agent->root, BDI_A);
	fake_bdi(&agent->root, BDI_B);
	canfs_config_defaults(&agent->config);
	agent->config.terms.mode = CANFS_ENFORCE;
	strcpy(agent->config.state_dir, "/state");
	assert_int_equal(canfs_actors_open(&agent->actors, &agent->config, agent->root.path, error,
				 sizeof(error)),
		0);
	agent->bidders[0] = fake_bidder(agent, &mount_a, "192.0.2.1");
	agent->bidders[1] = fake_bidder(agent, &mount_b, "192.0.2.2");
	agent->bidders[0]->mount.version = 4;
	agent->bidders[0]->mount.minor_version = 2;
	agent->bidders[1]->mount.version = 3;
	strcpy(agent->bidders[1]->mount.sec, "krb5");
	agent->view = (struct canfs_view) { .config = &agent->config,
		.actors = &agent->actors,
		.bidders = agent->bidders,
		.n = 2,
		.host = { .now_usec = agent->now_usec,
			.bound_bytes = 360 * MIB,
			.backlog_bytes = 23 * MIB,
			.cache_worth = 0.3,
			.meminfo = { .total_bytes = 1000 * MIB,
				.available_bytes = 800 * MIB,
				.dirty_bytes = 20 * MIB,
				.writeback_bytes = 3 * MIB } },
		.ticks = 7,
		.started_usec = 900 * SEC };
}

static inline void fake_agent_remove(struct fake_agent *agent)
{
	for (size_t i = 0; i < 2; i++) {
		canfs_bidder_fini(agent->bidders[i]);
		free(agent->bidders[i]);
	}
	canfs_actors_close(&agent->actors);
	fake_root_remove(&agent->root);
}

/* /mnt/a has a price, and defers 23 MiB. */
static inline void fake_agent_defers(struct fake_agent *agent)
{
	struct canfs_bidder *bidder = agent->bidders[0];

	bidder->poller.tag =
		(struct canfs_tag) { .write = 0.4, .readahead = 0.1, .bottleneck = CANFS_DISK };
	bidder->poller.tag_usec = agent->now_usec - SEC / 2;
	bidder->poller.publisher.believed = true;
	bidder->poller.publisher.valid = CANFS_TAGS_TO_BELIEVE;
	bidder->poller.questions = 12;
	bidder->poller.answers = 10;
	bidder->poller.unanswered = 2;
	bidder->own_write = 0.12;
	bidder->own_readahead = 0.5;
	bidder->write.verdict = CANFS_DEFER;
	bidder->readahead.verdict = CANFS_ACCELERATE;
	bidder->held.backlog_bytes = 23 * MIB;
	bidder->seen.reading_usec = agent->now_usec;
	bidder->seen.stats.age_sec = 100;
	canfs_act_report(bidder, &bidder->poller.tag, &agent->view.host);
	canfs_act_defer(&agent->actors, agent->bidders, 2, &agent->view.host);
	canfs_act_readahead(&agent->actors, bidder, agent->now_usec);
}

#endif
