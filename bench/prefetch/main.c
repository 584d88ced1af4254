// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-replay [OPTION]... <TRACE: replays a trace of reads through the prefetcher. Each line is a
 * read,
 *
 *	FILE OFFSET BYTES [FILE_BYTES]		# numbers; the rest of a line from # on is a comment
 *
 * in the order in which the reads reached the server. Without FILE_BYTES, a file ends where the
 * trace's reads of it end.
 *
 * Prints one JSON object:
 *
 *	coverage   share of the bytes read that were already there, if advised bytes arrive within
 *	           --arrival reads
 *	late       share that was advised, but later than that
 *	waste      share of all bytes from the disk that nobody read
 *
 * It also prints how much was advised, and the fetched, used and wasted bytes in the table's own
 * account.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/jobs/job.h"
#include "bench/prefetch/replay.h"

#define FIELDS 4

struct read {
	uint64_t file, offset, bytes, file_bytes; /* file_bytes 0: not given */
};

struct trace {
	size_t reads, capacity;
	struct read *read;
};

static void refuse(const char *what, size_t line)
{
	fprintf(stderr, "canfs-replay: line %zu: %s; a line is: FILE OFFSET BYTES [FILE_BYTES]\n",
		line, what);
	exit(2);
}

static void add(struct trace *trace, struct read read)
{
	if (trace->reads == trace->capacity) {
		trace->capacity = trace->capacity ? 2 * trace->capacity : 1024;
		trace->read = reallocarray(trace->read, trace->capacity, sizeof(read));
		if (!trace->read) {
			fprintf(stderr, "canfs-replay: no memory for %zu reads\n", trace->capacity);
			exit(1);
		}
	}
	trace->read[trace->reads++] = read;
}

static void parse_line(struct trace *trace, char *line, size_t number)
{
	uint64_t field[FIELDS] = { 0 };
	int fields = 0;
	char *at = line;

	line[strcspn(line, "#\n")] = '\0';
	for (;; fields++) {
		char *end;

		at += strspn(at, " \t\r");
		if (*at == '\0')
			break;
		if (fields == FIELDS)
			refuse("more than four fields", number);
		errno = 0;
		field[fields] = strtoull(at, &end, 10);
		if (!isdigit((unsigned char)*at) || errno != 0 ||
			(*end != '\0' && !isspace((unsigned char)*end)))
			refuse("not a number", number);
		at = end;
	}
	if (fields == 0)
		return;
	if (fields < FIELDS - 1)
		refuse("a field is missing", number);
	if (field[2] < 1 || field[2] > 64 << 20 || field[1] > (uint64_t)1 << 60)
		refuse("BYTES are 1 to 67108864, OFFSET is at most 2^60", number);
	add(trace, (struct read) { field[0], field[1], field[2], field[3] });
}

static int by_file(const void *a, const void *b)
{
	const struct read *const *one = a, *const *other = b;

	return ((*one)->file > (*other)->file) - ((*one)->file < (*other)->file);
}

/* If FILE_BYTES is not given, the file ends with the last byte that is read. */
static void find_ends(struct trace *trace)
{
	struct read **sorted = calloc(trace->reads + 1, sizeof(*sorted));

	if (!sorted)
		exit(1);
	for (size_t i = 0; i < trace->reads; i++)
		sorted[i] = &trace->read[i];
	qsort(sorted, trace->reads, sizeof(*sorted), by_file);
	for (size_t i = 0, next; i < trace->reads; i = next) {
		uint64_t end = 0;

		for (next = i; next < trace->reads && sorted[next]->file == sorted[i]->file;
			next++) {
			if (end < sorted[next]->offset + sorted[next]->bytes)
				end = sorted[next]->offset + sorted[next]->bytes;
		}
		for (size_t n = i; n < next; n++) {
			if (sorted[n]->file_bytes == 0)
				sorted[n]->file_bytes = end;
		}
	}
	free(sorted);
}

static void print(const struct canfs_replay_result *result, const struct canfs_files_stats *stats)
{
	const uint64_t page = CANFS_REPLAY_PAGE_BYTES;

	printf("{\"reads\": %" PRIu64 ", \"matched\": %" PRIu64 ", \"advice\": %" PRIu64 ",\n"
	       " \"coverage\": %.4f, \"late\": %.4f, \"waste\": %.4f,\n"
	       " \"read_bytes\": %" PRIu64 ", \"prefetched_bytes\": %" PRIu64
	       ", \"wasted_bytes\": %" PRIu64 ",\n"
	       " \"account\": {\"fetched_bytes\": %" PRIu64 ", \"used_bytes\": %" PRIu64
	       ", \"wasted_bytes\": %" PRIu64 "}}\n",
		result->reads, stats->matched, result->advice, canfs_replay_coverage(result),
		result->read > 0 ? (double)result->late / (double)result->read : 0,
		canfs_replay_waste(result), result->read * page, result->prefetched * page,
		result->wasted * page, stats->fetched_bytes, stats->used_bytes,
		stats->wasted_bytes);
}

static int run(
	const struct trace *trace, const struct canfs_files_config *config, unsigned int arrival)
{
	struct canfs_files *files;
	struct canfs_replay *replay;
	struct canfs_replay_result result;
	struct canfs_files_stats stats;
	int ret = canfs_files_new(&files, config);

	if (ret != 0) {
		fprintf(stderr, "canfs-replay: %s\n", strerror(-ret));
		return 1;
	}
	replay = canfs_replay_new(files, arrival);
	if (!replay)
		ret = -ENOMEM;
	for (size_t i = 0; i < trace->reads && ret == 0; i++) {
		const struct read *read = &trace->read[i];

		ret = canfs_replay_read(
			replay, read->file, read->offset, (uint32_t)read->bytes, read->file_bytes);
	}
	if (ret == 0) {
		result = canfs_replay_result(replay);
		stats = canfs_files_stats(files);
		print(&result, &stats);
	} else {
		fprintf(stderr, "canfs-replay: %s\n", strerror(-ret));
	}
	canfs_replay_free(replay);
	canfs_files_free(files);
	return ret != 0;
}

static void usage(FILE *to)
{
	fprintf(to, "usage: canfs-replay [--unit-kib N] [--units-ahead N] [--tolerance-kib N] "
		    "[--files N] "
		    "[--cursors N] [--arrival READS] <TRACE\n"
		    "A line of TRACE is a read: FILE OFFSET BYTES [FILE_BYTES]\n");
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "unit-kib", required_argument, NULL, 'u' },
		{ "units-ahead", required_argument, NULL, 'n' },
		{ "tolerance-kib", required_argument, NULL, 't' },
		{ "files", required_argument, NULL, 'f' },
		{ "cursors", required_argument, NULL, 'c' },
		{ "arrival", required_argument, NULL, 'a' }, { "help", no_argument, NULL, 'h' },
		{ 0 } };
	struct canfs_files_config config = canfs_files_defaults;
	struct trace trace = { 0 };
	unsigned int arrival = 1;
	char *line = NULL;
	size_t capacity = 0, number = 0;
	int option, status;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'u':
			config.unit_bytes =
				1024 * (uint32_t)canfs_job_number("--unit-kib", optarg, 64, 65536);
			break;
		case 'n':
			config.units_ahead =
				(uint32_t)canfs_job_number("--units-ahead", optarg, 1, 8);
			break;
		case 't':
			config.tolerance_max_bytes =
				1024 *
				(uint32_t)canfs_job_number("--tolerance-kib", optarg, 64, 16384);
			break;
		case 'f':
			config.files =
				(uint32_t)canfs_job_number("--files", optarg, 1, CANFS_FILES_MAX);
			break;
		case 'c':
			config.cursors =
				(uint32_t)canfs_job_number("--cursors", optarg, 0, CANFS_FILES_MAX);
			break;
		case 'a':
			arrival = (unsigned int)canfs_job_number("--arrival", optarg, 0, 1e6);
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind < argc) {
		usage(stderr);
		return 2;
	}
	while (getline(&line, &capacity, stdin) >= 0)
		parse_line(&trace, line, ++number);
	free(line);
	find_ends(&trace);
	status = run(&trace, &config, arrival);
	free(trace.read);
	return status;
}
