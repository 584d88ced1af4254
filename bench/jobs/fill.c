// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-job-fill: a client that writes its file sequentially with a fixed number of outstanding
 * WRITEs, over one connection of raw NFSv3. Prints JSON. WRITEs are UNSTABLE, like those of a
 * kernel client. A final COMMIT corresponds to close(); `seconds` lasts until its reply. If the
 * server restarts during the job, it may have lost data, and the job fails.
 *
 * The data is zeros, which cost the modelled disk no memory. --at: as in canfs-job-pattern.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/jobs/job.h"
#include "bench/jobs/nfs3.h"

#define BLOCK_BYTES_MAX (1 << 20)
#define EXIT_BAD_USE    2

struct job {
	struct canfs_nfs3 nfs;
	struct canfs_nfs3_handle file;
	unsigned int block_bytes, depth;
	double at, seconds;
	double stop;            /* no WRITE is sent later */
	uint64_t next, written; /* offset of the next WRITE; bytes answered */
	unsigned int outstanding;
	bool verifier_known, committed;
	char verifier[NFS3_WRITEVERFSIZE];
};

static char zeros[BLOCK_BYTES_MAX];

/* The verifier changes when the server restarts. Then uncommitted data may be lost. */
static void check_verifier(struct job *job, const char *verifier)
{
	if (job->verifier_known && memcmp(job->verifier, verifier, NFS3_WRITEVERFSIZE) != 0)
		canfs_nfs3_fail(&job->nfs, "the server has started anew");
	memcpy(job->verifier, verifier, NFS3_WRITEVERFSIZE);
	job->verifier_known = true;
}

static void on_written(struct rpc_context *rpc, int status, void *data, void *arg);

static void send_write(struct job *job)
{
	struct WRITE3args args = { .file = canfs_nfs3_fh(&job->file),
		.offset = job->next,
		.count = job->block_bytes,
		.stable = UNSTABLE,
		.data = { job->block_bytes, zeros } };

	if (job->nfs.failed || canfs_job_now() >= job->stop)
		return;
	if (rpc_nfs3_write_async(job->nfs.rpc, on_written, &args, job) != 0) {
		canfs_nfs3_fail(&job->nfs, rpc_get_error(job->nfs.rpc));
		return;
	}
	job->next += job->block_bytes;
	job->outstanding++;
}

static void on_written(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct job *job = arg;
	const struct WRITE3res *reply = data;

	(void)rpc;
	job->outstanding--;
	if (status != RPC_STATUS_SUCCESS || reply->status != NFS3_OK ||
		reply->WRITE3res_u.resok.count != job->block_bytes) {
		canfs_nfs3_fail(&job->nfs, "the server did not take all of a WRITE");
		return;
	}
	check_verifier(job, reply->WRITE3res_u.resok.verf);
	job->written += job->block_bytes;
	send_write(job);
}

static void on_committed(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct job *job = arg;
	const struct COMMIT3res *reply = data;

	(void)rpc;
	job->committed = true;
	if (status != RPC_STATUS_SUCCESS || reply->status != NFS3_OK)
		canfs_nfs3_fail(&job->nfs, "the server answered a COMMIT with an error");
	else
		check_verifier(job, reply->COMMIT3res_u.resok.verf);
}

static void commit(struct job *job)
{
	struct COMMIT3args args = { .file = canfs_nfs3_fh(&job->file) }; /* count 0: whole file */

	if (rpc_nfs3_commit_async(job->nfs.rpc, on_committed, &args, job) != 0)
		canfs_nfs3_fail(&job->nfs, rpc_get_error(job->nfs.rpc));
	while (!job->committed && !job->nfs.failed)
		canfs_nfs3_serve(&job->nfs);
}

static void run(struct job *job)
{
	double begin;

	if (job->at > 0)
		canfs_job_sleep_until(job->at);
	begin = canfs_job_now();
	job->stop = begin + job->seconds;
	for (unsigned int i = 0; i < job->depth; i++)
		send_write(job);
	while (job->outstanding > 0 && !job->nfs.failed)
		canfs_nfs3_serve(&job->nfs);
	if (!job->nfs.failed)
		commit(job);
	if (!job->nfs.failed)
		printf("{\"bytes\": %llu, \"seconds\": %.4f}\n", (unsigned long long)job->written,
			canfs_job_now() - begin);
}

static void usage(void)
{
	fprintf(stderr, "usage: canfs-job-fill --seconds N [--block-kib N] [--depth N] [--at "
			"SECONDS] SERVER EXPORT FILE\n");
	exit(EXIT_BAD_USE);
}

static void parse_options(struct job *job, int argc, char **argv)
{
	static const struct option options[] = { { "seconds", required_argument, NULL, 's' },
		{ "block-kib", required_argument, NULL, 'b' },
		{ "depth", required_argument, NULL, 'd' }, { "at", required_argument, NULL, 'a' },
		{ 0 } };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 's':
			job->seconds = canfs_job_number("seconds", optarg, 0.01, 3600);
			break;
		case 'b':
			job->block_bytes =
				1024 * (unsigned int)canfs_job_number("block-kib", optarg, 1, 1024);
			break;
		case 'd':
			job->depth = (unsigned int)canfs_job_number("depth", optarg, 1, 1024);
			break;
		case 'a':
			job->at = canfs_job_number("at", optarg, 0, 1e12);
			break;
		default:
			usage();
		}
	}
	if (job->seconds == 0 || optind + 3 != argc)
		usage();
}

int main(int argc, char **argv)
{
	struct job job = { .block_bytes = 32768, .depth = 16 };
	struct canfs_nfs3_handle root;
	int ret;

	parse_options(&job, argc, argv);
	job.nfs.server = argv[optind];
	ret = canfs_nfs3_mount(&job.nfs, argv[optind + 1], &root);
	if (!ret)
		ret = canfs_nfs3_connect(&job.nfs);
	if (!ret)
		ret = canfs_nfs3_look_up(&job.nfs, &root, argv[optind + 2], &job.file);
	if (!ret)
		run(&job);
	if (ret || job.nfs.failed)
		fprintf(stderr, "canfs-job-fill: %s: %s\n", job.nfs.server,
			job.nfs.failed ? job.nfs.failed : strerror(-ret));
	ret = ret || job.nfs.failed;
	canfs_nfs3_disconnect(&job.nfs);
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
