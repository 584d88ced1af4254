// SPDX-License-Identifier: LGPL-3.0-or-later
/* priced.conf: whatever it says, either an error line or values within their bounds. */
#include "tests/fuzz/text.h"

#include "priced/config.h"
#include "pricing/price.h"

static void check_sampler(const struct canfs_priced_config *config)
{
	struct canfs_sampler_config sampler;
	struct canfs_settings settings;

	canfs_priced_config_of_sampler(config, &sampler);
	FUZZ_CHECK(sampler.monitors != 0 && sampler.monitors < 1u << CANFS_RESOURCES);
	FUZZ_CHECK(sampler.setup.interface_count <= CANFS_INTERFACES_MAX);
	FUZZ_CHECK(canfs_priced_config_pmax(NULL, config, &settings));
	FUZZ_CHECK(settings.pmax >= 0 && settings.pmax <= CANFS_PRICE_MAX);
	FUZZ_CHECK(sampler.k_disk == 0 ||
		   (sampler.k_disk >= CANFS_K_MIN && sampler.k_disk <= CANFS_K_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct canfs_priced_config config;
	char *text = fuzz_text(data, size);
	char error[CANFS_OPTIONS_ERROR_MAX];
	int ret;

	canfs_priced_config_defaults(&config);
	ret = canfs_priced_config_parse_string(&config, "priced.conf", text, NULL, error);
	FUZZ_CHECK((ret != 0) == (error[0] != '\0'));
	FUZZ_CHECK(config.price_port >= 1 && config.price_port <= 65535);
	FUZZ_CHECK(config.etab[0] == '/' || config.etab[0] == '\0');
	FUZZ_CHECK(config.control_socket[0] == '/' || config.control_socket[0] == '\0');
	FUZZ_CHECK(config.classes.count <= CANFS_CLASSES_MAX);
	FUZZ_CHECK(config.classes.network_count <= CANFS_CLASS_NETWORKS_MAX);
	FUZZ_CHECK(config.classes.network_count ==
		   (config.classes.count != 0 ? config.classes.list[config.classes.count - 1].end
					      : 0));
	check_sampler(&config);
	free(text);
	return 0;
}
