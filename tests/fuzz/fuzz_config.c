/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* agent.conf: whatever it says, either an error line or values within their bounds. */
#include "tests/fuzz/text.h"

#include "client-agent/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char error[CANFS_CONFIG_ERROR_MAX];
	struct canfs_config config;

	canfs_config_defaults(&config);
	int err = canfs_config_parse_string(&config, "agent.conf", text, error);
	FUZZ_CHECK((err != 0) == (error[0] != '\0'));
	FUZZ_CHECK(config.hold_pct >= 5 && config.hold_pct <= 50);
	FUZZ_CHECK(config.price_min >= 0 && config.price_min <= 0.5);
	FUZZ_CHECK(config.k_memory >= 1 && config.k_memory <= 1e6);
	FUZZ_CHECK(config.readahead_min_kib >= 64);
	FUZZ_CHECK(config.readahead_min_kib <= config.readahead_max_kib);
	FUZZ_CHECK(config.patterns <= CANFS_CONFIG_PATTERNS_MAX);
	FUZZ_CHECK(config.state_dir[0] == '/');
	canfs_config_wants_mount(&config, "/mnt/nfs");
	free(text);
	return 0;
}
