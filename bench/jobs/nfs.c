/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * canfs-job-nfs: drives one NFSv3 server with a fixed number of outstanding requests, in short
 * slices that go to its exports in turn; JSON, one object per slice. Between exports, only the
 * file handle differs: all requests go through the same connection.
 *
 *	round 0   A B C C B A     there and back, so that a drift of the machine's speed cancels
 *	round 1   B C A A C B     and each export stands in each place
 *
 * An export holds a file "data" (read) and the files "0", "1" ... (getattr, lookup).
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

#include "bench/jobs/job.h"

#define NFS_PORT        2049
#define MOUNT_PORT      20048 /* as the lab's servers have it */
#define EXPORTS_MAX     8
#define FILES_MAX       1024
#define DEPTH_MAX       64
#define HANDLE_MAX      64 /* NFS3_FHSIZE */
#define NAME_MAX_CHARS  12
#define TIMEOUT_MSEC    10000
#define WARM_UP_SECONDS 0.05
#define EXIT_BAD_USE    2

struct handle {
	unsigned int length;
	char bytes[HANDLE_MAX];
};

struct place {
	char *path;
	struct canfs_samples samples; /* of all its slices */
	struct handle root, data, files[FILES_MAX];
};

struct client;

typedef int issue_fn(struct client *c, void *slot);

/* One outstanding request. */
struct slot {
	struct client *client;
	double begin;
};

struct client {
	const char *server;
	issue_fn *issue;
	unsigned int block_bytes, depth, files, rounds, exports;
	double slice_seconds;
	clockid_t server_clock;
	bool has_server_clock;
	struct rpc_context *rpc;
	struct place export[EXPORTS_MAX];
	char names[FILES_MAX][NAME_MAX_CHARS];
	uint64_t random, blocks;
	/* of a slice */
	struct place *target;
	struct slot slots[DEPTH_MAX];
	double end;
	unsigned int outstanding;
	uint64_t ops;
	/* of a call that is waited for */
	struct handle *wanted;
	bool done;
	const char *failed; /* what went wrong first */
};

static void fail(struct client *c, const char *what)
{
	if (!c->failed)
		c->failed = what;
}

static int serve(struct client *c)
{
	struct pollfd p = { .fd = rpc_get_fd(c->rpc), .events = (short)rpc_which_events(c->rpc) };
	int n = poll(&p, 1, TIMEOUT_MSEC);

	if (n <= 0)
		fail(c, n == 0 ? "no reply within 10 s" : strerror(errno));
	else if (rpc_service(c->rpc, p.revents) < 0)
		fail(c, rpc_get_error(c->rpc));
	return c->failed ? -EIO : 0;
}

/* Waits for the one call that was just queued; queued: what queueing it returned. */
static int await(struct client *c, int queued)
{
	if (queued != 0)
		fail(c, rpc_get_error(c->rpc));
	c->done = false;
	while (!c->failed && !c->done)
		serve(c);
	return c->failed ? -EIO : 0;
}

static void take_handle(struct client *c, const char *bytes, unsigned int length)
{
	if (length > HANDLE_MAX) {
		fail(c, "the server sent a file handle that is too long");
		return;
	}
	c->wanted->length = length;
	memcpy(c->wanted->bytes, bytes, length);
}

static void on_connect(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct client *c = arg;

	(void)rpc;
	(void)data;
	c->done = true;
	if (status != RPC_STATUS_SUCCESS)
		fail(c, "cannot connect");
}

static void on_mount(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct client *c = arg;
	const struct mountres3 *reply = data;

	(void)rpc;
	c->done = true;
	if (status != RPC_STATUS_SUCCESS || reply->fhs_status != MNT3_OK)
		fail(c, "the server refused the mount");
	else
		take_handle(c, reply->mountres3_u.mountinfo.fhandle.fhandle3_val,
			reply->mountres3_u.mountinfo.fhandle.fhandle3_len);
}

static void on_found(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct client *c = arg;
	const struct LOOKUP3res *reply = data;

	(void)rpc;
	c->done = true;
	if (status != RPC_STATUS_SUCCESS || reply->status != NFS3_OK)
		fail(c, "a file is missing in an export");
	else
		take_handle(c, reply->LOOKUP3res_u.resok.object.data.data_val,
			reply->LOOKUP3res_u.resok.object.data.data_len);
}

static struct nfs_fh3 fh(const struct handle *handle)
{
	return (struct nfs_fh3) { .data = { handle->length, (char *)handle->bytes } };
}

static int mount_exports(struct client *c)
{
	int error;

	c->rpc = rpc_init_context();
	if (!c->rpc)
		return -ENOMEM;
	error = await(c, rpc_connect_port_async(c->rpc, c->server, MOUNT_PORT, MOUNT_PROGRAM,
				 MOUNT_V3, on_connect, c));
	for (unsigned int i = 0; i < c->exports && !error; i++) {
		c->wanted = &c->export[i].root;
		error = await(c, rpc_mount3_mnt_async(c->rpc, on_mount, c->export[i].path, c));
	}
	rpc_destroy_context(c->rpc);
	c->rpc = NULL;
	return error;
}

static int look_up(struct client *c, const struct place *e, char *name, struct handle *found)
{
	struct LOOKUP3args args = { .what = { fh(&e->root), name } };

	c->wanted = found;
	return await(c, rpc_nfs3_lookup_async(c->rpc, on_found, &args, c));
}

static int connect_to_server(struct client *c)
{
	char data[] = "data";
	int error;

	c->rpc = rpc_init_context();
	if (!c->rpc)
		return -ENOMEM;
	error = await(c, rpc_connect_port_async(
				 c->rpc, c->server, NFS_PORT, NFS_PROGRAM, NFS_V3, on_connect, c));
	for (unsigned int i = 0; i < c->exports && !error; i++) {
		error = look_up(c, &c->export[i], data, &c -> export[i].data);
		for (unsigned int k = 0; k < c->files && !error; k++)
			error = look_up(c, &c->export[i], c -> names[k], &c -> export[i].files[k]);
	}
	return error;
}

/* The reply to slot has come: note it, and send the next one unless the slice is over. */
static void complete(struct slot *slot, bool good)
{
	struct client *c = slot->client;
	double now = canfs_job_now();

	c->outstanding--;
	if (!good) {
		fail(c, "the server answered a request with an error");
		return;
	}
	canfs_samples_add(&c->target->samples, now - slot->begin);
	c->ops++;
	if (now >= c->end)
		return;
	slot->begin = now;
	if (c->issue(c, slot) != 0)
		fail(c, rpc_get_error(c->rpc));
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
	struct READ3args args = { .file = fh(&c->target->data),
		.offset = canfs_job_random(&c->random) % c->blocks * c->block_bytes,
		.count = c->block_bytes };

	return rpc_nfs3_read_async(c->rpc, on_read, &args, slot);
}

static int issue_getattr(struct client *c, void *slot)
{
	struct GETATTR3args args = {
		.object = fh(&c->target->files[canfs_job_random(&c->random) % c->files])
	};

	return rpc_nfs3_getattr_async(c->rpc, on_getattr, &args, slot);
}

static int issue_lookup(struct client *c, void *slot)
{
	struct LOOKUP3args args = { .what = { fh(&c->target->root),
					    c->names[canfs_job_random(&c->random) % c->files] } };

	return rpc_nfs3_lookup_async(c->rpc, on_lookup, &args, slot);
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

/* Requests to one export for the given time; ends when all of them are answered. */
static int run_slice(struct client *c, struct place *e, double seconds)
{
	double begin = canfs_job_now();

	c->target = e;
	c->ops = 0;
	c->end = begin + seconds;
	for (unsigned int i = 0; i < c->depth; i++) {
		c->slots[i] = (struct slot) { .client = c, .begin = begin };
		if (c->issue(c, &c->slots[i]) != 0)
			fail(c, rpc_get_error(c->rpc));
		else
			c->outstanding++;
	}
	while (c->outstanding > 0 && !c->failed)
		serve(c);
	return c->failed ? -EIO : 0;
}

static int measure_slice(struct client *c, unsigned int round, unsigned int index, bool first)
{
	double begin = canfs_job_now(), server = server_cpu_seconds(c);
	double own = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID), seconds;
	int error = run_slice(c, &c->export[index], c -> slice_seconds);

	if (error)
		return error;
	seconds = canfs_job_now() - begin;
	server = server_cpu_seconds(c) - server;
	own = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - own;
	printf("%s{\"round\": %u, \"export\": %u, \"ops\": %llu, \"seconds\": %.6f, "
	       "\"server_cpu_seconds\": %.6f, \"client_cpu_seconds\": %.6f}",
		first ? "" : ",\n ", round, index, (unsigned long long)c->ops, seconds, server,
		own);
	return 0;
}

/* Over all slices of an export: one slice is too short for a percentile. */
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
	int error = 0;

	for (unsigned int i = 0; i < n && !error; i++)
		error = run_slice(c, &c->export[i], WARM_UP_SECONDS);
	for (unsigned int i = 0; i < n; i++)
		c->export[i].samples.count = 0;
	printf("{\"slices\": [");
	for (unsigned int round = 0; round < c->rounds; round++) {
		for (unsigned int i = 0; i < 2 * n && !error; i++) {
			unsigned int place = i < n ? i : 2 * n - 1 - i;

			error = measure_slice(c, round, (place + round) % n, round + i == 0);
		}
	}
	printf("],\n ");
	print_latencies(c);
	printf("}\n");
	return error;
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

/* The server's processor time, in nanoseconds: readable for another process than one's own. */
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
	c->server = argv[optind++];
	while (optind < argc)
		c->export[c->exports++].path = argv[optind++];
}

int main(int argc, char **argv)
{
	static struct client client; /* too large for a comfortable stack */
	struct client *c = &client;
	int error;

	*c = (struct client) {
		.block_bytes = 4096, .depth = 8, .files = 256, .rounds = 8, .slice_seconds = 0.1
	};
	parse_options(c, argc, argv);
	for (unsigned int i = 0; i < c->files; i++)
		snprintf(c->names[i], sizeof(c->names[i]), "%u", i);
	error = mount_exports(c);
	if (!error)
		error = connect_to_server(c);
	if (!error)
		error = run_rounds(c);
	if (error)
		fprintf(stderr, "canfs-job-nfs: %s: %s\n", c->server,
			c->failed ? c->failed : strerror(-error));
	for (unsigned int i = 0; i < c->exports; i++)
		canfs_samples_free(&c->export[i].samples);
	if (c->rpc)
		rpc_destroy_context(c->rpc);
	return error ? 1 : 0;
}
