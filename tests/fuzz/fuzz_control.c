// SPDX-License-Identifier: LGPL-3.0-or-later
/* Any request to the control socket: one line of JSON comes back, and the settings stay in bounds. */
#include "server/control/request.h"
#include "pricing/price.h"
#include "tests/fuzz/text.h"

static void say(const char *message)
{
	FUZZ_CHECK(strlen(message) < 256);
}

static void check_settings(struct canfs_sampler *sampler)
{
	struct canfs_settings settings;

	canfs_sampler_settings(sampler, &settings);
	FUZZ_CHECK(settings.pmax >= 0 && settings.pmax <= CANFS_PRICE_MAX);
	for (int i = CANFS_NONE + 1; i < CANFS_RESOURCES; i++) {
		FUZZ_CHECK((i == CANFS_DISK && settings.k[i] == 0) ||
			   (settings.k[i] >= CANFS_K_MIN && settings.k[i] <= CANFS_K_MAX));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Memory's is the one monitor that always opens; here it finds nothing to read. */
	const struct canfs_sampler_config config = { .interval_ms = 100,
		.publish = true,
		.monitors = 1u << CANFS_MEMORY,
		.setup = { .root = "/nonexistent", .interfaces = { "eth0" }, .interface_count = 1 },
		.say = say };
	const struct canfs_disk_options own = { .read_queue = 1, .k = 2.5 };
	struct canfs_control_counters counters = { 0 };
	struct canfs_control_subject subject = { .counters = &counters, .say = say };
	const struct canfs_control_service service = canfs_control_service(&subject);
	char *text = fuzz_text(data, size), *reply;
	struct canfs_price_table *prices;
	json_t *parsed;

	FUZZ_CHECK(canfs_sampler_new(&subject.sampler, &config) == 0);
	FUZZ_CHECK(canfs_price_table_open(&prices, subject.sampler, "/srv/data", 0, &own) == 0);
	subject.clients = canfs_clients_new();
	canfs_sampler_step(subject.sampler, 1000000);
	canfs_sampler_step(subject.sampler, 2000000);

	reply = canfs_control_respond(
		&service, text, size, (struct canfs_control_time) { 2000000, 1800000000.0 });
	FUZZ_CHECK(reply);
	FUZZ_CHECK(strchr(reply, '\n') == reply + strlen(reply) - 1);
	parsed = json_loads(reply, 0, NULL);
	FUZZ_CHECK(json_is_boolean(json_object_get(parsed, "ok")));
	check_settings(subject.sampler);

	json_decref(parsed);
	free(reply);
	canfs_clients_free(subject.clients);
	canfs_price_table_close(prices);
	canfs_sampler_free(subject.sampler);
	free(text);
	return 0;
}
