// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-job-load: an NFSv3 client that loads a server: it reads at a given rate, or as fast as
 * reads are answered, one at a time. It uses libnfs, without a cache or read-ahead.
 *
 *	--span-mib N    read random blocks in the first N MiB of the file
 *	--reread-mib N  instead: each phase sends a share of its reads to recently read blocks. The
 *	                job lists the N MiB read last, and chooses each place in that list equally
 *	                often. All other reads go to blocks not read before. So an LRU cache of
 *	                N MiB has exactly that hit rate, and each part of it is equally useful. The
 *	                list is filled before the phases begin.
 *	--phases        BEGIN-END:RATE[:REREADS],...  in seconds; rate 0: closed loop
 *	--fresh-mib N   blocks not read before begin N MiB into the file (and wrap around)
 *	--drop          drop reads that become due during another read, instead of catching up:
 *	                a read that takes longer than the interval costs reads
 *	--at SECONDS    monotonic time when the phases begin; default: when the job is ready
 *
 * Prints {"begins": SECONDS} of the monotonic clock, then {"ops": N} every half second, with the
 * number of reads since the last line. At the end prints {"p50_ms": N, "p99_ms": N} over all
 * phases.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/time.h>
#include <nfsc/libnfs.h>

#include "bench/jobs/job.h"

#define PHASES_MAX     32
#define SECONDS_MAX    3600
#define REPORT_SECONDS 0.5
#define EXIT_BAD_USE   2

struct phase {
	double begin, end; /* seconds from the start of the phases */
	double rate;       /* reads per second; 0: closed loop */
	double rereads;    /* share of the reads, [0, 1] */
};

struct load {
	size_t block_bytes;
	uint64_t span_bytes, reread_bytes, random;
	int phases;
	struct phase phase[PHASES_MAX];
	struct nfs_context *nfs;
	struct nfsfh *file;
	char *buffer;
	uint64_t blocks; /* of the span, or of the file */
	/* blocks read last, the newest at the end */
	uint64_t *recent;
	size_t recent_count, recent_max;
	uint64_t fresh; /* next block not read before */
	unsigned int ops;
	bool drop;
	double start, report_at;
	struct canfs_samples samples;
};

static void usage(void)
{
	fprintf(stderr, "usage: canfs-job-load [--block-kib N] [--span-mib N | --reread-mib N "
			"[--fresh-mib N]]\n"
			"                      [--seed N] [--at SECONDS] [--drop]\n"
			"                      --phases BEGIN-END:RATE[:REREADS][,...]\n"
			"                      nfs://SERVER/PATH/FILE\n");
	exit(EXIT_BAD_USE);
}

static void parse_phases(struct load *l, const char *text)
{
	double last = 0;

	for (const char *at = text;;) {
		struct phase *p = &l->phase[l->phases];
		int used = 0, more = 0;

		if (l->phases < PHASES_MAX)
			sscanf(at, "%lf-%lf:%lf%n:%lf%n", &p->begin, &p->end, &p->rate, &used,
				&p->rereads, &more);
		at += more > used ? more : used;
		if (used == 0 || !(p->begin >= last && p->end > p->begin) ||
			!(p->end <= SECONDS_MAX && p->rate >= 0) ||
			!(p->rereads >= 0 && p->rereads <= 1) || (*at != ',' && *at != '\0')) {
			fprintf(stderr,
				"--phases %s: must be at most %d of BEGIN-END:RATE[:REREADS], "
				"ascending, within %d s, rereads from 0 to 1\n",
				text, PHASES_MAX, SECONDS_MAX);
			exit(EXIT_BAD_USE);
		}
		last = p->end;
		l->phases++;
		if (*at++ == '\0')
			return;
	}
}

static uint64_t mib(const char *option)
{
	return (uint64_t)canfs_job_number(option, optarg, 0, 1 << 24) << 20;
}

/* Returns the file's URL. */
static const char *parse_options(struct load *l, int argc, char **argv)
{
	static const struct option options[] = { { "block-kib", required_argument, NULL, 'b' },
		{ "span-mib", required_argument, NULL, 's' },
		{ "reread-mib", required_argument, NULL, 'r' },
		{ "fresh-mib", required_argument, NULL, 'f' },
		{ "seed", required_argument, NULL, 'e' }, { "at", required_argument, NULL, 'a' },
		{ "drop", no_argument, NULL, 'd' }, { "phases", required_argument, NULL, 'p' },
		{ 0 } };
	int option;

	*l = (struct load) { .block_bytes = 32768 };
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'b':
			l->block_bytes =
				1024 * (size_t)canfs_job_number("block-kib", optarg, 4, 1024);
			break;
		case 's':
			l->span_bytes = mib("span-mib");
			break;
		case 'r':
			l->reread_bytes = mib("reread-mib");
			break;
		case 'f':
			l->fresh = mib("fresh-mib"); /* open_file() converts it to blocks */
			break;
		case 'e':
			l->random = (uint64_t)canfs_job_number("seed", optarg, 0, 1e9);
			break;
		case 'a':
			l->start = canfs_job_number("at", optarg, 0, 1e12);
			break;
		case 'd':
			l->drop = true;
			break;
		case 'p':
			parse_phases(l, optarg);
			break;
		default:
			usage();
		}
	}
	if (l->phases == 0 || optind + 1 != argc || (l->span_bytes && l->reread_bytes))
		usage();
	return argv[optind];
}

static int open_file(struct load *l, const char *text)
{
	struct nfs_stat_64 st = { 0 };
	struct nfs_url *url = NULL;
	int ret = -ENOMEM;

	l->nfs = nfs_init_context();
	l->buffer = malloc(l->block_bytes);
	if (!l->nfs || !l->buffer)
		return ret;
	url = nfs_parse_url_full(l->nfs, text);
	if (!url)
		return -EINVAL;
	ret = nfs_mount(l->nfs, url->server, url->path);
	if (ret == 0)
		ret = nfs_open(l->nfs, url->file, 0, &l->file);
	if (ret == 0)
		ret = nfs_fstat64(l->nfs, l->file, &st);
	nfs_destroy_url(url);
	if (ret != 0)
		return ret;
	if (l->span_bytes == 0 || l->span_bytes > st.nfs_size)
		l->span_bytes = st.nfs_size;
	l->blocks = l->span_bytes / l->block_bytes;
	l->recent_max = l->reread_bytes / l->block_bytes;
	l->fresh /= l->block_bytes;
	l->recent = calloc(l->recent_max + 1, sizeof(*l->recent));
	if (!l->recent)
		return -ENOMEM;
	return l->blocks == 0 || l->recent_max >= l->blocks ? -EFBIG : 0;
}

/*
 * Chooses a block with each place equally likely. Moves it to the end; a new block displaces the
 * oldest.
 */
static uint64_t next_recent(struct load *l, double rereads)
{
	uint64_t *list = l->recent;
	size_t place = 0;
	uint64_t block;

	if (l->recent_count == l->recent_max &&
		(double)(canfs_job_random(&l->random) >> 11) * 0x1p-53 < rereads) {
		place = (size_t)(canfs_job_random(&l->random) % l->recent_count);
		block = list[place];
	} else {
		block = l->fresh++ % l->blocks;
	}
	if (l->recent_count < l->recent_max)
		l->recent_count++;
	else
		memmove(&list[place], &list[place + 1],
			(l->recent_count - place - 1) * sizeof(*list));
	list[l->recent_count - 1] = block;
	return block;
}

static int read_one(struct load *l, double rereads)
{
	uint64_t block =
		l->recent_max ? next_recent(l, rereads) : canfs_job_random(&l->random) % l->blocks;
	int n = nfs_pread(
		l->nfs, l->file, block * l->block_bytes, (uint64_t)l->block_bytes, l->buffer);

	if (n != (int)l->block_bytes)
		return n < 0 ? n : -EIO;
	l->ops++;
	return 0;
}

static void report(struct load *l, double now)
{
	if (now < l->report_at)
		return;
	printf("{\"ops\": %u}\n", l->ops);
	fflush(stdout);
	l->ops = 0;
	l->report_at = now + REPORT_SECONDS;
}

static int run_phase(struct load *l, const struct phase *p)
{
	double begin = l->start + p->begin, end = l->start + p->end, now, asked;
	double pause = p->rate > 0 ? 1 / p->rate : 0, due = begin;
	int ret = 0;

	canfs_job_sleep_until(begin);
	l->report_at = begin + REPORT_SECONDS;
	for (uint64_t k = 1; !ret && due < end && (now = canfs_job_now()) < end; k++) {
		report(l, now);
		canfs_job_sleep_until(due);
		asked = canfs_job_now();
		ret = read_one(l, p->rereads);
		now = canfs_job_now();
		canfs_samples_add(&l->samples, now - asked);
		if (l->drop && pause > 0)
			k = (uint64_t)fmax((double)k, ceil((now - begin) / pause));
		due = begin + (double)k * pause;
	}
	canfs_job_sleep_until(end);
	report(l, l->report_at);
	return ret;
}

static void report_latency(struct load *l)
{
	canfs_samples_sort(&l->samples);
	printf("{\"p50_ms\": %.3f, \"p99_ms\": %.3f}\n",
		1e3 * canfs_samples_percentile(&l->samples, 50),
		1e3 * canfs_samples_percentile(&l->samples, 99));
}

int main(int argc, char **argv)
{
	struct load load, *l = &load;
	const char *url = parse_options(l, argc, argv);
	int ret = open_file(l, url);

	while (!ret && l->recent_count < l->recent_max)
		ret = read_one(l, 0);
	if (!ret) {
		if (l->start == 0)
			l->start = canfs_job_now();
		l->ops = 0;
		printf("{\"begins\": %.6f}\n", l->start);
		fflush(stdout);
		for (int i = 0; i < l->phases && !ret; i++)
			ret = run_phase(l, &l->phase[i]);
		report_latency(l);
	}
	if (ret)
		fprintf(stderr, "canfs-job-load: %s: %s: %s\n", url, strerror(-ret),
			l->nfs && nfs_get_error(l->nfs) ? nfs_get_error(l->nfs) : "");
	if (l->file)
		nfs_close(l->nfs, l->file);
	if (l->nfs)
		nfs_destroy_context(l->nfs);
	canfs_samples_free(&l->samples);
	free(l->recent);
	free(l->buffer);
	return ret ? 1 : 0;
}
