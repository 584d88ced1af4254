// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The personalities of filebench 1.5 (https://github.com/filebench/filebench, workloads/). Steps,
 * sizes, and numbers of files and threads are those of its workload files.
 */
#include <stddef.h>
#include <string.h>

#include "bench/jobs/personalities.h"

#define KIB 1024u
#define MIB (1024 * KIB)

/* A step on the first set, with one slot. */
#define STEP(step, does, size)                                                                     \
	{                                                                                          \
		step, &canfs_##does, .slot = 1, .bytes = size                                      \
	}
#define OPEN(i)            STEP("open" #i, open_file, 0)
#define CREATE(i)          STEP("create" #i, create_file, 0)
#define CLOSE(i)           STEP("close" #i, close_file, 0)
#define SYNC(i)            STEP("sync" #i, sync_file, 0)
#define DELETE(i)          STEP("delete" #i, delete_file, 0)
#define STAT(i)            STEP("stat" #i, stat_file, 0)
#define READ_WHOLE(i)      STEP("read" #i, read_whole_file, MIB)
#define WRITE_WHOLE(i)     STEP("write" #i, write_whole_file, MIB)
#define APPEND(i)          STEP("append" #i, append_file, 16 * KIB)
#define OPEN_READ_CLOSE(i) OPEN(i), READ_WHOLE(i), CLOSE(i)

#define ALL_IN_ONE 1000000 /* more than the files of any set */

static const struct canfs_flow_step fileserver[] = { CREATE(1), WRITE_WHOLE(1), CLOSE(1), OPEN(2),
	APPEND(2), CLOSE(2), OPEN_READ_CLOSE(3), DELETE(1), STAT(1), { 0 } };

static const struct canfs_flow_step varmail[] = { DELETE(1), CREATE(2), APPEND(2), SYNC(2),
	CLOSE(2), OPEN(3), READ_WHOLE(3), APPEND(3), SYNC(3), CLOSE(3), OPEN_READ_CLOSE(4), { 0 } };

static const struct canfs_flow_step webserver[] = { OPEN_READ_CLOSE(1), OPEN_READ_CLOSE(2),
	OPEN_READ_CLOSE(3), OPEN_READ_CLOSE(4), OPEN_READ_CLOSE(5), OPEN_READ_CLOSE(6),
	OPEN_READ_CLOSE(7), OPEN_READ_CLOSE(8), OPEN_READ_CLOSE(9), OPEN_READ_CLOSE(10),
	{ "log", &canfs_append_file, .set = 1, .slot = 2, .bytes = 16 * KIB }, { 0 } };

static const struct canfs_flow_step webproxy[] = { DELETE(1), CREATE(1), APPEND(1), CLOSE(1),
	OPEN_READ_CLOSE(2), OPEN_READ_CLOSE(3), OPEN_READ_CLOSE(4), OPEN_READ_CLOSE(5),
	OPEN_READ_CLOSE(6), { 0 } };

/* A writer queues a batch of writes, then waits for reads. */
static const struct canfs_flow_step oltp_reader[] = {
	{ "read", &canfs_read, .bytes = 2 * KIB, .turns = true },
	{ "compute", &canfs_hog, .value = 200000, .scales = true },
	{ "post-log", &canfs_post, .to = 2 },
	{ "post-data", &canfs_post, .to = 1 },
	{ 0 },
};

static const struct canfs_flow_step oltp_data_writer[] = {
	{ "write-data", &canfs_aio_write, .bytes = 2 * KIB, .turns = true, .times = 100,
		.scales = true },
	{ "prepare", &canfs_hog, .value = 10000 },
	{ "wait-data", &canfs_block, .value = 1000, .highwater = 2000, .scales = true },
	{ .name = "reap-data", .kind = &canfs_aio_wait },
	{ 0 },
};

static const struct canfs_flow_step oltp_log_writer[] = {
	{ "write-log", &canfs_aio_write, .set = 1, .bytes = 256 * KIB },
	{ .name = "reap-log", .kind = &canfs_aio_wait },
	{ "wait-log", &canfs_block, .value = 3200, .highwater = 1000, .scales = true },
	{ 0 },
};

static const struct canfs_personality personalities[] = {
	{ "fileserver", { { "bigfileset", 10000, 20, 128 * KIB, .percent = 80 } },
		{ { 50, fileserver } } },
	{ "varmail", { { "bigfileset", 1000, ALL_IN_ONE, 16 * KIB, .percent = 80 } },
		{ { 16, varmail } } },
	{ "webserver",
		{ { "bigfileset", 1000, 20, 16 * KIB, .percent = 100, .read_only = true },
			{ "logfiles", 1, 20, 16 * KIB, .percent = 100 } },
		{ { 100, webserver } } },
	{ "webproxy",
		{ { "bigfileset", 10000, ALL_IN_ONE, 16 * KIB, .percent = 80, .same_size = true } },
		{ { 100, webproxy } } },
	{ "oltp",
		{ { "datafiles", 10, 1024, 10 * MIB, .percent = 100, .same_size = true },
			{ "logfile", 1, 1024, 10 * MIB, .percent = 100, .same_size = true } },
		{ { 200, oltp_reader }, { 10, oltp_data_writer }, { 1, oltp_log_writer } } },
};

const struct canfs_personality *canfs_personality_find(const char *name)
{
	for (size_t i = 0; i < sizeof(personalities) / sizeof(*personalities); i++)
		if (strcmp(personalities[i].name, name) == 0)
			return &personalities[i];
	return NULL;
}
