// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-job-personality: runs a filebench personality (personalities.c) on files below DIRECTORY.
 * The directory must be empty or have the files of an earlier run with the same options.
 *
 *	--seconds N      run time
 *	--warm-up N      seconds before that in which nothing is counted; or
 *	--loops N        rounds of each thread of the first group
 *	--files N        files in the first set
 *	--file-kib N     mean size in all sets
 *	--threads N      threads of the first group. Numbers that depend on it, such as the
 *	                 writes of a batch, scale with it
 *	--ready COMMAND  runs after the files are created; the work begins when it exits
 *	--seed N         for sizes, directories and offsets
 *
 * Prints "Running..." when it begins to count, then a line of JSON with the seconds and the
 * statistics of each step.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/jobs/job.h"
#include "bench/jobs/personalities.h"

#define EXIT_BAD_USE         2
#define POLL_SECONDS         0.02
#define FILES_OF_EACH_THREAD 10 /* the minimum to create and delete files while others are open */

struct asked {
	double seconds, warm_up_seconds;
	const char *ready, *directory;
	struct canfs_personality personality;
	struct canfs_flow_run run;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = number;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: canfs-job-personality --seconds N [--warm-up N] | --loops N [--files N]\n"
		"                             [--file-kib N] [--threads N] [--ready COMMAND] "
		"[--seed N]\n"
		"                             NAME DIRECTORY\n"
		"NAME: " CANFS_PERSONALITIES "\n");
	exit(EXIT_BAD_USE);
}

static void set_threads(struct asked *asked, uint32_t threads)
{
	struct canfs_flow_group *group = asked->personality.group;

	asked->run.scale = threads ? (double)threads / group->threads : 1;
	if (threads)
		group->threads = threads;
}

static void set_files(struct asked *asked, uint32_t files, uint32_t kib)
{
	struct canfs_file_set_spec *set = asked->personality.set;
	uint32_t least = FILES_OF_EACH_THREAD * asked->personality.group->threads;

	if (files)
		set->files = files;
	/* Sets without creation and deletion are large enough for any number of threads. */
	if (set->percent < 100 && set->files < least) {
		fprintf(stderr, "--files %u: must be at least %u for %u threads\n", set->files,
			least, asked->personality.group->threads);
		exit(EXIT_BAD_USE);
	}
	for (int i = 0; kib && i < CANFS_FLOW_SETS; i++)
		set[i].mean_bytes = kib << 10;
}

static void parse_options(struct asked *asked, int argc, char **argv)
{
	static const struct option options[] = { { "seconds", required_argument, NULL, 's' },
		{ "loops", required_argument, NULL, 'l' },
		{ "warm-up", required_argument, NULL, 'w' },
		{ "files", required_argument, NULL, 'f' },
		{ "file-kib", required_argument, NULL, 'k' },
		{ "threads", required_argument, NULL, 't' },
		{ "ready", required_argument, NULL, 'r' }, { "seed", required_argument, NULL, 'e' },
		{ 0 } };
	const struct canfs_personality *personality;
	uint32_t files = 0, kib = 0, threads = 0;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 's':
			asked->seconds = canfs_job_number("seconds", optarg, 0.1, 86400);
			break;
		case 'l':
			asked->run.loops = (uint64_t)canfs_job_number("loops", optarg, 1, 1e9);
			break;
		case 'w':
			asked->warm_up_seconds = canfs_job_number("warm-up", optarg, 0, 86400);
			break;
		case 'f':
			files = (uint32_t)canfs_job_number("files", optarg, 1, 1e6);
			break;
		case 'k':
			kib = (uint32_t)canfs_job_number("file-kib", optarg, 1, 1 << 20);
			break;
		case 't':
			threads = (uint32_t)canfs_job_number("threads", optarg, 1, 1000);
			break;
		case 'r':
			asked->ready = optarg;
			break;
		case 'e':
			asked->run.seed = (uint64_t)canfs_job_number("seed", optarg, 0, 1e9);
			break;
		default:
			usage();
		}
	}
	if (optind + 2 != argc || (asked->seconds > 0) == (asked->run.loops > 0) ||
		(asked->warm_up_seconds > 0 && asked->run.loops > 0))
		usage();
	personality = canfs_personality_find(argv[optind]);
	if (!personality)
		usage();
	asked->personality = *personality;
	asked->directory = argv[optind + 1];
	set_threads(asked, threads);
	set_files(asked, files, kib);
}

static int make_sets(struct asked *asked)
{
	uint64_t random = asked->run.seed;
	int ret = 0;

	for (int i = 0; i < CANFS_FLOW_SETS && !ret; i++) {
		const struct canfs_file_set_spec *spec = &asked->personality.set[i];

		if (!spec->name)
			break;
		ret = canfs_file_set_plan(&asked->run.set[i], spec, asked->directory, &random);
		if (!ret)
			ret = canfs_file_set_make(&asked->run.set[i], &random);
	}
	return ret;
}

static pid_t start_group(struct canfs_flow_run *run, uint32_t group)
{
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGINT, SIG_IGN); /* the parent kills this process */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(canfs_flow_work(run, group) ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	return pid;
}

/*
 * Returns at this time, or when all loops are done, a thread has failed, or a process has exited
 * early.
 */
static int wait_until(const struct asked *asked, double end)
{
	struct canfs_flow_shared *shared = asked->run.shared;
	double now;
	int ret;

	while ((now = canfs_job_now()) < end) {
		ret = atomic_load(&shared->failed);
		if (ret || interrupted)
			return ret ? ret : -EINTR;
		if (atomic_load(&shared->done) == asked->personality.group->threads)
			return 0;
		if (waitpid(-1, NULL, WNOHANG) > 0)
			return -ECHILD;
		canfs_job_sleep_until(now + POLL_SECONDS < end ? now + POLL_SECONDS : end);
	}
	return 0;
}

static void print_step(
	const struct canfs_flow_run *run, uint32_t group, uint32_t number, const char *before)
{
	const struct canfs_flow_step *step = &run->personality->group[group].step[number];
	struct canfs_flow_stats sum = canfs_flow_sum(run, group, number);
	int classes = CANFS_FLOW_CLASSES;

	while (classes > 0 && sum.histogram[classes - 1] == 0)
		classes--;
	printf("%s{\"name\": \"%s\", \"kind\": \"%s\", \"ops\": %llu, \"bytes\": %llu, "
	       "\"total_ms\": %.3f, \"max_ms\": %.3f, \"histogram\": [",
		before, step->name, canfs_flow_kind_name(step), (unsigned long long)sum.ops,
		(unsigned long long)sum.bytes, (double)sum.total_ns / 1e6,
		(double)sum.max_ns / 1e6);
	for (int i = 0; i < classes; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)sum.histogram[i]);
	printf("]}");
}

static void print_result(const struct canfs_flow_run *run, double seconds)
{
	const char *before = "";

	printf("{\"personality\": \"%s\", \"seconds\": %.3f, \"steps\": [", run->personality->name,
		seconds);
	for (uint32_t group = 0; group < CANFS_FLOW_GROUPS; group++)
		for (uint32_t i = 0; i < canfs_flow_steps(&run->personality->group[group]); i++) {
			print_step(run, group, i, before);
			before = ", ";
		}
	printf("]}\n");
	fflush(stdout);
}

static int work(struct asked *asked)
{
	pid_t process[CANFS_FLOW_GROUPS] = { 0 };
	double begin;
	int ret = 0;

	asked->run.shared->warming_up = asked->warm_up_seconds > 0;
	for (uint32_t i = 0; i < CANFS_FLOW_GROUPS && !ret; i++) {
		if (!asked->personality.group[i].threads)
			break;
		process[i] = start_group(&asked->run, i);
		if (process[i] < 0)
			ret = -errno;
	}
	if (!ret)
		ret = wait_until(asked, canfs_job_now() + asked->warm_up_seconds);
	printf("Running...\n");
	fflush(stdout);
	begin = canfs_job_now();
	atomic_store(&asked->run.shared->warming_up, false);
	if (!ret)
		ret = wait_until(asked, asked->seconds > 0 ? begin + asked->seconds : HUGE_VAL);
	if (!ret)
		print_result(&asked->run, canfs_job_now() - begin);
	atomic_store(&asked->run.shared->stop, true);
	for (int i = 0; i < CANFS_FLOW_GROUPS; i++)
		if (process[i] > 0) {
			kill(process[i], SIGKILL);
			waitpid(process[i], NULL, 0);
		}
	return ret;
}

int main(int argc, char **argv)
{
	struct asked asked = { .run.seed = 1, .run.semaphores = -1 };
	struct canfs_flow_run *run = &asked.run;
	struct sigaction action = { .sa_handler = on_signal };
	int ret, status;

	parse_options(&asked, argc, argv);
	run->personality = &asked.personality;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	ret = make_sets(&asked);
	if (!ret)
		ret = canfs_flow_prepare(run);
	if (!ret && asked.ready) {
		status = system(asked.ready);
		ret = status ? -ECANCELED : 0;
	}
	if (!ret)
		ret = work(&asked);
	if (ret)
		fprintf(stderr, "canfs-job-personality: %s: %s%s%s\n", asked.directory,
			run->shared && run->shared->failed_in ? run->shared->failed_in : "",
			run->shared && run->shared->failed_in ? ": " : "", strerror(-ret));
	canfs_flow_release(run);
	for (int i = 0; i < CANFS_FLOW_SETS; i++)
		canfs_file_set_free(&run->set[i]);
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
