// SPDX-License-Identifier: LGPL-3.0-or-later
/* The agent's configuration: defaults, every option, and one clear line for each mistake. */
#include "tests/unit/fake_root.h"

#include "client-agent/config/config.h"
#include "client-agent/config/config.h"

static struct canfs_agent_config config;
static char error[CANFS_OPTIONS_ERROR_MAX];

static int parse(const char *text)
{
	canfs_config_defaults(&config);
	return canfs_config_parse_string(&config, "agent.conf", text, error);
}

static void test_defaults(void **state)
{
	(void)state;
	assert_int_equal(parse(""), 0);
	assert_string_equal(error, "");
	assert_int_equal(config.terms.mode, CANFS_OBSERVE);
	assert_true(config.terms.writeback && config.terms.readahead);
	assert_int_equal(config.terms.link_speed, 0);
	assert_int_equal(config.hold_pct, 45);
	assert_int_equal(config.price_idle_sec, 10);
	assert_int_equal(canfs_config_lost_usec(&config), 30000000);
	assert_string_equal(config.state_dir, "/run/canfs");
	assert_int_equal(config.mounts.n, 0);
}

static void test_every_option(void **state)
{
	(void)state;
	assert_int_equal(parse("# comment\n"
			       "[agent]\n"
			       "mode = enforce   ; inline\n"
			       "writeback = off\n"
			       "readahead=off\n"
			       "link_speed = 100\n"
			       "mounts = /data/* /home\n"
			       "hold_pct = 50\n"
			       "low_priority_cgroups = /batch.slice\n"
			       "price_idle_sec = 1\n"
			       "price_port = 0\n"
			       "metrics_listen = [::1]:9105\n"
			       "servers = /run/canfs/priced.sock\n"
			       "state_dir = /var/run/canfs"),
		0);
	assert_int_equal(config.terms.mode, CANFS_ENFORCE);
	assert_false(config.terms.writeback || config.terms.readahead);
	assert_int_equal(config.terms.link_speed, 100);
	assert_int_equal(config.hold_pct, 50);
	assert_int_equal(config.low_priority_cgroups.n, 1);
	assert_int_equal(canfs_config_lost_usec(&config), 4000000);
	assert_int_equal(config.price_port, 0);
	assert_string_equal(config.metrics_listen, "[::1]:9105");
	assert_string_equal(config.servers.path[0], "/run/canfs/priced.sock");
	assert_string_equal(config.state_dir, "/var/run/canfs");
	assert_int_equal(config.mounts.n, 2);
	assert_true(canfs_config_wants_mount(&config, "/data/a"));
	assert_true(canfs_config_wants_mount(&config, "/home"));
	assert_false(canfs_config_wants_mount(&config, "/srv"));
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *error;
	} mistakes[] = {
		{ "[agent]\nhold_pct = 90\n", "agent.conf:2: hold_pct = 90: not in 5 ... 50" },
		{ "[agent]\nmetrics_listen = 9105\n", "agent.conf:2: metrics_listen = 9105: not "
						      "ADDRESS:PORT, such as 127.0.0.1:9105 "
						      "or [::1]:9105" },
		{ "[agent]\nmetrics_listen = 0.0.0.0:9105\n",
			"agent.conf:2: metrics_listen = 0.0.0.0:9105: not a loopback address, "
			"such as 127.0.0.1 or [::1]" },
		{ "[agent]\ncontrol_socket = /agent.sock\n",
			"agent.conf:2: control_socket: no longer an option: it is agent.sock in "
			"state_dir" },
		{ "[agent]\nmounts = /a, /b\n",
			"agent.conf:2: mounts: /a,: paths are separated by blanks, not commas" },
		{ "[agent]\nstate_dir =\n", "agent.conf:2: state_dir = : not an absolute path" },
		{ "[agent]\nhold_pct = 4\n", "agent.conf:2: hold_pct = 4: not in 5 ... 50" },
		{ "[agent]\nhold_pct = 7.5\n", "agent.conf:2: hold_pct = 7.5: not a whole number" },
		{ "[agent]\nhold_pct = ten\n", "agent.conf:2: hold_pct = ten: not a number" },
		{ "[agent]\nhold_pct =\n", "agent.conf:2: hold_pct = : not a number" },
		{ "[agent]\nhold_pct = 0x10\n", "agent.conf:2: hold_pct = 0x10: not a number" },
		{ "[agent]\nhold_pct = nan\n", "agent.conf:2: hold_pct = nan: not a number" },
		{ "[mount /a]\nk_memory = 1\n",
			"agent.conf:2: k_memory: no longer an option: it is always 32" },
		{ "[agent]\n\nmode = active\n",
			"agent.conf:3: mode = active: not observe or enforce" },
		{ "[agent]\nreadahead = yes\n", "agent.conf:2: readahead = yes: not off or on" },
		{ "[agent]\nwriteback = eth0\n", "agent.conf:2: writeback = eth0: not off or on" },
		{ "[mount /a]\nlink_speed = 100M\n",
			"agent.conf:2: link_speed = 100M: not a number" },
		{ "[mount /a]\nlink_speed = 1e8\n",
			"agent.conf:2: link_speed = 1e8: not in 0 ... 10000000" },
		{ "[agent]\nholdpct = 5\n", "agent.conf:2: holdpct: unknown option" },
		{ "[client]\nmode = observe\n",
			"agent.conf:1: [client]: must be [agent] or [mount /PATTERN]" },
		{ "mode = observe\n",
			"agent.conf:1: mode: before any section, the first one is [agent]" },
		{ "[agent]\nenforce\nhold_pct = 90\n",
			"agent.conf:2: neither \"name = value\" nor [agent] nor [mount /PATTERN]" },
		{ "[agent]\n[mount /a\nmode = observe\n",
			"agent.conf:2: neither \"name = value\" nor [agent] nor [mount /PATTERN]" },
		{ "[mount]\n", "agent.conf:1: [mount]: must be [agent] or [mount /PATTERN]" },
		{ "[mount ]\n", "agent.conf:1: [mount]: must be [agent] or [mount /PATTERN]" },
		{ "[mount data]\n", "agent.conf:1: [mount data]: not an absolute path" },
		{ "[mount /a]\n\n[mount /a]\n", "agent.conf:3: [mount /a]: already set in line 1" },
		{ "[mount /a]\n[agent]\n",
			"agent.conf:2: [agent] after a [mount]: it must come first" },
		{ "[agent]\nmode = observe\n [mount /a]\n",
			"agent.conf:3: a section must begin its line" },
		{ "[mount /a]\nhold_pct = 9\n",
			"agent.conf:2: hold_pct: allowed in the first section only" },
		{ "[mount /a]\nmode = observe\nmode = observe\n",
			"agent.conf:3: mode: already set in line 2" },
		{ "[agent]\nmode = observe\nmode = enforce\n",
			"agent.conf:3: mode: already set in line 2" },
		{ "[agent]\nstate_dir = run\n",
			"agent.conf:2: state_dir = run: not an absolute path" },
		{ "[agent]\nmounts = /a b\n", "agent.conf:2: mounts: b: not an absolute path" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		assert_int_equal(parse(mistakes[i].text), -EINVAL);
		assert_string_equal(error, mistakes[i].error);
		assert_int_equal(config.hold_pct, 45); /* unchanged */
	}
}

/* The first section that matches, and that one only; the rest is [agent]'s. */
static void test_sections(void **state)
{
	const struct canfs_terms *terms;

	(void)state;
	assert_int_equal(parse("\xef\xbb\xbf[agent] ; the machine\n"
			       "link_speed = 8\n"
			       "[mount /data/db]\n"
			       "mode = enforce\n"
			       "[ mount  /data/[ab c]* ] # two of them\n"
			       "readahead = off\n"
			       "writeback = off\n"
			       "[mount /data/*]\n"
			       "link_speed = 4\n"),
		0);
	assert_int_equal(config.sections, 3);
	assert_string_equal(config.section[1].pattern, "/data/[ab c]*");
	terms = canfs_config_terms(&config, "/data/db");
	assert_true(terms->mode == CANFS_ENFORCE && terms->link_speed == 8);
	terms = canfs_config_terms(&config, "/data/backup");
	assert_true(!terms->writeback && !terms->readahead && terms->link_speed == 8);
	terms = canfs_config_terms(&config, "/data/x");
	assert_true(terms->writeback && terms->readahead && terms->link_speed == 4);
	terms = canfs_config_terms(&config, "/home");
	assert_ptr_equal(terms, &config.terms);
	assert_true(terms->mode == CANFS_OBSERVE && terms->link_speed == 8);

	assert_true(canfs_config_enforces(&config));
	canfs_config_set_mode(&config, CANFS_OBSERVE);
	assert_false(canfs_config_enforces(&config));
	/* What the next text does not say is not kept from the last one. */
	assert_int_equal(canfs_config_parse_string(&config, "agent.conf", "", error), 0);
	assert_int_equal(config.sections, 0);
}

/* A shell completes a directory with a slash; no mount point of the kernel ends in one. */
static void test_slash_at_the_end(void **state)
{
	(void)state;
	assert_int_equal(parse("[agent]\nmounts = /data/ /scratch//\n"
			       "[mount /data/]\nmode = enforce\n[mount /]\nlink_speed = 2\n"),
		0);
	assert_true(canfs_config_wants_mount(&config, "/data"));
	assert_true(canfs_config_wants_mount(&config, "/scratch"));
	assert_int_equal(canfs_config_terms(&config, "/data")->mode, CANFS_ENFORCE);
	assert_int_equal(canfs_config_terms(&config, "/")->link_speed, 2);
	assert_int_equal(parse("[mount /data]\n[mount /data/]\n"), -EINVAL);
	assert_non_null(strstr(error, "already set"));
}

/* inih alone would cut a section's name off, and so match other mounts. */
static void test_long_pattern(void **state)
{
	static const char *const point =
		"/a/mount/point/with/a/path/that/is/rather/long/as/some/are";
	char text[128];

	(void)state;
	snprintf(text, sizeof(text), "[mount %s]\nlink_speed = 9\n", point);
	assert_int_equal(parse(text), 0);
	assert_int_equal(canfs_config_terms(&config, point)->link_speed, 9);
	assert_int_equal(canfs_config_terms(&config, "/a/mount/point")->link_speed, 0);
}

static void test_too_many_sections(void **state)
{
	char text[1024] = "";

	(void)state;
	for (int i = 0; i <= CANFS_CONFIG_SECTIONS_MAX; i++)
		sprintf(text + strlen(text), "[mount /%d]\n", i);
	assert_int_equal(parse(text), -EINVAL);
	assert_string_equal(error, "agent.conf:33: more than 32 [mount] sections");
}

static void test_long_things(void **state)
{
	char text[CANFS_OPTIONS_BYTES_MAX];

	(void)state;
	strcpy(text, "[agent]\nmounts =");
	for (int i = 0; i <= CANFS_CONFIG_LIST_MAX; i++)
		strcat(text, " /m");
	assert_int_equal(parse(text), -EINVAL);
	assert_string_equal(error, "agent.conf:2: mounts: more than 16 paths");
	strcpy(text, "[agent]\nstate_dir = /");
	memset(text + strlen(text), 'd', 1000);
	text[1021] = '\0';
	assert_int_equal(parse(text), -EINVAL);
	assert_non_null(strstr(error, "agent.conf:2: line longer than "));
}

static void test_file(void **state)
{
	struct fake_root root;
	char path[PATH_MAX];

	(void)state;
	fake_root_make(&root);
	fake_root_write(&root, "/agent.conf", "[agent]\nhold_pct = 20\n");
	fake_root_full(&root, "/agent.conf", path);
	canfs_config_defaults(&config);
	assert_int_equal(canfs_config_parse_file(&config, path, error), 0);
	assert_int_equal(config.hold_pct, 20);
	fake_root_full(&root, "/none", path);
	assert_int_equal(canfs_config_parse_file(&config, path, error), -ENOENT);
	assert_non_null(strstr(error, "/none: No such file or directory"));
	fake_root_remove(&root);
}

/* The example shows every option with its default, behind a "#". */
static void test_example(void **state)
{
	struct canfs_agent_config defaults;
	char text[8192] = "[agent]\n", option[256];
	size_t n = 0;

	(void)state;
	while (canfs_options_example(&canfs_agent_options, n, option, sizeof(option))) {
		char *setting = strstr(option, "\n#");

		assert_int_equal(strncmp(option, "# ", 2), 0);
		assert_non_null(setting);
		assert_true(strlen(option) < sizeof(option) - 1 && setting - option <= 120);
		assert_int_equal(strncmp(setting + 2, canfs_agent_options.option[n].name,
					 strlen(canfs_agent_options.option[n].name)),
			0);
		strcat(text, setting + 2);
		n++;
	}
	assert_int_equal(n, canfs_agent_options.n);
	canfs_config_defaults(&defaults);
	memset(&config, 0, sizeof(config));
	assert_int_equal(canfs_config_parse_string(&config, "example", text, error), 0);
	assert_memory_equal(&config, &defaults, sizeof(config));
	assert_true(canfs_options_example(&canfs_agent_options, 0, option, sizeof(option)));
	assert_string_equal(option, "# observe logs decisions and changes nothing, enforce acts on "
				    "them (observe or enforce, per mount)\n"
				    "#mode = observe\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_every_option),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_slash_at_the_end),
		cmocka_unit_test(test_long_pattern),
		cmocka_unit_test(test_too_many_sections),
		cmocka_unit_test(test_long_things),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_example),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
