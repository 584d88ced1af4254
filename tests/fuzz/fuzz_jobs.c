// SPDX-License-Identifier: LGPL-3.0-or-later
/* A file in which a job of canfsctl run tells of itself: what is taken of it is in bounds. */
#include "tests/fuzz/text.h"

#include "canfsctl/run/jobs.h"

static void check_job(const json_t *job)
{
	double price = json_number_value(json_object_get(job, "price"));
	double sec = json_number_value(json_object_get(job, "seconds"));

	FUZZ_CHECK(json_integer_value(json_object_get(job, "pid")) > 0);
	FUZZ_CHECK(price >= 0 && price <= 1);
	FUZZ_CHECK(sec >= 0 && json_number_value(json_object_get(job, "ran_seconds")) <= sec);
	FUZZ_CHECK(json_string_value(json_object_get(job, "command")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	json_t *job = canfs_job_parse(text, size);

	if (job)
		check_job(job);
	json_decref(job);
	free(text);
	return 0;
}
