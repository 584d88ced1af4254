// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-job-nfs: drives an NFSv3 server with a fixed number of outstanding requests, in short
 * slices that go to its exports in turn. Prints JSON, one object per slice. All requests use the
 * same connection, so exports differ only in the file handle.
 *
 *	round 0   A B C C B A     forth and back, so that a drift of the machine's speed cancels out
 *	round 1   B C A A C B     and each export is in each position once
 *
 * An export has a file "data" for reads and files "0", "1" ... for getattr and lookup.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/jobs/job.h"
#include "bench/jobs/nfs3.h"

#define EXPORTS_MAX     8
#define FILES_MAX       1024
#define DEPTH_MAX       64
#define NAME_MAX_CHARS  12
#define WARM_UP_SECONDS 0.05
#define EXIT_BAD_USE    2

struct place {
	char *path;
	struct canfs_samples samples; /* of all its slices */
	struct canfs_nfs3_handle root, data, files[FILES_MAX];
};

struct client;

typedef int issue_fn(struct client *c, void *slot);

/* An outstanding request. */
struct slot {
	struct client *client;
	double begin;
};

struct client {
	struct canfs_nfs3 nfs;
	issue_fn *issue;
	unsigned int block_bytes, depth, files, rounds, exports;
	double slice_seconds;
	clockid_t server_clock;
	bool has_server_clock;
	struct place export[EXPORTS_MAX];
	char names[FILES_MAX][NAME_MAX_CHARS];
	uint64_t random, blocks;
	/* of a slice */
	struct place *target;
	struct slot slots[DEPTH_MAX];
	double end;
	unsigned int outstanding;
	uint64_t ops;
};

static int mount_exports(struct client *c)
{
	int ret = 0;

	for (unsigned int i = 0; i < c->exports && !ret; i++)
		ret = canfs_nfs3_mount(&c->nfs, c->export[i].path, &c->export[i].root);
	return ret;
}

static int connect_to_server(struct client *c)
{
	char data[] = "data";
	int ret = canfs_nfs3_connect(&c->nfs);

	for (unsigned int i = 0; i < c->exports && !ret; i++) {
		struct place *e = &c->export[i];

		ret = canfs_nfs3_look_up(&c->nfs, &e->root, data, &e->data);
		for (unsigned int k = 0; k < c->files && !ret; k++)
			ret = canfs_nfs3_look_up(&c->nfs, &e->root, c->names[k], &e->files[k]);
	}
	return ret;
}

/* Handles the reply to slot. Sends the next request unless the slice is over. */
static void complete(struct slot *slot, bool good)
{
	struct client *c = slot->client;
	double now = canfs_job_now();

	c->outstanding--;
	if (!good) {
		canfs_nfs3_fail(&c->nfs, "the server answered a request with an error");
		return;
	}
	canfs_samples_add(&c->target->samples, now - slot->begin);
	c->ops++;
	if (now >= c->end)
		return;
	slot->begin = now;
	if (c->issue(c, slot) != 0)
		canfs_nfs3_fail(&c->nfs, rpc_get_error(c->nfs.rpc));
	else
		c->outstanding++;
}

static void on_read(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct slot *slot = arg;
	const struct READ3res *reply = data;

	(void)rpc;
	complete(slot, status == RPC_STATUS_SUCCESS && reply->status == NFS3_OK &&
			       reply->READ3res_u.resok.count == slot->client->block_bytes);
}

static void on_getattr(struct rpc_context *rpc, int status, void *data, void *arg)
{
	const struct GETATTR3res *reply = data;

	(void)rpc;
	complete(arg, status == RPC_STATUS_SUCCESS && reply->status == NFS3_OK);
}

static void on_lookup(struct rpc_context *rpc, int status, void *data, void *arg)
{
	const struct LOOKUP3res *reply = data;

	(void)rpc;
	complete(arg, status == RPC_STATUS_SUCCESS && reply->status == NFS3_OK);
}

static int issue_read(struct client *c, void *slot)
{
	struct READ3args args = { .file = canfs_nfs3_fh(&c->target->data),
		.offset = canfs_job_random(&c->random) % c->blocks * c->block_bytes,
		.count = c->block_bytes };

	return rpc_nfs3_read_async(c->nfs.rpc, on_read, &args, slot);
}

static int issue_getattr(struct client *c, void *slot)
{
	struct GETATTR3args args = {
		.object = canfs_nfs3_fh(&c->target->files[canfs_job_random(&c->random) % c->files])
	};

	return rpc_nfs3_getattr_async(c->nfs.rpc, on_getattr, &args, slot);
}

static int issue_lookup(struct client *c, void *slot)
{
	struct LOOKUP3args args = { .what = { canfs_nfs3_fh(&c->target->root),
					    c->names[canfs_job_random(&c->random) % c->files] } };

	return rpc_nfs3_lookup_async(c->nfs.rpc, on_lookup, &args, slot);
}

static double cpu_seconds(clockid_t clock)
{
	struct timespec used = { 0 };

	clock_gettime(clock, &used);
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static double server_cpu_seconds(const struct client *c)
{
	return c->has_server_clock ? cpu_seconds(c->server_clock) : 0;
}

/* Sends requests to an export for the given time. Returns when all are answered. */
static int run_slice(struct client *c, struct place *e, double seconds)
{
	double begin = canfs_job_now();

	c->target = e;
	c->ops = 0;
	c->end = begin + seconds;
	for (unsigned int i = 0; i < c->depth; i++) {
		c->slots[i] = (struct slot) { .client = c, .begin = begin };
		if (c->issue(c, &c->slots[i]) != 0)
			canfs_nfs3_fail(&c->nfs, rpc_get_error(c->nfs.rpc));
		else
			c->outstanding++;
	}
	while (c->outstanding > 0 && !c->nfs.failed)
		canfs_nfs3_serve(&c->nfs);
	return c->nfs.failed ? -EIO : 0;
}

static int measure_slice(struct client *c, unsigned int round, unsigned int index, bool first)
{
	double begin = canfs_job_now(), server = server_cpu_seconds(c);
	double own = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID), seconds;
	int ret = run_slice(c, &c->export[index], c -> slice_seconds);

	if (ret)
		return ret;
	seconds = canfs_job_now() - begin;
	server = server_cpu_seconds(c) - server;
	own = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - own;
	printf("%s{\"round\": %u, \"export\": %u, \"ops\": %llu, \"seconds\": %.6f, "
	       "\"server_cpu_seconds\": %.6f, \"client_cpu_seconds\": %.6f}",
		first ? "" : ",\n ", round, index, (unsigned long long)c->ops, seconds, server,
		own);
	return 0;
}

/* Over all slices of an export, since a single slice is too short for a percentile. */
static void print_latencies(struct client *c)
{
	printf("\"latencies\": [");
	for (unsigned int i = 0; i < c->exports; i++) {
		struct canfs_samples *samples = &c->export[i].samples;

		canfs_samples_sort(samples);
		printf("%s{\"p50_ms\": %.4f, \"p99_ms\": %.4f}", i ? ", " : "",
			1e3 * canfs_samples_percentile(samples, 50),
			1e3 * canfs_samples_percentile(samples, 99));
	}
	printf("]");
}

static int run_rounds(struct client *c)
{
	unsigned int n = c->exports;
	int ret = 0;

	for (unsigned int i = 0; i < n && !ret; i++)
		ret = run_slice(c, &c->export[i], WARM_UP_SECONDS);
	for (unsigned int i = 0; i < n; i++)
		c->export[i].samples.count = 0;
	printf("{\"slices\": [");
	for (unsigned int round = 0; round < c->rounds; round++) {
		for (unsigned int i = 0; i < 2 * n && !ret; i++) {
			unsigned int place = i < n ? i : 2 * n - 1 - i;

			ret = measure_slice(c, round, (place + round) % n, round + i == 0);
		}
	}
	printf("],\n ");
	print_latencies(c);
	printf("}\n");
	return ret;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: canfs-job-nfs --op read|getattr|lookup [--block-kib N] [--file-mib N]\n"
		"                     [--files N] [--depth N] [--rounds N] [--slice SECONDS]\n"
		"                     [--server-pid PID]\n"
		"                     SERVER EXPORT ...\n");
	exit(EXIT_BAD_USE);
}

static issue_fn *find_op(const char *name)
{
	static const struct {
		const char *name;
		issue_fn *issue;
	} ops[] = { { "read", issue_read }, { "getattr", issue_getattr },
		{ "lookup", issue_lookup } };

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (strcmp(ops[i].name, name) == 0)
			return ops[i].issue;
	}
	fprintf(stderr, "--op %s: must be read, getattr or lookup\n", name);
	exit(EXIT_BAD_USE);
}

/*
 * Prepares to read the server's CPU time with a resolution of nanoseconds, which works for other
 * processes, too.
 */
static void watch_server(struct client *c, const char *text)
{
	pid_t pid = (pid_t)canfs_job_number("server-pid", text, 1, 1 << 30);

	if (clock_getcpuclockid(pid, &c->server_clock) != 0) {
		fprintf(stderr, "--server-pid %s: there is no such process\n", text);
		exit(EXIT_BAD_USE);
	}
	c->has_server_clock = true;
}

static unsigned int whole(const char *option, double min, double max)
{
	return (unsigned int)canfs_job_number(option, optarg, min, max);
}

static void parse_options(struct client *c, int argc, char **argv)
{
	static const struct option options[] = { { "op", required_argument, NULL, 'o' },
		{ "block-kib", required_argument, NULL, 'b' },
		{ "file-mib", required_argument, NULL, 'm' },
		{ "files", required_argument, NULL, 'f' },
		{ "depth", required_argument, NULL, 'd' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "slice", required_argument, NULL, 's' },
		{ "server-pid", required_argument, NULL, 'i' }, { 0 } };
	uint64_t file_mib = 64;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			c->issue = find_op(optarg);
			break;
		case 'b':
			c->block_bytes = 1024 * whole("block-kib", 1, 1024);
			break;
		case 'm':
			file_mib = whole("file-mib", 1, 1 << 20);
			break;
		case 'f':
			c->files = whole("files", 1, FILES_MAX);
			break;
		case 'd':
			c->depth = whole("depth", 1, DEPTH_MAX);
			break;
		case 'r':
			c->rounds = whole("rounds", 1, 100000);
			break;
		case 's':
			c->slice_seconds = canfs_job_number("slice", optarg, 0.001, 60);
			break;
		case 'i':
			watch_server(c, optarg);
			break;
		default:
			usage();
		}
	}
	if (!c->issue || optind + 2 > argc || argc - optind - 1 > EXPORTS_MAX)
		usage();
	c->blocks = (file_mib << 20) / c->block_bytes;
	c->nfs.server = argv[optind++];
	while (optind < argc)
		c->export[c->exports++].path = argv[optind++];
}

int main(int argc, char **argv)
{
	static struct client client; /* too large for the stack */
	struct client *c = &client;
	int ret;

	*c = (struct client) {
		.block_bytes = 4096, .depth = 8, .files = 256, .rounds = 8, .slice_seconds = 0.1
	};
	parse_options(c, argc, argv);
	for (unsigned int i = 0; i < c->files; i++)
		snprintf(c->names[i], sizeof(c->names[i]), "%u", i);
	ret = mount_exports(c);
	if (!ret)
		ret = connect_to_server(c);
	if (!ret)
		ret = run_rounds(c);
	if (ret)
		fprintf(stderr, "canfs-job-nfs: %s: %s\n", c->nfs.server,
			c->nfs.failed ? c->nfs.failed : strerror(-ret));
	for (unsigned int i = 0; i < c->exports; i++)
		canfs_samples_free(&c->export[i].samples);
	canfs_nfs3_disconnect(&c->nfs);
	return ret ? 1 : 0;
}
