// SPDX-License-Identifier: LGPL-3.0-or-later
/* A request to the agent's control socket: whatever it is, the answer is one line of JSON. */
#include "tests/fuzz/text.h"

#include "client-agent/status/metrics.h"
#include "client-agent/status/status.h"

/* An agent of one mount, made once: answering changes nothing. */
static struct canfs_view make_view(void)
{
	static struct canfs_agent_config config;
	static struct canfs_actors actors = { .root = "/nonexistent" };
	static struct canfs_bidder bidder = { .mount = { .mountpoint = "/mnt/a",
						      .source = "srv:/a",
						      .address.ss_family = AF_INET } };
	static struct canfs_bidder *bidders[] = { &bidder };
	char error[256];

	canfs_config_defaults(&config);
	FUZZ_CHECK(canfs_journal_parse(&actors.journal, "canfs-journal 1 boot\n", "boot", error,
			   sizeof(error)) == 0);
	FUZZ_CHECK(canfs_tuner_new(&actors.tuner, actors.root, actors.journal) == 0);
	FUZZ_CHECK(canfs_defer_new(&actors.defer, actors.tuner) == 0);
	FUZZ_CHECK(canfs_accelerator_new(&actors.accelerator, actors.root) == 0);
	for (uint64_t i = 0; i < 3; i++)
		canfs_decisions_note(&bidder.decisions, i, "write-back", "hold", "defer",
			(struct canfs_bids) { 0.4, 0.1, 0.2 }, "because");
	return (struct canfs_view) {
		.config = &config, .actors = &actors, .bidders = bidders, .n = 1
	};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct canfs_view view;
	struct canfs_control_counters counters = { 0 };
	const struct canfs_control_service service = { .commands = canfs_status_commands,
		.less = "\"last\"",
		.subject = &view,
		.counters = &counters };
	char *text = fuzz_text(data, size), *reply;
	json_t *parsed;

	if (!view.n)
		view = make_view();
	reply = canfs_control_respond(
		&service, text, size, (struct canfs_control_time) { 2000000, 1800000000.0 });
	FUZZ_CHECK(reply);
	FUZZ_CHECK(strchr(reply, '\n') == reply + strlen(reply) - 1);
	parsed = json_loads(reply, 0, NULL);
	FUZZ_CHECK(json_is_boolean(json_object_get(parsed, "ok")));
	json_decref(parsed);
	free(reply);

	/* And metrics of any status that might be. */
	parsed = json_loadb(text, size, 0, NULL);
	reply = canfs_metrics_text(parsed, json_object_get(parsed, "servers"));
	FUZZ_CHECK(reply && (*reply == '\0' || reply[strlen(reply) - 1] == '\n'));
	free(reply);
	json_decref(parsed);
	free(text);
	return 0;
}
