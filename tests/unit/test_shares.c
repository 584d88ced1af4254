// SPDX-License-Identifier: LGPL-3.0-or-later
/* Whose service was waited for: single steps of the accounts, as their intervals say. test_waiting.c has whole courses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include "server/waiting/shares.h"

/* Dirty pages that are written again, or thrown away, are no service that is to come. */
static void dirty_bytes_are_bounded(void **state)
{
	struct canfs_client_account accounts[2] = { { .dirty_bytes = 3e9 },
		{ .dirty_bytes = 1e9 } };
	const struct canfs_interval_client clients[2] = { { .unstable_bytes = 0 } };
	const struct canfs_interval_disk disk = {
		.dirty_bytes = 4e6, .positioning_sec = 8e-3, .bytes_per_sec = 150e6
	};

	(void)state;
	canfs_shares_step(clients, accounts, 2, &disk, 0.1);
	assert_float_equal(accounts[0].dirty_bytes, 3e6, 1);
	assert_float_equal(accounts[1].dirty_bytes, 1e6, 1);
}

/* A writer that is throttled waits for the dirty pages of the others. */
static void throttled_writers(void **state)
{
	struct canfs_client_account accounts[3] = { { .dirty_bytes = 9e8 }, { .dirty_bytes = 0 },
		{ .dirty_bytes = 1e8 } };
	const struct canfs_interval_client clients[3] = {
		[1] = { .writes = 1,
			.unstable_bytes = 4096,
			.flown_sec = { [CANFS_WAIT_WRITE] = 0.1 } }
	};
	const struct canfs_interval_disk disk = {
		.dirty_bytes = (double)NAN, .positioning_sec = 8e-3, .bytes_per_sec = 150e6
	};
	const struct canfs_others others = { .dirty_bytes = 1e9 };
	struct canfs_waits waits;

	(void)state;
	canfs_shares_step(clients, accounts, 3, &disk, 0.1);
	waits = canfs_shares_of(&accounts[0], &accounts[1], others);
	assert_float_equal(waits.operation[CANFS_WAITING_WRITE], 0.09, 0.001);
	assert_float_equal(waits.cause[CANFS_CAUSE_WRITE_BACK], 0.09, 0.001);
	waits = canfs_shares_of(&accounts[2], &accounts[1], others);
	assert_float_equal(waits.operation[CANFS_WAITING_WRITE], 0.01, 0.001);
}

/* A flush takes as long as what the drive has in its cache: whose that is, and who asks for it, divide it. Of an interval each. */
static const struct flushes {
	const char *name;
	struct canfs_interval_client client;
	struct canfs_interval_disk disk;
	enum canfs_wait_cause cause;
} flushes[] = {
	/* As recorded of a client that writes a large file, short of memory: a COMMIT every 8 MB. */
	{ "write-back", { .writes = 8, .unstable_bytes = 8.4e6, .commits = 1 },
		{ .writes = 9,
			.written_bytes = 8.4e6,
			.flush_sec = 0.07,
			.dirty_bytes = 9e6,
			.positioning_sec = 8e-3,
			.bytes_per_sec = 150e6 },
		CANFS_CAUSE_WRITE_BACK },
	{ "fsyncs", { .writes = 9, .unstable_bytes = 9 * 4096, .commits = 9 },
		{ .writes = 27,
			.written_bytes = 27 * 4096,
			.flush_sec = 0.09,
			.dirty_bytes = 1e5,
			.positioning_sec = 8e-3,
			.bytes_per_sec = 150e6 },
		CANFS_CAUSE_SYNC },
	{ "fsyncs on flash", { .writes = 130, .unstable_bytes = 130 * 4096, .commits = 130 },
		{ .writes = 390,
			.written_bytes = 390 * 4096,
			.flush_sec = 0.09,
			.dirty_bytes = 1e6,
			.positioning_sec = 20e-6,
			.bytes_per_sec = 500e6 },
		CANFS_CAUSE_SYNC },
};

static void flushes_are_divided(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(flushes) / sizeof(flushes[0]); i++) {
		struct canfs_client_account account = { 0 };
		double of_cause;

		for (int step = 0; step < 50; step++)
			canfs_shares_step(&flushes[i].client, &account, 1, &flushes[i].disk, 0.1);
		of_cause = account.service[flushes[i].cause];
		print_message("%s: %.0f %%\n", flushes[i].name,
			100 * of_cause / canfs_service_of(&account));
		assert_true(of_cause > 0.75 * canfs_service_of(&account));
	}
}

/* The one that syncs now and then waits for the data of the other. */
static void flush_beside_write_back(void **state)
{
	struct canfs_client_account accounts[2] = { 0 };
	struct canfs_interval_client clients[2] = { flushes[0].client, { .commits = 1 } };

	(void)state;
	clients[0].commits = 0;
	for (int step = 0; step < 50; step++)
		canfs_shares_step(clients, accounts, 2, &flushes[0].disk, 0.1);
	assert_true(canfs_service_of(&accounts[0]) > 4 * canfs_service_of(&accounts[1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dirty_bytes_are_bounded),
		cmocka_unit_test(throttled_writers),
		cmocka_unit_test(flushes_are_divided),
		cmocka_unit_test(flush_beside_write_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
