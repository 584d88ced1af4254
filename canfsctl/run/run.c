// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfsctl run: a background job, paused while its server is expensive.
 *
 *	prices --> law --> stopper --> job          beside this file
 *	                     |
 *	                 watchdog                    continues the job if we cannot
 */
#include "canfsctl/run/govern.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The exit statuses of env(1), nice(1) and shells. */
enum { CANNOT_RUN = 126, NOT_FOUND = 127, BY_SIGNAL = 128 };

struct options {
	double at_least_pct, patience_sec, bid;
	bool signals; /* use signals instead of a control group */
	bool verbose;
	unsigned int price_port;
	const char *server; /* as typed */
	struct ctl_governed governed;
};

static const struct ctl_option option_table[] = {
	CTL_NUMBER("at-least", "=PCT", at_least_pct, 0, 100,
		"run for this share of the time at any price (0)"),
	CTL_NUMBER("patience", "=SECONDS", patience_sec, 1, 3600,
		"never pause for longer than this (30)"),
	CTL_NUMBER("bid", "=PRICE", bid, 0, 1, "yield to others above this price (0.5)"),
	CTL_TEXT("server", "=EXPORT", server,
		"SERVER:/PATH or a mount point (those that the job uses)"),
	CTL_TEXT("attach", "=WHAT", governed.attach,
		"process ID, control group or unit, instead of COMMAND"),
	CTL_COUNT("price-port", "=N", price_port, 0, UINT16_MAX,
		"UDP port of price services (20590); 0: do not use them"),
	CTL_FLAG("signals", signals, "pause by SIGSTOP and SIGCONT, not by a control group"),
	CTL_FLAG("verbose", verbose, "report each pause and its reason", .letter = 'v'),
	CTL_EXPORT_OPTIONS(governed.export),
	{ 0 },
};

static const struct ctl_syntax syntax = {
	.name = "run",
	.usage = "usage: canfsctl run [OPTION ...] [--] COMMAND [ARGUMENT ...]\n"
		 "       canfsctl run [OPTION ...] --attach=WHAT\n"
		 "\n"
		 "Runs a job that nobody waits for, and pauses it while its NFS server is\n"
		 "expensive to others. Not for programs that hold locks or transactions.\n"
		 "\n",
	.options = option_table,
	.command_follows = true,
	.epilog = "\n"
		  "Ports and --nfs-version need --server=SERVER:/PATH.\n"
		  "Exit status: COMMAND's; 126 cannot run it, 127 not found, 1 error, 2 usage.\n",
};

/* A mount point that looks like an export must be typed as ./NAME or as an absolute path. */
static bool is_export(const char *server)
{
	return *server != '/' && *server != '.' && strchr(server, ':');
}

/* Ports and --nfs-version require SERVER:/PATH. */
static bool settle_server(struct ctl_governed *governed, char *server)
{
	const struct ctl_export *export = &governed->export;

	if (!ctl_export_settle(&governed->export))
		return false;
	if (server && is_export(server))
		return ctl_export_parse(&governed->export, server);
	governed->server = ctl_mountpoint(server);
	if (export->version || export->nfs_port || export->mount_port || export->rpcbind_port) {
		ctl_warn("run: ports and --nfs-version need --server=SERVER:/PATH");
		return false;
	}
	return true;
}

/* Returns -1 to go on, else the exit status. */
static int parse_command_line(struct options *options, int argc, char **argv)
{
	struct ctl_governed *governed = &options->governed;
	unsigned int given;
	int status;

	*options = (struct options) {
		.at_least_pct = canfs_govern_defaults.at_least * 100,
		.patience_sec = (double)canfs_govern_defaults.patience_usec / 1e6,
		.bid = canfs_govern_defaults.bid,
		.price_port = CANFS_PRICE_PORT,
	};
	status = ctl_parse(&syntax, options, &given, argc, argv);
	if (status >= 0)
		return status;
	if (governed->attach && (optind < argc || options->signals)) {
		ctl_warn("run: --attach takes no %s", optind < argc ? "COMMAND" : "--signals");
		return CTL_USAGE;
	}
	if (!governed->attach && optind == argc) {
		ctl_warn("run: expected COMMAND [ARGUMENT ...] or --attach=WHAT");
		return CTL_USAGE;
	}
	governed->command = governed->attach ? NULL : argv + optind;
	return settle_server(governed, (char *)options->server) ? -1 : CTL_USAGE;
}

/* Ends us by the same signal as the job, so that a shell ends its loop, too. */
static int end_by_signal(const struct ctl_run *run, int number)
{
	const struct rlimit no_core = { 0 };
	sigset_t set;

	setrlimit(RLIMIT_CORE, &no_core);
	signal(SIGPIPE, SIG_IGN); /* a pending SIGPIPE from our own output would end us first */
	signal(number, SIG_DFL);
	sigprocmask(SIG_SETMASK, &run->before, NULL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return BY_SIGNAL + number;
}

static int exit_status(const struct ctl_run *run)
{
	int status;

	if (run->ended_by)
		return end_by_signal(run, run->ended_by);
	if (run->governed->attach)
		return CTL_OK;
	while (waitpid(run->process.pid, &status, 0) < 0) {
		if (errno != EINTR)
			return CTL_ERROR;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : end_by_signal(run, WTERMSIG(status));
}

static int say_not_run(const char *command, int ret)
{
	ctl_warn("%s: %s", command, strerrordesc_np(-ret));
	return ret == -ENOENT ? NOT_FOUND : CANNOT_RUN;
}

/* Runs the command unpaused, since no server can be asked. */
static int run_ungoverned(char **command)
{
	execvp(command[0], command);
	return say_not_run(command[0], -errno);
}

static int run_attached(struct ctl_run *run)
{
	int ret = ctl_run_catch_signals(run);

	if (ret == 0)
		ret = ctl_run_begin(run);
	if (ret < 0) {
		ctl_warn("--attach: cannot pause the job: %s", strerrordesc_np(-ret));
		return CTL_ERROR;
	}
	ctl_run_govern(run);
	ctl_run_finish(run);
	return exit_status(run);
}

static int run_command(struct ctl_run *run, bool signals)
{
	char **argv = run->governed->command;
	int ret = ctl_run_catch_signals(run);

	/* If SIGCHLD is ignored, as some daemons leave it, a child's exit status is lost. */
	signal(SIGCHLD, SIG_DFL);
	if (ret == 0)
		ret = canfs_process_start(&run->process, argv, &run->before);
	if (ret < 0)
		goto ungoverned;
	canfs_stopper_adopt(&run->stopper, run->process.pid, signals);
	ret = ctl_run_begin(run);
	if (ret < 0) {
		canfs_process_abandon(&run->process);
		if (run->stopper.is_ours)
			canfs_freezer_remove(&run->stopper.freezer);
		goto ungoverned;
	}
	ret = canfs_process_go(&run->process, run->stopper.how == CANFS_STOP_GROUP);
	if (ret == 0)
		ctl_run_govern(run);
	ctl_run_finish(run);
	return ret < 0 ? say_not_run(argv[0], ret) : exit_status(run);
ungoverned:
	ctl_warn("cannot pause the job: %s; it runs without pauses", strerrordesc_np(-ret));
	sigprocmask(SIG_SETMASK, &run->before, NULL);
	return run_ungoverned(argv);
}

static struct canfs_govern_terms terms_of(const struct options *options)
{
	return (struct canfs_govern_terms) {
		.bid = options->bid,
		.at_least = options->at_least_pct / 100,
		.patience_usec = (uint64_t)(options->patience_sec * 1e6),
	};
}

int ctl_run(int argc, char **argv)
{
	struct options options;
	const struct ctl_governed *governed = &options.governed;
	struct ctl_run run = { .governed = governed };
	const char *why;
	int status = parse_command_line(&options, argc, argv);

	if (status >= 0)
		return status;
	if (governed->attach && canfs_stopper_attach(&run.stopper, governed->attach, &why) < 0) {
		ctl_warn("--attach: '%s': %s", governed->attach, why);
		return CTL_USAGE;
	}
	run.verbose = options.verbose;
	run.terms = terms_of(&options);
	run.prices = calloc(1, sizeof(*run.prices));
	if (!run.prices)
		return CTL_ERROR;
	run.prices->service_port = (uint16_t)options.price_port;
	status = ctl_run_servers(governed, &run.stopper, run.prices);
	if (status == CTL_OK && run.prices->n > 0)
		status = governed->attach ? run_attached(&run) : run_command(&run, options.signals);
	else if (status == CTL_OK)
		status = governed->attach ? CTL_ERROR : run_ungoverned(governed->command);
	canfs_job_prices_fini(run.prices);
	free(run.prices);
	return status;
}
