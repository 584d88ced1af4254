// SPDX-License-Identifier: LGPL-3.0-or-later
/* priced.conf: defaults, bounds, and the one line that says what is wrong; and that its manual knows each option. */
#include "tests/unit/fake_root.h"

#include "priced/config.h"
#include "pricing/price.h"
#include "protocol/price_message.h"
#include "server/monitors/source.h"

static struct canfs_priced_config config;
static char error[CANFS_OPTIONS_ERROR_MAX];

static int parse(const char *text)
{
	canfs_priced_config_defaults(&config);
	return canfs_priced_config_parse_string(&config, "priced.conf", text, NULL, error);
}

static void refused(const char *text, const char *because)
{
	assert_int_equal(parse(text), -EINVAL);
	assert_string_equal(error, because);
	assert_null(strchr(error, '\n'));
}

static void the_defaults(void **state)
{
	struct canfs_sampler_config sampler;

	(void)state;
	assert_int_equal(parse(""), 0);
	assert_int_equal(config.price_port, CANFS_PRICE_PORT);
	assert_string_equal(config.control_socket, "/run/canfs/priced.sock");
	assert_string_equal(config.etab, "/var/lib/nfs/etab");
	canfs_priced_config_of_sampler(&config, &sampler);
	assert_int_equal(sampler.interval_ms, 100);
	assert_true(sampler.publish);
	assert_int_equal(sampler.monitors,
		1u << CANFS_CPU | 1u << CANFS_NETWORK | 1u << CANFS_DISK | 1u << CANFS_MEMORY);
	assert_true(sampler.k_disk == 0);
	assert_int_equal(sampler.setup.interface_count, 0);
	assert_true(sampler.setup.whole_machine);
}

static void what_is_said_is_taken(void **state)
{
	struct canfs_sampler_config sampler;

	(void)state;
	assert_int_equal(
		parse("[priced] ; of this server\n"
		      "price_port=1\n"
		      "monitors = disk, memory\ninterfaces = eth0 eth1\nlink_speed = 1000\n"
		      "disk_read_queue = 1\ndisk_write_queue = 65536\n"
		      "k_disk = 2.5\ncontrol_socket =\netab =\n"),
		0);
	assert_int_equal(config.price_port, 1);
	assert_string_equal(config.control_socket, "");
	assert_string_equal(config.etab, "");
	canfs_priced_config_of_sampler(&config, &sampler);
	assert_true(sampler.publish);
	assert_int_equal(sampler.monitors, 1u << CANFS_DISK | 1u << CANFS_MEMORY);
	assert_int_equal(sampler.setup.interface_count, 2);
	assert_string_equal(sampler.setup.interfaces[1], "eth1");
	assert_int_equal(sampler.setup.link_mbit_per_sec, 1000);
	assert_int_equal(sampler.setup.disk_read_queue, 1);
	assert_int_equal(sampler.setup.disk_write_queue, 65536);
	assert_true(sampler.k_disk == 2.5);
}

static void what_is_wrong_is_named(void **state)
{
	(void)state;
	refused("[priced]\n\nlink_speed = 0\n",
		"priced.conf:3: link_speed = 0: not in 1 ... 10000000");
	refused("[priced]\nprice_port = 0\n", "priced.conf:2: price_port = 0: not in 1 ... 65535");
	refused("[priced]\nprice_port =\n", "priced.conf:2: price_port = : not a number");
	refused("[priced]\nprice_port = 0x10\n", "priced.conf:2: price_port = 0x10: not a number");
	refused("[priced]\nlink_speed = 1.5\n",
		"priced.conf:2: link_speed = 1.5: not a whole number");
	refused("[priced]\nk_disk = nan\n", "priced.conf:2: k_disk = nan: not a number");
	refused("[priced]\nk_disk = 1\n", "priced.conf:2: k_disk = 1: not in 1.1 ... 1000000");
	refused("[priced]\nmonitors = disk,log\n",
		"priced.conf:2: monitors: log: not of cpu network disk memory");
	refused("[priced]\nmonitors =\n", "priced.conf:2: monitors: none is named");
	refused("[priced]\ninterfaces = eth0 ../eth1\n",
		"priced.conf:2: interfaces: ../eth1: not the name of a network interface");
	refused("[priced]\netab = etab\n", "priced.conf:2: etab = etab: not an absolute path");
	refused("[priced]\nprefetch = on\n", "priced.conf:2: prefetch: unknown option");
	refused("price_port = 1\n", "priced.conf:1: price_port: not below [priced]");
	refused("[agent]\n",
		"priced.conf:1: only the sections [priced] and [class NAME] are allowed");
	refused("[priced]\nnonsense\n", "priced.conf:2: neither \"name = value\" nor a section");
	refused("[priced]\nk_disk = 2\nk_disk = 3\n",
		"priced.conf:3: k_disk: already set in line 2");
}

static void what_went_is_refused_with_what_holds(void **state)
{
	(void)state;
	refused("[priced]\nprice_interval = 200\n",
		"priced.conf:2: price_interval: no longer an option: it is always 100 ms");
	refused("[priced]\npublish = off\n",
		"priced.conf:2: publish: no longer an option: it is always on; for a while: "
		"canfsctl server set publish=off");
	refused("[priced]\nk_cpu = 2\n",
		"priced.conf:2: k_cpu: no longer an option: it is always 64");
	refused("[priced]\nweight_disk_percent = 50\n",
		"priced.conf:2: weight_disk_percent: no longer an option: all resources count "
		"alike; monitors names those that have a price");
	/* Ganesha's: it never was an option here. */
	refused("[priced]\nk_backend = 2\n", "priced.conf:2: k_backend: unknown option");
}

static void classes_are_taken(void **state)
{
	struct in6_addr client = IN6ADDR_LOOPBACK_INIT;
	const struct canfs_class *client_class;

	(void)state;
	assert_int_equal(parse("[class desks]\n"
			       "premium = -20\n"
			       "clients = ::1, fd00::/8\n"
			       "clients = 10.0.4.0/24 host.example\n"
			       "[priced]\n"
			       "price_port = 7\n"
			       "[class batch]\n"
			       "clients = *\n"),
		0);
	assert_int_equal(config.price_port, 7);
	assert_int_equal(config.classes.count, 2);
	assert_int_equal(config.classes.network_count, 4); /* names are not looked up here */
	client_class = canfs_classes_find(&config.classes, &client);
	assert_string_equal(client_class->name, "desks");
	assert_int_equal(client_class->premium_pct, -20);
	client.s6_addr[15] = 2;
	client_class = canfs_classes_find(&config.classes, &client);
	assert_string_equal(client_class->name, "batch");
	assert_int_equal(client_class->premium_pct, 0);
}

static void wrong_classes_are_named(void **state)
{
	static char many[1024];

	(void)state;
	refused("[class a]\npremium = 30\n", "priced.conf:2: class a: it has no clients");
	/* With no option at all. */
	refused("[class a]\n", "priced.conf:1: class a: it has no clients");
	refused("\n[class a]\n# none\n[priced]\nprice_port = 1\n",
		"priced.conf:2: class a: it has no clients");
	refused("[class a]\n[class b]\nclients = *\n", "priced.conf:1: class a: it has no clients");
	refused("[class b]\nclients = *\n[class a]", "priced.conf:3: class a: it has no clients");
	refused("[class a]\nclients = *\n[class a]\npremium = 3\n",
		"priced.conf:4: class a: it has no clients");
	refused("[class a]\nclients =\n[class b]\nclients = *\n",
		"priced.conf:2: class a: it has no clients");
	refused("[class a]\nclients = *\npremium = 901\n",
		"priced.conf:3: premium = 901: not in -90 ... 900");
	refused("[class a]\nclients = *\npremium = 0.3\n",
		"priced.conf:3: premium = 0.3: not a whole number");
	refused("[class a]\nclients = *\npremium = 99999999999999999999\n",
		"priced.conf:3: premium = 99999999999999999999: not in -90 ... 900");
	refused("[class a]\npremium = 3\npremium = 3\n",
		"priced.conf:3: premium: already set in line 2");
	refused("[class a]\nclients = 10.0.3.0/24 10.0.4.0/33\n",
		"priced.conf:2: clients: 10.0.4.0/33: after the slash, 0 ... 32 bits are allowed");
	refused("[class a]\nname = b\n", "priced.conf:2: name: a class has clients and premium");
	refused("[class a]\nclients = *\n[class b]\nclients = *\n[class a]\nclients = *\n",
		"priced.conf:6: class a: this name is already in use");
	refused("[class a b]\nclients = *\n",
		"priced.conf:2: class a b: its name must have 1 to 31 letters, digits, . _ and -");
	refused("[class ]\nclients = *\n",
		"priced.conf:1: only the sections [priced] and [class NAME] are allowed");
	refused("[class]\nclients = *\n",
		"priced.conf:1: only the sections [priced] and [class NAME] are allowed");
	for (int i = 0; i <= CANFS_CLASSES_MAX; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many),
			"[class a%d]\nclients = *\n", i);
	refused(many, "priced.conf:34: class a16: more than 16 classes");
}

static void a_wrong_file_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(parse("[priced]\nprice_port = 7\nlink_speed = 0\n"), -EINVAL);
	assert_int_equal(config.price_port, CANFS_PRICE_PORT);
}

static void a_file_must_be_there_and_small(void **state)
{
	struct fake_root *root = *state;
	static char text[CANFS_OPTIONS_BYTES_MAX + 2];
	char full[PATH_MAX];

	fake_root_full(root, "/priced.conf", full);
	canfs_priced_config_defaults(&config);
	assert_int_equal(canfs_priced_config_parse_file(&config, full, NULL, error), -ENOENT);
	assert_non_null(strstr(error, "priced.conf: No such file or directory"));
	fake_root_write(root, "/priced.conf", "[priced]\nprice_port = 7\n");
	assert_int_equal(canfs_priced_config_parse_file(&config, full, NULL, error), 0);
	assert_int_equal(config.price_port, 7);
	memset(text, '\n', sizeof(text) - 1);
	fake_root_write(root, "/priced.conf", text);
	assert_int_equal(canfs_priced_config_parse_file(&config, full, NULL, error), -EFBIG);
}

static void only_what_differs_is_set(void **state)
{
	struct canfs_priced_config now;
	struct canfs_settings settings = { .pmax = 0.25 };

	(void)state;
	assert_int_equal(parse(""), 0);
	now = config;
	assert_false(canfs_priced_config_pmax(&config, &now, &settings));
	assert_true(settings.pmax == 0.25);
	now.pmax_percent = 50;
	assert_true(canfs_priced_config_pmax(&config, &now, &settings));
	assert_true(settings.pmax == CANFS_PRICE_MAX / 2);
	assert_true(canfs_priced_config_pmax(NULL, &config, &settings));
	assert_true(settings.pmax == CANFS_PRICE_MAX);
}

/* Without its comment signs it says what holds anyhow. */
static void the_example_says_the_defaults(void **state)
{
	static char text[CANFS_OPTIONS_BYTES_MAX] = "[priced]\n";
	struct canfs_priced_config defaults;
	char option[256];

	(void)state;
	for (size_t i = 0; canfs_options_example(&canfs_priced_options, i, option, sizeof(option));
		i++) {
		char *value = strchr(option, '\n') + 2;

		assert_true(value - option <= 122 && strlen(value) <= 121);
		strcat(text, value);
	}
	assert_int_equal(parse(text), 0);
	canfs_priced_config_defaults(&defaults);
	assert_memory_equal(&config, &defaults, sizeof(config));
}

static void the_manual_has_each_option(void **state)
{
	static const char here[] = "tests/unit/test_priced_config.c";
	static char manual[1 << 16];
	char path[PATH_MAX], head[128];

	(void)state;
	snprintf(path, sizeof(path), "%.*spriced/man/canfs-priced.8",
		(int)(strlen(__FILE__) - strlen(here)), __FILE__);
	assert_true(canfs_read_source("", path, manual, sizeof(manual)) > 0);
	for (size_t i = 0; i < canfs_priced_options.n; i++) {
		const struct canfs_option *option = &canfs_priced_options.option[i];

		snprintf(head, sizeof(head), "\n.It Cm %s No = ", option->name);
		if (option->type == CANFS_COUNT || option->type == CANFS_REAL)
			snprintf(head, sizeof(head), "\n.It Cm %s No = %.15g ... %.15g\n",
				option->name, option->min, option->max);
		if (!strstr(manual, head))
			fail_msg("canfs-priced(8) has no '%s'", head + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_defaults),
		cmocka_unit_test(what_is_said_is_taken),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(what_went_is_refused_with_what_holds),
		cmocka_unit_test(classes_are_taken),
		cmocka_unit_test(wrong_classes_are_named),
		cmocka_unit_test(a_wrong_file_changes_nothing),
		cmocka_unit_test_setup_teardown(
			a_file_must_be_there_and_small, fake_root_setup, fake_root_teardown),
		cmocka_unit_test(only_what_differs_is_set),
		cmocka_unit_test(the_example_says_the_defaults),
		cmocka_unit_test(the_manual_has_each_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
