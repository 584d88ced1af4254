// SPDX-License-Identifier: LGPL-3.0-or-later
/* agent.conf: whatever it says, either an error line or values within their bounds. */
#include "tests/fuzz/text.h"

#include "client-agent/config/config.h"

static void check_terms(const struct canfs_terms *terms)
{
	FUZZ_CHECK(terms->mode == CANFS_OBSERVE || terms->mode == CANFS_ENFORCE);
	FUZZ_CHECK(terms->hold_share >= 1 && terms->hold_share <= 100);
	FUZZ_CHECK(terms->price_min >= 0 && terms->price_min <= 0.5);
	FUZZ_CHECK(terms->k_memory >= 1 && terms->k_memory <= 1e6);
	FUZZ_CHECK(terms->readahead_min_kib >= 64);
	FUZZ_CHECK(terms->readahead_min_kib <= terms->readahead_max_kib);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct canfs_agent_config config;
	char *text = fuzz_text(data, size);
	char error[CANFS_CONFIG_ERROR_MAX];

	canfs_config_defaults(&config);
	int ret = canfs_config_parse_string(&config, "agent.conf", text, error);
	FUZZ_CHECK((ret != 0) == (error[0] != '\0'));
	FUZZ_CHECK(config.hold_pct >= 5 && config.hold_pct <= 50);
	FUZZ_CHECK(config.changes_per_min >= 10 && config.changes_per_min <= 6000);
	FUZZ_CHECK(config.price_timeout_sec >= 1.2 * config.price_idle_sec + 2);
	FUZZ_CHECK(config.price_timeout_sec >= 2 * config.price_min_msec / 1e3 + 2);
	FUZZ_CHECK(config.mounts.n <= CANFS_CONFIG_LIST_MAX);
	FUZZ_CHECK(config.sections <= CANFS_CONFIG_SECTIONS_MAX);
	FUZZ_CHECK(config.state_dir[0] == '/');
	check_terms(&config.terms);
	for (size_t i = 0; i < config.sections; i++) {
		FUZZ_CHECK(config.section[i].pattern[0] == '/');
		check_terms(&config.section[i].terms);
	}
	check_terms(canfs_config_terms(&config, "/mnt/nfs"));
	canfs_config_wants_mount(&config, "/mnt/nfs");
	free(text);
	return 0;
}
