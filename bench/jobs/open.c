// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-job-open: opens all files of an export over NFSv4.0 and keeps them open. The export has
 * directories "0", "1" ... with FILES_PER_DIRECTORY files "0", "1" ... each. Prints a line of JSON
 * when all files are open. Exits when its standard input ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>

#include "bench/jobs/job.h"

#define FILES_PER_DIRECTORY 1000 /* as in bench/experiments/footprint.py */
#define EXIT_BAD_USE        2

/* Returns 0, or -1 with the reason in *nfs. */
static int open_all(struct nfs_context *nfs, const char *server, const char *export, int files)
{
	struct nfsfh *file; /* stays open */
	char path[64];
	int ret = nfs_set_version(nfs, NFS_V4);

	if (ret == 0)
		ret = nfs_mount(nfs, server, export);
	for (int i = 0; i < files && ret == 0; i++) {
		snprintf(path, sizeof(path), "/%d/%d", i / FILES_PER_DIRECTORY,
			i % FILES_PER_DIRECTORY);
		ret = nfs_open(nfs, path, O_RDONLY, &file);
	}
	return ret == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct nfs_context *nfs = nfs_init_context();
	double begin = canfs_job_now();
	int files;
	char end;

	if (argc != 4 || !nfs) {
		fprintf(stderr, "usage: canfs-job-open SERVER EXPORT FILES\n");
		return EXIT_BAD_USE;
	}
	files = (int)canfs_job_number("FILES", argv[3], 1, 1e7);
	if (open_all(nfs, argv[1], argv[2], files) != 0) {
		fprintf(stderr, "canfs-job-open: %s\n", nfs_get_error(nfs));
		return 1;
	}
	printf("{\"opened\": %d, \"seconds\": %.3f}\n", files, canfs_job_now() - begin);
	fflush(stdout);
	while (read(STDIN_FILENO, &end, 1) > 0)
		;
	return 0;
}
