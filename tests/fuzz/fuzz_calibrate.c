// SPDX-License-Identifier: LGPL-3.0-or-later
/* What fio and iperf3 print: a measurement, or an error with its reason. */
#include "tests/fuzz/text.h"

#include "canfsctl/calibrate/results.h"

static void check_fio(const char *text, enum canfs_direction direction)
{
	struct canfs_load_point points[2] = { { .depth = 1 }, { .depth = 1 } };
	char error[CANFS_RESULT_ERROR_MAX] = "";
	struct canfs_knee knee;

	if (canfs_fio_parse(text, direction, &points[0], error) < 0) {
		FUZZ_CHECK(points[0].per_sec == 0 && *error);
		return;
	}
	points[1] = points[0];
	points[1].depth = 2;
	if (canfs_knee_find(points, 2, &knee) == 0)
		FUZZ_CHECK(knee.depth >= 1 && knee.depth <= 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char error[CANFS_RESULT_ERROR_MAX] = "";
	struct canfs_iperf run = { 0 };

	check_fio(text, CANFS_READS);
	check_fio(text, CANFS_WRITES);
	if (canfs_iperf_parse(text, &run, error) == 0)
		FUZZ_CHECK(run.bits_per_sec > 0 && *run.local_address);
	free(text);
	return 0;
}
