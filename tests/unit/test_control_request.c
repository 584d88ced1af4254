// SPDX-License-Identifier: LGPL-3.0-or-later
/* Requests of the control socket, text to text. */
#include "tests/unit/control_scene.h"
#include <sys/sysmacros.h>
#include "pricing/price.h"
#include "server/monitors/ghosts.h"

static double real_at(const json_t *object, const char *a, const char *b, const char *c)
{
	object = json_object_get(object, a);
	object = json_object_get(object, b);
	return json_number_value(json_object_get(object, c));
}

static void shows_prices(void **state)
{
	json_t *reply = must("{\"command\":\"prices\"}"), *other;
	const json_t *export = json_array_get(json_object_get(reply, "exports"), 0);
	double price;

	(void)state;
	assert_string_equal(json_string_value(json_object_get(export, "export")), "/srv/data");
	assert_true(json_is_true(json_object_get(export, "publishes")));
	assert_float_equal(real_at(export, "resources", "cpu", "utilization"), 0.5, 0.01);
	assert_float_equal(real_at(export, "resources", "cpu", "k"), 64, 0);
	price = real_at(export, "resources", "cpu", "price");
	assert_float_equal(price, canfs_price(0.5, 64), 0.01);
	assert_float_equal(real_at(export, "operations", "write", "price"), price, 0);
	assert_true(json_is_null(json_object_get(
		json_object_get(json_object_get(export, "resources"), "disk"), "price")));
	other = must("{\"command\":\"prices\",\"export\":\"/srv/data\"}");
	assert_true(json_equal(reply, other));
	json_decref(other);
	json_decref(reply);
	refused("{\"command\":\"prices\",\"export\":\"/srv\"}", "there is no '/srv'");
	refused("{\"command\":\"prices\",\"export\":1}", "export: must be a string");
}

/* Of very many exports a reply tells as many as it holds, or as are wanted. */
static void shows_prices_of_many_exports(void **state)
{
	static const struct {
		const char *request;
		unsigned int shown, left_out;
	} cases[] = { { "{\"command\":\"prices\"}", 1000, 2001 },
		{ "{\"command\":\"prices\",\"limit\":100}", 100, 2901 },
		{ "{\"command\":\"prices\",\"limit\":1,\"export\":\"/srv/home/2999\"}", 1, 0 } };
	static struct canfs_price_table *homes[3000];
	char path[32];

	(void)state;
	for (unsigned int i = 0; i < 3000; i++) {
		snprintf(path, sizeof(path), "/srv/home/%u", i);
		assert_int_equal(canfs_price_table_open(&homes[i], sampler, path, 0, NULL), 0);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *reply = must(cases[i].request);

		assert_int_equal(
			json_array_size(json_object_get(reply, "exports")), cases[i].shown);
		assert_int_equal(
			json_integer_value(json_object_get(reply, "left_out")), cases[i].left_out);
		json_decref(reply);
	}
	refused("{\"command\":\"prices\",\"limit\":1001}", "from 1 to 1000");
	for (unsigned int i = 0; i < 3000; i++)
		canfs_price_table_close(homes[i]);
}

/* The same requests to another sampler. */
static struct canfs_sampler *instead(const struct canfs_sampler_config *config)
{
	struct canfs_sampler *usual = subject.sampler;

	assert_int_equal(canfs_sampler_new(&subject.sampler, config), 0);
	return usual;
}

static void shows_what_the_price_of_memory_is_made_of(void **state)
{
	struct canfs_sampler_config config = { .interval_ms = 100,
		.monitors = 1u << CANFS_MEMORY,
		.setup.root = root.path,
		.say = say };
	struct canfs_sampler *usual;
	json_t *reply = must("{\"command\":\"prices\"}");

	(void)state;
	assert_true(json_is_null(json_object_get(reply, "memory")));
	json_decref(reply);
	fake_root_write(
		&root, "/proc/vmstat", "nr_dirty 5\nnr_writeback 5\nnr_dirty_threshold 100\n");
	fake_root_write(&root, "/proc/meminfo", "MemFree: 1024 kB\nCached: 1024 kB\nShmem: 0 kB\n");
	usual = instead(&config);
	reply = must("{\"command\":\"prices\"}");
	assert_true(json_is_null(json_object_get(json_object_get(reply, "memory"), "dirty")));
	assert_true(json_is_null(json_object_get(json_object_get(reply, "memory"), "read_cache")));
	json_decref(reply);
	canfs_sampler_free(subject.sampler);

	assert_int_equal(canfs_ghosts_new(&config.setup.ghosts, 1 << 20, 1), 0);
	(void)instead(&config);
	canfs_sampler_step(subject.sampler, SEC);
	reply = must("{\"command\":\"prices\"}");
	assert_float_equal(
		json_number_value(json_object_get(json_object_get(reply, "memory"), "dirty")), 0.1,
		1e-9);
	assert_float_equal(real_at(reply, "memory", "read_cache", "bytes"), 2097152, 0);
	assert_float_equal(real_at(reply, "memory", "read_cache", "hit"), 0, 0);
	assert_float_equal(
		real_at(reply, "memory", "read_cache", "ghost_memory_bytes"), 1048576, 0);
	json_decref(reply);
	canfs_sampler_free(subject.sampler);
	canfs_ghosts_free(config.setup.ghosts);
	subject.sampler = usual;
}

static void shows_config(void **state)
{
	struct canfs_sampler_config config = { .interval_ms = 100,
		.setup = { .root = root.path,
			.link_mbit_per_sec = 940,
			.disk_write_queue = 16,
			.interfaces = { "eth0", "eth1" },
			.interface_count = 2 },
		.say = say };
	const struct canfs_disk_options own = { .read_queue = 7, .k = 2.5 };
	struct canfs_sampler *usual = instead(&config);
	struct canfs_price_table *one;
	json_t *reply, *expected;

	(void)state;
	assert_int_equal(canfs_price_table_open(&one, subject.sampler, "/one", 0, &own), 0);
	reply = must("{\"command\":\"config\"}");
	json_object_del(reply, "ok");
	json_object_del(reply, "command");
	json_object_del(reply, "time");
	expected = json_pack("{s:[ss], s:i, s:[], s:[], s:[{s:s, s:i, s:i, s:f}]}", "Interfaces",
		"eth0", "eth1", "Link_Speed", 940, "Peers", "Class", "exports", "export", "/one",
		"Disk_Read_Queue", 7, "Disk_Write_Queue", 16, "K_Disk", 2.5);
	assert_true(json_equal(reply, expected));
	json_decref(expected);
	json_decref(reply);
	canfs_price_table_close(one);
	canfs_sampler_free(subject.sampler);
	subject.sampler = usual;
	reply = must("{\"command\":\"config\"}");
	assert_true(json_is_null(json_object_get(reply, "Link_Speed")));
	assert_true(json_is_null(json_object_get(
		json_array_get(json_object_get(reply, "exports"), 0), "Disk_Read_Queue")));
	json_decref(reply);
	refused("{\"command\":\"config\",\"export\":\"/one\"}", "unknown member 'export'");
}

static void shows_history(void **state)
{
	json_t *reply = must("{\"command\":\"history\"}");
	const json_t *rows = json_object_get(reply, "rows");
	const json_t *last = json_array_get(rows, json_array_size(rows) - 1);
	struct canfs_price_table *second;

	(void)state;
	assert_int_equal(json_array_size(rows), 3);
	assert_int_equal(json_array_size(last), json_array_size(json_object_get(reply, "columns")));
	/* The last whole second began a second ago. */
	assert_float_equal(json_number_value(json_array_get(last, 0)), 1799999999.5, 0.001);
	assert_float_equal(json_number_value(json_array_get(last, 5)), 0.5, 0.01);
	assert_true(json_is_null(json_array_get(last, 6)));
	json_decref(reply);
	reply = must("{\"command\":\"history\",\"seconds\":1}");
	assert_in_range(json_array_size(json_object_get(reply, "rows")), 1, 2);
	json_decref(reply);
	refused("{\"command\":\"history\",\"seconds\":601}", "from 1 to 600");
	assert_int_equal(canfs_price_table_open(&second, sampler, "/srv/more", 0, NULL), 0);
	refused("{\"command\":\"history\"}", "there are 2");
	json_decref(must("{\"command\":\"history\",\"export\":\"/srv/more\"}"));
	canfs_price_table_close(second);
}

static json_t *greet(struct canfs_control_call *call)
{
	return json_pack("{s:s}", "greeting", canfs_control_subject_of(call)->host);
}

static void a_server_may_have_more_commands(void **state)
{
	static const char *const no_members[] = { NULL };
	static const struct canfs_control_command more[] = { { "greet", no_members, greet },
		{ NULL, NULL, NULL } };
	static char greeting[] = "hello";
	json_t *reply;

	(void)state;
	refused("{\"command\":\"greet\"}", "unknown command 'greet'; allowed: prices, history");
	subject.more = more;
	subject.host = greeting;
	reply = must("{\"command\":\"greet\"}");
	assert_string_equal(json_string_value(json_object_get(reply, "greeting")), greeting);
	json_decref(reply);
	reply = must("{\"command\":\"prices\"}");
	json_decref(reply);
	refused("{\"command\":\"gree\"}", "config, set, greet");
}

static void shows_counters(void **state)
{
	struct canfs_tag tag;
	json_t *reply;

	(void)state;
	assert_true(canfs_price_table_read(prices, now_usec, &tag));
	assert_false(canfs_price_table_read(prices, now_usec + 60 * SEC, &tag));
	refused("{}", "is missing or not a string");
	reply = must("{\"command\":\"counters\"}");
	assert_string_equal(json_string_value(json_object_get(reply, "version")), CANFS_VERSION);
	assert_true(json_number_value(json_object_get(reply, "uptime_sec")) >= 0);
	assert_int_equal(json_integer_value(json_object_get(reply, "market_steps")), 4);
	assert_int_equal(json_integer_value(json_object_get(reply, "replies_priced")), 1);
	assert_int_equal(json_integer_value(json_object_get(reply, "replies_without_price")), 1);
	assert_int_equal(json_integer_value(json_object_get(reply, "requests")), 2);
	assert_int_equal(json_integer_value(json_object_get(reply, "requests_bad")), 1);
	json_decref(reply);
}

static void sets(void **state)
{
	json_t *reply = must("{\"command\":\"set\",\"k_cpu\":2,\"drain\":true}");
	struct canfs_tag tag;

	(void)state;
	assert_float_equal(json_number_value(json_object_get(reply, "k_cpu")), 2, 0);
	assert_true(json_is_true(json_object_get(reply, "publish")));
	json_decref(reply);
	assert_non_null(strstr(said, "k_cpu 64.0 -> 2.0"));
	now_usec += SEC;
	cpu(1200, 1200);
	canfs_sampler_step(sampler, now_usec);
	assert_true(canfs_price_table_read(prices, now_usec, &tag));
	assert_float_equal(tag.write, 1, 0);
	assert_float_equal(tag.readahead, canfs_price(0.5, 2), 0.01);
	assert_true(canfs_price_table_drains(prices));
	said[0] = '\0';
	json_decref(must("{\"command\":\"set\"}"));
	assert_string_equal(said, "");
	json_decref(must("{\"command\":\"set\",\"publish\":false,\"drain\":false}"));
	canfs_sampler_step(sampler, now_usec + SEC);
	assert_false(canfs_price_table_read(prices, now_usec + SEC, &tag));
}

/* Another second in which half of the processor is busy. */
static void step(void)
{
	static unsigned int ticks = 2000;

	now_usec += SEC;
	ticks += 100;
	cpu(ticks, ticks);
	canfs_sampler_step(sampler, now_usec);
}

static void sets_pmax(void **state)
{
	struct canfs_tag tag;
	json_t *reply = must("{\"command\":\"set\",\"pmax\":0.5,\"k_cpu\":2}");

	(void)state;
	assert_float_equal(json_number_value(json_object_get(reply, "pmax")), 0.5, 0);
	json_decref(reply);
	step();
	assert_true(canfs_price_table_read(prices, now_usec, &tag));
	assert_float_equal(tag.write, canfs_price(0.5, 2) / 2, 0.01);
	assert_int_equal(tag.bottleneck, CANFS_CPU);
	assert_false(canfs_price_table_drains(prices));
	/* drain says that writes are unwelcome, which no Pmax makes less true. */
	json_decref(must("{\"command\":\"set\",\"drain\":true}"));
	step();
	assert_true(canfs_price_table_read(prices, now_usec, &tag));
	assert_float_equal(tag.write, 1, 0);
	reply = must("{\"command\":\"prices\"}");
	assert_float_equal(json_number_value(json_object_get(reply, "pmax")), 0.5, 0);
	json_decref(reply);
}

static void sets_all_or_nothing(void **state)
{
	struct canfs_settings before, after;

	(void)state;
	canfs_sampler_settings(sampler, &before);
	refused("{\"command\":\"set\",\"k_disk\":3,\"k_cpu\":1}",
		"k_cpu: must be a number from 1.1");
	refused("{\"command\":\"set\",\"k_disk\":1e7}", "to 1000000");
	refused("{\"command\":\"set\",\"k_disk\":\"3\"}", "k_disk: must be a number");
	refused("{\"command\":\"set\",\"publish\":1}", "true or false");
	refused("{\"command\":\"set\",\"pmax\":1.1}", "pmax: must be a number from 0 to 1");
	refused("{\"command\":\"set\",\"pmax\":-0.1}", "from 0 to 1");
	refused("{\"command\":\"set\",\"pmax\":true}", "pmax: must be a number");
	refused("{\"command\":\"set\",\"k_dsk\":3}", "unknown member 'k_dsk'; allowed: publish, ");
	/* All members: the longest list fits. */
	refused("{\"command\":\"set\",\"a name as long as it is shown -----\":3}",
		", k_memory, k_backend");
	canfs_sampler_settings(sampler, &after);
	assert_memory_equal(&before, &after, sizeof(before));
}

static void k_of_the_disk_may_be_left_to_its_type(void **state)
{
	json_t *reply = must("{\"command\":\"set\"}");

	(void)state;
	assert_true(json_is_null(json_object_get(reply, "k_disk")));
	json_decref(reply);
	reply = must("{\"command\":\"set\",\"k_disk\":12}");
	assert_float_equal(json_real_value(json_object_get(reply, "k_disk")), 12, 0);
	assert_non_null(strstr(said, "k_disk null -> 12"));
	json_decref(reply);
	reply = must("{\"command\":\"set\",\"k_disk\":null}");
	assert_true(json_is_null(json_object_get(reply, "k_disk")));
	assert_non_null(strstr(said, "k_disk 12.0 -> null"));
	json_decref(reply);
	refused("{\"command\":\"set\",\"k_cpu\":null}", "k_cpu: must be a number");
	refused("{\"command\":\"set\",\"k_disk\":0}", "to 1000000, or null (default)");
}

static void shows_what_the_disk_is_taken_for(void **state)
{
	struct canfs_sampler_config config = {
		.interval_ms = 100, .monitors = 1u << CANFS_DISK, .say = say
	};
	struct canfs_sampler *cpu_sampler = sampler;
	struct canfs_price_table *on_disk;
	char disk[PATH_MAX], link[PATH_MAX];
	const json_t *shown;
	json_t *reply;

	(void)state;
	reply = must("{\"command\":\"prices\"}");
	shown = json_array_get(json_object_get(reply, "exports"), 0);
	shown = json_object_get(json_object_get(shown, "resources"), "disk");
	assert_null(json_object_get(shown, "type"));
	json_decref(reply);

	fake_root_write(&root, "/sys/devices/sda/queue/rotational", "0\n");
	fake_root_write(&root, "/sys/dev/block/none", "");
	fake_root_full(&root, "/sys/devices/sda", disk);
	fake_root_full(&root, "/sys/dev/block/8:0", link);
	assert_int_equal(symlink(disk, link), 0);
	config.setup.root = root.path;
	assert_int_equal(canfs_sampler_new(&sampler, &config), 0);
	subject.sampler = sampler;
	assert_int_equal(canfs_price_table_open(&on_disk, sampler, "/d", makedev(8, 0), NULL), 0);
	canfs_sampler_step(sampler, now_usec);
	reply = must("{\"command\":\"prices\"}");
	shown = json_array_get(json_object_get(reply, "exports"), 0);
	shown = json_object_get(json_object_get(shown, "resources"), "disk");
	assert_string_equal(json_string_value(json_object_get(shown, "type")), "ssd");
	assert_float_equal(json_number_value(json_object_get(shown, "nominal_reads")), 32, 0);
	assert_float_equal(json_number_value(json_object_get(shown, "nominal_writes")), 64, 0);
	assert_float_equal(json_number_value(json_object_get(shown, "k")), 32, 0);
	json_decref(reply);
	canfs_price_table_close(on_disk);
	canfs_sampler_free(sampler);
	sampler = cpu_sampler;
}

static void refuses_what_is_no_request(void **state)
{
	char nested[CANFS_CONTROL_REQUEST_MAX];

	(void)state;
	memset(nested, '[', sizeof(nested) - 1);
	nested[sizeof(nested) - 1] = '\0';
	refused("", "not JSON");
	refused("hello", "not JSON");
	refused(nested, "not JSON");
	refused("{\"command\":\"prices\"} x", "not JSON");
	refused("{\"command\":\"prices\",\"command\":\"set\"}", "not JSON");
	refused("\xff\xfe", "not JSON");
	refused("[1]", "must be a JSON object");
	refused("{\"command\":5}", "is missing or not a string");
	refused("{\"command\":\"h\\u00e4h\"}", "unknown command 'h??h'; allowed: prices, history");
	refused("{\"command\":\"counters\",\"a\":1}", "unknown member 'a'; allowed: none");
	assert_int_equal(counters.requests_bad, counters.requests);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(shows_prices, set_up, tear_down),
		cmocka_unit_test_setup_teardown(shows_prices_of_many_exports, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			shows_what_the_price_of_memory_is_made_of, set_up, tear_down),
		cmocka_unit_test_setup_teardown(shows_config, set_up, tear_down),
		cmocka_unit_test_setup_teardown(shows_history, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_server_may_have_more_commands, set_up, tear_down),
		cmocka_unit_test_setup_teardown(shows_counters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sets_pmax, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sets_all_or_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			k_of_the_disk_may_be_left_to_its_type, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			shows_what_the_disk_is_taken_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_what_is_no_request, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
