// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfsctl status, top and why: show what the agent on this host does, through its control socket.
 * top also shows the jobs of canfsctl run.
 */
#include "canfsctl/ctl.h"
#include "canfsctl/agent/agent.h"
#include "canfsctl/output.h"
#include "canfsctl/socket.h"
#include "canfsctl/run/jobs.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_SOCKET "/run/canfs/agent.sock"

struct options {
	struct ctl_peer peer;
	const char *mount; /* for why; NULL: all */
	unsigned int last; /* 0: the agent's default */
	double interval_sec;
	unsigned int count; /* number of updates; 0: no limit */
	bool batch;
	bool json;
};

enum command { STATUS = 1, TOP = 2, WHY = 4 };

static const struct ctl_option option_table[] = {
	CTL_NUMBER("interval", "=SECONDS", interval_sec, 0.1, 3600, "time between updates (1)",
		.takers = TOP),
	CTL_COUNT("count", "=N", count, 1, UINT32_MAX, "exit after N updates", .takers = TOP),
	CTL_FLAG("batch", batch, "print one update below the other, as without a terminal",
		.takers = TOP, .letter = 'n'),
	CTL_COUNT("last", "=N", last, 1, 1024, "at most N decisions (1 to 1024; default 32)",
		.takers = WHY),
	CTL_FLAG("json", json, "the agent's replies, one JSON object per line"),
	CTL_TEXT("socket", "=PATH", peer.socket, "the agent's socket (" DEFAULT_SOCKET ")"),
	{ 0 },
};

#define EPILOG "\nExit status: 0 done, 1 error, 2 usage.\n"

static const struct ctl_syntax status_syntax = {
	.name = "status",
	.usage = "usage: canfsctl status [OPTION ...]\n"
		 "\n"
		 "Shows what canfs-agent does on this host: prices, verdicts and their effect on\n"
		 "each NFS mount, and the kernel's knobs that the agent has changed.\n"
		 "\n",
	.options = option_table,
	.helped = STATUS,
	.epilog = EPILOG,
};

static const struct ctl_syntax top_syntax = {
	.name = "top",
	.usage = "usage: canfsctl top [OPTION ...]\n"
		 "\n"
		 "Shows the same for each mount, and the jobs of canfsctl run, updated every\n"
		 "second. q quits, h shows the other keys.\n"
		 "\n",
	.options = option_table,
	.helped = TOP,
	.epilog = EPILOG,
};

static const struct ctl_syntax why_syntax = {
	.name = "why",
	.usage = "usage: canfsctl why [OPTION ...] [MOUNT]\n"
		 "\n"
		 "Shows the agent's last decisions and their reasons, the latest last; with MOUNT\n"
		 "(a mount point), only those of this mount and those of all mounts together.\n"
		 "The agent keeps 64 decisions of each mount.\n"
		 "\n",
	.options = option_table,
	.helped = WHY,
	.epilog = EPILOG,
};

/* Returns -1 to go on, else the exit status. */
static int parse_command_line(
	struct options *options, const struct ctl_syntax *syntax, int argc, char **argv)
{
	unsigned int given;
	int status;

	*options = (struct options) { .peer = { .who = "agent", .socket = DEFAULT_SOCKET },
		.interval_sec = 1 };
	status = ctl_parse(syntax, options, &given, argc, argv);
	if (status >= 0)
		return status;
	if (!ctl_takes(syntax, given, syntax->name, syntax->helped))
		return CTL_USAGE;
	if (syntax->helped == WHY && optind < argc)
		options->mount = ctl_mountpoint(argv[optind++]);
	if (optind < argc) {
		ctl_warn("%s takes no argument '%s'", syntax->name, argv[optind]);
		return CTL_USAGE;
	}
	return -1;
}

/*
 * Sends a request, which is consumed, and returns the reply. Returns NULL and sets the peer's error
 * on failure.
 */
static json_t *ask_agent(struct options *options, json_t *request)
{
	json_t *reply = NULL;

	if (ctl_dial(&options->peer))
		reply = ctl_ask(&options->peer, request);
	else
		json_decref(request);
	ctl_hang_up(&options->peer);
	return reply;
}

static int print_json(const json_t *reply)
{
	return ctl_put_json(reply, JSON_COMPACT | JSON_REAL_PRECISION(15));
}

static int show_once(
	struct options *options, json_t *request, void (*show)(FILE *out, const json_t *reply))
{
	json_t *reply = ask_agent(options, request);
	int ret = 0;

	if (!reply) {
		ctl_warn("%s", options->peer.error);
		return CTL_ERROR;
	}
	if (options->json)
		ret = print_json(reply);
	else
		show(stdout, reply);
	json_decref(reply);
	return ctl_end_output(ret);
}

static json_t *status_request(void)
{
	return json_pack("{s:s}", "command", "status");
}

int ctl_status(int argc, char **argv)
{
	struct options options;
	int status = parse_command_line(&options, &status_syntax, argc, argv);

	return status >= 0 ? status : show_once(&options, status_request(), ctl_show_status);
}

int ctl_why(int argc, char **argv)
{
	struct options options;
	int status = parse_command_line(&options, &why_syntax, argc, argv);
	json_t *request;

	if (status >= 0)
		return status;
	request = json_pack("{s:s}", "command", "why");
	if (options.mount &&
		json_object_set_new(request, "mount", json_string(options.mount)) != 0) {
		ctl_warn("why: the mount point is not UTF-8");
		json_decref(request);
		return CTL_USAGE;
	}
	if (options.last != 0 &&
		json_object_set_new(request, "last", json_integer(options.last)) != 0) {
		json_decref(request);
		request = NULL; /* ctl_ask() reports it as out of memory */
	}
	return show_once(&options, request, ctl_show_why);
}

/*
 * Prints the agent's status and the jobs. The agent does not know the jobs, which may run without
 * an agent.
 */
static void show_all(FILE *out, const json_t *reply, const json_t *jobs)
{
	if (reply)
		ctl_show_top(out, reply);
	ctl_show_jobs(out, jobs);
}

static int print_picture(struct options *options)
{
	json_t *reply = ask_agent(options, status_request());
	json_t *jobs = canfs_jobs_read(CANFS_JOBS_DIRECTORY, "");
	int status = reply ? CTL_OK : CTL_ERROR;
	int ret = jobs ? 0 : -ENOMEM;

	if (!reply)
		ctl_warn("%s", options->peer.error);
	if (!options->json)
		show_all(stdout, reply, jobs);
	else if (reply && ret == 0)
		ret = json_object_set(reply, "jobs", jobs) == 0 ? print_json(reply) : -ENOMEM;
	json_decref(jobs);
	json_decref(reply);
	return ctl_end_output(ret) == CTL_OK ? status : CTL_ERROR;
}

int ctl_top(int argc, char **argv)
{
	struct options options;
	int status = parse_command_line(&options, &top_syntax, argc, argv);
	struct timespec pause;

	if (status >= 0)
		return status;
	if (!options.batch && !options.json &&
		ctl_agent_screen(&options.peer, options.interval_sec, options.count))
		return CTL_OK;
	pause.tv_sec = (time_t)options.interval_sec;
	pause.tv_nsec = (long)((options.interval_sec - (double)pause.tv_sec) * 1e9);
	for (unsigned int pictures = 1;; pictures++) {
		status = print_picture(&options);
		if (status != CTL_OK || pictures == options.count)
			return status;
		if (!options.json)
			putchar('\n');
		nanosleep(&pause, NULL);
	}
}
