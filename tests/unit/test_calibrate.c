// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfsctl calibrate: what fio 3.33 and iperf3 3.12 print (shortened), and the profile made of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canfsctl/calibrate/child.h"
#include "canfsctl/calibrate/profile.h"

#define FIO(error, iops, mean)                                                                     \
	"{ \"fio version\" : \"fio-3.33\", \"jobs\" : [ { \"jobname\" : \"calibrate\", "           \
	"\"error\" : " error ", \"read\" : { \"total_ios\" : 29028, \"iops\" : " iops ", "         \
	"\"slat_ns\" : { \"mean\" : 13863.888763 }, \"clat_ns\" : { \"mean\" : 123197.158743 }, "  \
	"\"lat_ns\" : { \"min\" : 55412, \"mean\" : " mean ", \"N\" : 29028 } }, "                 \
	"\"write\" : { \"iops\" : 0.000000, \"lat_ns\" : { \"mean\" : 0.000000 } } } ] }"

#define IPERF(address, mss, rate)                                                                  \
	"{ \"start\": { \"connected\": [ { \"socket\": 5, \"local_host\": " address " } ], "       \
	"\"version\": \"iperf 3.12\", \"tcp_mss_default\": " mss " }, \"intervals\": [], "         \
	"\"end\": { \"sum_sent\": { \"bits_per_second\": 2e8 }, "                                  \
	"\"sum_received\": { \"bits_per_second\": " rate " } } }"

static void test_fio(void **state)
{
	struct canfs_load_point point = { .depth = 4 };
	char error[CANFS_RESULT_ERROR_MAX];

	(void)state;
	assert_int_equal(
		canfs_fio_parse("fio: a warning\n" FIO("0", "28999.000999", "137061.047506"),
			CANFS_READS, &point, error),
		0);
	assert_true(point.depth == 4 && fabs(point.per_sec - 28999.000999) < 1e-6);
	assert_true(fabs(point.latency_usec - 137.061047506) < 1e-9);
	/* Whole numbers are numbers too. */
	assert_int_equal(
		canfs_fio_parse(FIO("0", "90", "11000000"), CANFS_READS, &point, error), 0);
	assert_true(point.per_sec == 90 && fabs(point.latency_usec - 11000) < 1e-9);
}

static void test_broken_fio(void **state)
{
	static const char *const texts[] = { "", "{", "[]", "{}", "fio: not JSON",
		"{ \"jobs\" : 1 }", "{ \"jobs\" : [] }", "{ \"jobs\" : [ [] ] }",
		"{ \"jobs\" : [ { \"error\" : 0, \"read\" : null } ] }", FIO("0", "0", "1"),
		FIO("0", "1", "0"), FIO("0", "-1", "1"), FIO("0", "\"90\"", "1"),
		FIO("0", "1e999", "1"), FIO("0", "1", "null") };
	struct canfs_load_point point = { .depth = 4 };
	char error[CANFS_RESULT_ERROR_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(canfs_fio_parse(texts[i], CANFS_READS, &point, error), -EPROTO);
		assert_string_equal(error, "printed no result for reads");
	}
	assert_int_equal(
		canfs_fio_parse(FIO("0", "90", "1"), CANFS_WRITES, &point, error), -EPROTO);
	assert_int_equal(canfs_fio_parse(FIO("28", "90", "1"), CANFS_READS, &point, error), -EIO);
	assert_string_equal(error, "No space left on device");
	assert_int_equal(canfs_fio_parse(FIO("1e9", "90", "1"), CANFS_READS, &point, error), -EIO);
	assert_true(point.per_sec == 0);
}

static void test_iperf(void **state)
{
	struct canfs_iperf run;
	char error[CANFS_RESULT_ERROR_MAX];

	(void)state;
	assert_int_equal(
		canfs_iperf_parse(IPERF("\"10.0.0.1\"", "1448", "956406.8"), &run, error), 0);
	/* 1514 of the 1448 bytes that are the payload of a full segment */
	assert_true(fabs(run.bits_per_sec - 1e6) < 1);
	assert_string_equal(run.local_address, "10.0.0.1");
	assert_int_equal(canfs_iperf_parse(IPERF("\"::1\"", "0", "5e7"), &run, error), 0);
	assert_true(run.bits_per_sec == 5e7);
}

static void test_broken_iperf(void **state)
{
	static const char *const texts[] = { "", "{", "{}", "iperf3: not JSON",
		IPERF("\"10.0.0.1\"", "1448", "0"), IPERF("\"10.0.0.1\"", "1448", "-1"),
		IPERF("\"10.0.0.1\"", "1448", "1e14"), IPERF("null", "1448", "1e9"),
		IPERF("\"\"", "1448", "1e9"),
		IPERF("\"0123456789012345678901234567890123456789012345678901234567890123\"",
			"1448", "1e9") };
	struct canfs_iperf run = { .bits_per_sec = 7 };
	char error[CANFS_RESULT_ERROR_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(canfs_iperf_parse(texts[i], &run, error), -EPROTO);
		assert_string_equal(error, "printed no result");
	}
	assert_int_equal(
		canfs_iperf_parse("{ \"start\": { \"connected\": [] }, \"end\": {}, \"error\": "
				  "\"unable to connect to server: Connection refused\" }",
			&run, error),
		-EREMOTEIO);
	assert_string_equal(error, "unable to connect to server: Connection refused");
	assert_true(run.bits_per_sec == 7);
}

static struct canfs_calibration calibration(void)
{
	return (struct canfs_calibration) {
		.host = "client\nLink_Speed = 1;",
		.link = { 941.4e6, 939.6e6, "eth0" },
		.directory = "/srv/data",
		.disk.curves = {
			[CANFS_READS] = { { { 1, 90, 11000 } }, 1, { 1, false, true } },
			[CANFS_WRITES] = { { { 1, 90, 11000 } }, 1, { 16, false, false } },
		},
	};
}

static void assert_prints(const struct canfs_calibration *given, const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	canfs_profile_print(out, given);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

#define DISK_COMMENT                                                                               \
	"\t# disk below /srv/data; if other exports are on other disks, these lines belong in "    \
	"the\n"                                                                                    \
	"\t# EXPORT { FSAL { Name = CANFS; ... } } blocks of the exports on this one\n"

static void test_profile(void **state)
{
	struct canfs_calibration given = calibration();

	(void)state;
	assert_prints(&given, "# Measured by canfsctl calibrate: see ganesha-canfs-config(8).\n"
			      "CANFS {\n"
			      "\t# TCP to and from client?Link_Speed = 1;: 941 and 940 Mbit/s\n"
			      "\tInterfaces = eth0;\n"
			      "\tLink_Speed = 940;\n" DISK_COMMENT "\tDisk_Read_Queue = 1;\n"
			      "\tDisk_Write_Queue = 16;\n"
			      "}\n");
	given.host = NULL;
	given.disk.curves[CANFS_WRITES].knee.is_flat = true;
	assert_prints(&given,
		"# Measured by canfsctl calibrate: see ganesha-canfs-config(8).\n"
		"CANFS {\n" DISK_COMMENT "\tDisk_Read_Queue = 1;\n"
		"\t# Disk_Write_Queue by type: its write cache hides the disk's own queue\n"
		"}\n");
}

static void test_values_stay_in_the_options_ranges(void **state)
{
	struct canfs_calibration given = calibration();
	struct canfs_profile profile;

	(void)state;
	given.link.sent_bits_per_sec = 1e13;
	given.link.received_bits_per_sec = 1e20;
	assert_int_equal(canfs_profile_of(&given).link_mbit_per_sec, 10000000);
	given.link.received_bits_per_sec = 1000;
	given.disk.curves[CANFS_READS].knee = (struct canfs_knee) { .depth = 1e9 };
	profile = canfs_profile_of(&given);
	assert_int_equal(profile.link_mbit_per_sec, 1);
	assert_int_equal(profile.disk_read_queue, 65536);
}

static void test_json(void **state)
{
	struct canfs_calibration given = calibration();
	const json_t *disk;
	json_t *object;

	(void)state;
	given.directory = "/srv/\xff"; /* as any path may be */
	object = canfs_calibration_json(&given);
	disk = json_object_get(object, "disk");
	assert_non_null(object);
	assert_string_equal(json_string_value(json_object_get(disk, "directory")), "/srv/?");
	assert_int_equal(json_integer_value(json_object_get(disk, "Disk_Write_Queue")), 16);
	assert_int_equal(json_array_size(json_object_get(disk, "reads")), 1);
	json_decref(object);
}

static void test_child(void **state)
{
	const char *const talks[] = { "sh", "-c", "echo out; echo err >&2; exit 3", NULL };
	const char *const hangs[] = { "sleep", "1000", NULL };
	const char *const dies[] = { "sh", "-c", "kill -9 $$", NULL };
	const char *const missing[] = { "canfs-no-such-program", NULL };
	char *output, *errors;

	(void)state;
	assert_int_equal(canfs_child_run(talks, 60, &output, &errors), 3);
	assert_string_equal(output, "out\n");
	assert_string_equal(errors, "err\n");
	free(output);
	free(errors);
	assert_int_equal(canfs_child_run(dies, 60, &output, &errors), 128 + 9);
	free(output);
	free(errors);
	assert_int_equal(canfs_child_run(hangs, 0, &output, &errors), -ETIMEDOUT);
	assert_null(output);
	assert_int_equal(canfs_child_run(missing, 60, &output, &errors), -ENOENT);
	assert_null(errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fio),
		cmocka_unit_test(test_broken_fio),
		cmocka_unit_test(test_iperf),
		cmocka_unit_test(test_broken_iperf),
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_values_stay_in_the_options_ranges),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
