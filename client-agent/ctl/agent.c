// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfsctl status, top and why: what the agent on this host does, over its control socket. */
#include "client-agent/ctl/ctl.h"
#include "client-agent/ctl/agent.h"
#include "client-agent/ctl/socket.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_SOCKET "/run/canfs/agent.sock"

struct options {
	struct ctl_peer peer;
	const char *mount; /* of why; NULL: all */
	unsigned int last; /* 0: the agent's default */
	double interval_sec;
	unsigned int count; /* pictures until the end; 0: no end */
	bool batch;
};

enum { OPT_SOCKET = 1, OPT_JSON, OPT_LAST, OPT_INTERVAL, OPT_COUNT, OPT_BATCH, OPT_HELP };

static const struct option long_options[] = {
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "last", required_argument, NULL, OPT_LAST },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "batch", no_argument, NULL, OPT_BATCH },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

#define FOR_ALL (1u << OPT_SOCKET | 1u << OPT_JSON | 1u << OPT_HELP)

static const char usage_status[] =
	"usage: canfsctl status [--json] [--socket=PATH]\n"
	"\n"
	"What canfs-agent does on this host: prices, verdicts and their effect on each\n"
	"NFS mount, and the kernel's knobs that are not as they were.\n";

static const char usage_top[] =
	"usage: canfsctl top [--interval=SECONDS] [--count=N] [-n | --batch] [--json]\n"
	"                    [--socket=PATH]\n"
	"\n"
	"The same for each mount, drawn anew each second; q ends it.\n"
	"\n"
	"  --interval=SECONDS  between two pictures (1)\n"
	"  --count=N           end after N pictures\n"
	"  -n, --batch         one picture below the other, as without a terminal\n";

static const char usage_why[] =
	"usage: canfsctl why [MOUNT] [--last=N] [--json] [--socket=PATH]\n"
	"\n"
	"The agent's last decisions and their reasons, the latest last; with MOUNT (a\n"
	"mount point) that one's and those of all mounts. It remembers 64 of each mount.\n"
	"\n"
	"  --last=N            no more than N (1 to 1024; default 32)\n";

static const char usage_common[] =
	"\n"
	"  --json              the agent's replies as they are, one a line\n"
	"  --socket=PATH       the agent's control_socket (" DEFAULT_SOCKET ")\n"
	"\n"
	"Exit status: 0 done, 1 error, 2 usage.\n";

static bool parse_option(struct options *options, int option)
{
	switch (option) {
	case OPT_SOCKET:
		options->peer.socket = optarg;
		return true;
	case OPT_JSON:
		options->peer.json = true;
		return true;
	case OPT_LAST:
		return ctl_parse_count("--last", optarg, 1, 1024, &options->last);
	case OPT_INTERVAL:
		return ctl_parse_number("--interval", optarg, 0.1, 3600, &options->interval_sec);
	case OPT_COUNT:
		return ctl_parse_count("--count", optarg, 1, UINT32_MAX, &options->count);
	case OPT_BATCH:
		options->batch = true;
		return true;
	default:
		return false; /* getopt_long() has warned */
	}
}

/* -1: go on; else the exit status. */
static int parse_command_line(struct options *options, int argc, char **argv, const char *usage,
	unsigned int takes, bool takes_mount)
{
	static char name[32];
	const char *command = argv[0];
	int option;

	*options = (struct options) { .peer = { .who = "agent", .socket = DEFAULT_SOCKET },
		.interval_sec = 1 };
	snprintf(name, sizeof(name), "canfsctl %s", command);
	argv[0] = name; /* for getopt_long()'s messages */
	while ((option = getopt_long(argc, argv, takes & 1u << OPT_BATCH ? "n" : "", long_options,
			NULL)) != -1) {
		if (option == OPT_HELP) {
			printf("%s%s", usage, usage_common);
			return CTL_OK;
		}
		if (!parse_option(options, option == 'n' ? OPT_BATCH : option))
			return CTL_USAGE;
		if (option != 'n' && !((takes | FOR_ALL) & 1u << option)) {
			ctl_warn("%s takes no --%s", command, long_options[option - 1].name);
			return CTL_USAGE;
		}
	}
	if (takes_mount && optind < argc)
		options->mount = ctl_mountpoint(argv[optind++]);
	if (optind < argc) {
		ctl_warn("%s takes no argument '%s'", command, argv[optind]);
		return CTL_USAGE;
	}
	return -1;
}

/* Asks once, and prints unless the reply has been printed as it is. */
static int show_once(
	struct options *options, json_t *request, void (*show)(FILE *out, const json_t *reply))
{
	json_t *reply =
		ctl_dial(&options->peer) ? ctl_ask(&options->peer, json_incref(request)) : NULL;

	json_decref(request);
	ctl_hang_up(&options->peer);
	if (!reply) {
		ctl_warn("%s", options->peer.error);
		return CTL_ERROR;
	}
	if (!options->peer.json)
		show(stdout, reply);
	json_decref(reply);
	if (fflush(stdout) == 0)
		return CTL_OK;
	ctl_warn("standard output: %s", strerror(errno));
	return CTL_ERROR;
}

static json_t *status_request(void)
{
	return json_pack("{s:s}", "command", "status");
}

int ctl_status(int argc, char **argv)
{
	struct options options;
	int status = parse_command_line(&options, argc, argv, usage_status, 0, false);

	return status >= 0 ? status : show_once(&options, status_request(), ctl_show_status);
}

int ctl_why(int argc, char **argv)
{
	struct options options;
	int status = parse_command_line(&options, argc, argv, usage_why, 1u << OPT_LAST, true);
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
	if (options.last != 0)
		json_object_set_new(request, "last", json_integer(options.last));
	return show_once(&options, request, ctl_show_why);
}

/* An agent that is not there may come back: the screen says so and goes on. */
static char *picture(void *data)
{
	struct options *options = data;
	json_t *reply = ctl_dial(&options->peer) ? ctl_ask(&options->peer, status_request()) : NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ctl_hang_up(&options->peer);
	if (out && reply)
		ctl_show_top(out, reply);
	else if (out)
		fprintf(out, "%s\n", options->peer.error);
	json_decref(reply);
	if (out)
		fclose(out);
	return text;
}

int ctl_top(int argc, char **argv)
{
	struct options options;
	int status = parse_command_line(&options, argc, argv, usage_top,
		1u << OPT_INTERVAL | 1u << OPT_COUNT | 1u << OPT_BATCH, false);
	struct timespec pause;

	if (status >= 0)
		return status;
	if (!options.batch && !options.peer.json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
		ctl_screen(picture, &options, options.interval_sec, options.count))
		return CTL_OK;
	pause.tv_sec = (time_t)options.interval_sec;
	pause.tv_nsec = (long)((options.interval_sec - (double)pause.tv_sec) * 1e9);
	for (unsigned int pictures = 1;; pictures++) {
		status = show_once(&options, status_request(), ctl_show_top);
		if (status != CTL_OK || pictures == options.count)
			return status;
		if (!options.peer.json)
			putchar('\n');
		nanosleep(&pause, NULL);
	}
}
