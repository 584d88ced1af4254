// SPDX-License-Identifier: LGPL-3.0-or-later
/* agent.conf: whatever it says, either an error line or values within their bounds. */
#include "tests/fuzz/text.h"

#include "client-agent/config/config.h"

static void check_terms(const struct canfs_terms *terms)
{
	FUZZ_CHECK(terms->mode == CANFS_OBSERVE || terms->mode == CANFS_ENFORCE);
	FUZZ_CHECK(terms->link_speed <= 10000000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct canfs_agent_config config;
	char *text = fuzz_text(data, size);
	char error[CANFS_OPTIONS_ERROR_MAX];

	canfs_config_defaults(&config);
	int ret = canfs_config_parse_string(&config, "agent.conf", text, error);
	FUZZ_CHECK((ret != 0) == (error[0] != '\0'));
	FUZZ_CHECK(config.hold_pct >= 5 && config.hold_pct <= 50);
	FUZZ_CHECK(
		(double)canfs_config_lost_usec(&config) / 1e6 >= 1.2 * config.price_idle_sec + 2);
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
