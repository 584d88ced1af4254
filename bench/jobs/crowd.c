// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-job-crowd: many idle processes with many open files, to be searched by an agent that looks
 * for writers in /proc. Creates the file READY when all files are open. Ends on SIGTERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/jobs/job.h"

#define EXIT_BAD_USE 2

struct crowd {
	unsigned int processes, files;
	const char *ready;
	char **paths; /* opened in turn */
	unsigned int path_count;
};

static void usage(void)
{
	fprintf(stderr, "usage: canfs-job-crowd --processes N --files N --ready FILE PATH...\n");
	exit(EXIT_BAD_USE);
}

static void parse_options(struct crowd *crowd, int argc, char **argv)
{
	static const struct option options[] = { { "processes", required_argument, NULL, 'p' },
		{ "files", required_argument, NULL, 'f' },
		{ "ready", required_argument, NULL, 'r' }, { 0 } };
	int option;

	*crowd = (struct crowd) { 0 };
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'p':
			crowd->processes =
				(unsigned int)canfs_job_number("processes", optarg, 1, 10000);
			break;
		case 'f':
			crowd->files = (unsigned int)canfs_job_number("files", optarg, 1, 1000);
			break;
		case 'r':
			crowd->ready = optarg;
			break;
		default:
			usage();
		}
	}
	crowd->paths = argv + optind;
	crowd->path_count = (unsigned int)(argc - optind);
	if (!crowd->processes || !crowd->files || !crowd->ready || !crowd->path_count)
		usage();
}

/* A process of the crowd. Reports its success through the pipe. */
static void be_one(const struct crowd *crowd, unsigned int number, int said)
{
	int ret = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned int i = 0; i < crowd->files && !ret; i++) {
		unsigned int at = (number * crowd->files + i) % crowd->path_count;

		if (open(crowd->paths[at], O_RDONLY | O_CLOEXEC) < 0)
			ret = errno;
	}
	if (write(said, &ret, sizeof(ret)) != sizeof(ret))
		_exit(EXIT_FAILURE);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	struct crowd crowd;
	sigset_t term;
	int said[2], ret, taken;

	parse_options(&crowd, argc, argv);
	if (pipe2(said, O_CLOEXEC) < 0)
		return EXIT_FAILURE;
	for (unsigned int i = 0; i < crowd.processes; i++) {
		pid_t pid = fork();

		if (pid == 0)
			be_one(&crowd, i, said[1]);
		if (pid < 0 || read(said[0], &ret, sizeof(ret)) != sizeof(ret) || ret) {
			fprintf(stderr, "canfs-job-crowd: process %u: %s\n", i,
				strerror(pid < 0 ? errno : ret));
			return EXIT_FAILURE; /* the other processes die with us */
		}
	}
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	close(open(crowd.ready, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	sigwait(&term, &taken);
	return EXIT_SUCCESS;
}
