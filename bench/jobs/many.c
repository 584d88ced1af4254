// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-job-many: looks up all files of an export, then reads them in random order, so that a
 * server's file caches are replaced all the time. An export has directories "0", "1" ... with
 * FILES_PER_DIRECTORY files "0", "1" ... each, of at least READ_BYTES.
 *
 * Prints 20 lines of JSON with the progress so far. A program that reads these lines may examine
 * the server meanwhile.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/jobs/job.h"
#include "bench/jobs/nfs3.h"

#define FILES_PER_DIRECTORY 1000u /* as in bench/experiments/footprint.py */
#define READ_BYTES          4096u
#define DEPTH               48 /* outstanding requests; many, so that the job wakes up seldom */
#define REPORTS             20
#define NAME_BYTES          12
#define EXIT_BAD_USE        2

struct client;

/* An outstanding request. */
struct slot {
	struct client *client;
	uint64_t file;
};

struct client {
	struct canfs_nfs3 nfs;
	char *path;
	uint64_t files, reads, random;
	struct canfs_nfs3_handle root, *directory, *file;
	struct slot slots[DEPTH];
	int (*issue)(struct client *c, struct slot *slot);
	uint64_t begun, done, wanted; /* of the current kind of request */
};

/* Issues the next request, unless all have been issued. */
static void begin(struct client *c, struct slot *slot)
{
	if (c->nfs.failed || c->begun == c->wanted)
		return;
	slot->client = c;
	if (c->issue(c, slot) != 0)
		canfs_nfs3_fail(&c->nfs, rpc_get_error(c->nfs.rpc));
	c->begun++;
}

/* NULL: the request succeeded. */
static const char *error_of(struct client *c, int rpc_status, nfsstat3 status)
{
	if (rpc_status != RPC_STATUS_SUCCESS)
		return rpc_get_error(c->nfs.rpc);
	return status != NFS3_OK ? nfsstat3_to_str((int)status) : NULL;
}

static void complete(struct slot *slot, const char *error)
{
	struct client *c = slot->client;

	if (error)
		canfs_nfs3_fail(&c->nfs, error);
	c->done++;
	begin(c, slot);
}

static void on_found(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct slot *slot = arg;
	struct client *c = slot->client;
	const struct LOOKUP3res *reply = data;
	const char *error = error_of(c, status, status == RPC_STATUS_SUCCESS ? reply->status : 0);

	(void)rpc;
	if (!error)
		canfs_nfs3_take(&c->nfs, &c->file[slot->file], &reply->LOOKUP3res_u.resok.object);
	complete(slot, error);
}

static int issue_lookup(struct client *c, struct slot *slot)
{
	struct LOOKUP3args args;
	char name[NAME_BYTES];

	slot->file = c->begun;
	snprintf(name, sizeof(name), "%u", (unsigned int)(slot->file % FILES_PER_DIRECTORY));
	args.what = (struct diropargs3) {
		canfs_nfs3_fh(&c->directory[slot->file / FILES_PER_DIRECTORY]), name
	};
	return rpc_nfs3_lookup_async(c->nfs.rpc, on_found, &args, slot);
}

static void on_read(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct slot *slot = arg;
	const struct READ3res *reply = data;
	const char *error =
		error_of(slot->client, status, status == RPC_STATUS_SUCCESS ? reply->status : 0);

	(void)rpc;
	if (!error && reply->READ3res_u.resok.count != READ_BYTES)
		error = "a short read";
	complete(slot, error);
}

static int issue_read(struct client *c, struct slot *slot)
{
	struct READ3args args = { .count = READ_BYTES };

	slot->file = canfs_job_random(&c->random) % c->files;
	args.file = canfs_nfs3_fh(&c->file[slot->file]);
	return rpc_nfs3_read_async(c->nfs.rpc, on_read, &args, slot);
}

/* Issues `wanted` requests and prints a line for each of REPORTS equal parts. */
static int run(struct client *c, const char *what,
	int (*issue)(struct client *c, struct slot *slot), uint64_t wanted)
{
	double start = canfs_job_now();

	c->issue = issue;
	c->begun = c->done = 0;
	for (uint64_t part = 1; part <= REPORTS && !c->nfs.failed; part++) {
		c->wanted = wanted * part / REPORTS;
		for (int i = 0; i < DEPTH; i++)
			begin(c, &c->slots[i]);
		while (c->done < c->wanted && !c->nfs.failed)
			canfs_nfs3_serve(&c->nfs);
		printf("{\"%s\": %llu, \"seconds\": %.3f}\n", what, (unsigned long long)c->done,
			canfs_job_now() - start);
		fflush(stdout);
	}
	return c->nfs.failed ? -EIO : 0;
}

static int find_directories(struct client *c)
{
	uint64_t directories = (c->files + FILES_PER_DIRECTORY - 1) / FILES_PER_DIRECTORY;
	int ret = 0;

	c->directory = calloc(directories, sizeof(*c->directory));
	c->file = calloc(c->files, sizeof(*c->file));
	if (!c->directory || !c->file)
		return -ENOMEM;
	for (uint64_t i = 0; i < directories && !ret; i++) {
		char name[NAME_BYTES];

		snprintf(name, sizeof(name), "%u", (unsigned int)i);
		ret = canfs_nfs3_look_up(&c->nfs, &c->root, name, &c->directory[i]);
	}
	return ret;
}

static void parse_options(struct client *c, int argc, char **argv)
{
	static const struct option options[] = { { "files", required_argument, NULL, 'f' },
		{ "reads", required_argument, NULL, 'r' }, { 0 } };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'f')
			c->files = (uint64_t)canfs_job_number("files", optarg, 1, 1e8);
		else if (option == 'r')
			c->reads = (uint64_t)canfs_job_number("reads", optarg, 1, 1e12);
		else
			optind = argc; /* getopt_long() has reported it */
	}
	if (optind + 2 != argc) {
		fprintf(stderr, "usage: canfs-job-many [--files N] [--reads N] SERVER EXPORT\n");
		exit(EXIT_BAD_USE);
	}
	c->nfs.server = argv[optind];
	c->path = argv[optind + 1];
}

int main(int argc, char **argv)
{
	struct client c = { .files = 1000, .reads = 10000 };
	int ret;

	parse_options(&c, argc, argv);
	ret = canfs_nfs3_mount(&c.nfs, c.path, &c.root);
	if (!ret)
		ret = canfs_nfs3_connect(&c.nfs);
	if (!ret)
		ret = find_directories(&c);
	if (!ret)
		ret = run(&c, "lookups", issue_lookup, c.files);
	if (!ret)
		ret = run(&c, "reads", issue_read, c.reads);
	if (ret)
		fprintf(stderr, "canfs-job-many: %s: %s\n", c.nfs.server,
			c.nfs.failed ? c.nfs.failed : strerror(-ret));
	canfs_nfs3_disconnect(&c.nfs);
	free(c.directory);
	free(c.file);
	return ret ? 1 : 0;
}
