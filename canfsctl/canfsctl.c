// SPDX-License-Identifier: LGPL-3.0-or-later
/* The canfsctl command: dispatches to a subcommand. */
#include "canfsctl/ctl.h"

#include <stdio.h>
#include <string.h>

static const struct subcommand {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
} subcommands[] = {
	{ "status", "show what canfs-agent does, and the knobs that it has changed", ctl_status },
	{ "top", "show the same for each mount, updated every second", ctl_top },
	{ "why", "show the agent's last decisions and their reasons", ctl_why },
	{ "price", "ask an NFS server for its prices", ctl_price },
	{ "server", "inspect and control the canfs server on this host", ctl_server },
	{ "run", "run a job, and pause it while its NFS server is busy", ctl_run },
	{ "doctor", "find what slows NFS mounts, or a server's disks", ctl_doctor },
	{ "calibrate", "measure a server's link and disk for its prices", ctl_calibrate },
};

#define SUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))

static void print_help(FILE *out)
{
	fputs("usage: canfsctl SUBCOMMAND [OPTION ...] [ARGUMENT ...]\n\nSubcommands:\n", out);
	for (size_t i = 0; i < SUBCOMMANDS; i++)
		fprintf(out, "  %-9s %s\n", subcommands[i].name, subcommands[i].summary);
	fputs("\nSee 'canfsctl SUBCOMMAND --help' and canfsctl(1).\n", out);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return CTL_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help(stdout);
		return CTL_OK;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("canfsctl " CANFS_VERSION);
		return CTL_OK;
	}
	for (size_t i = 0; i < SUBCOMMANDS; i++) {
		if (strcmp(argv[1], subcommands[i].name) == 0)
			return subcommands[i].run(argc - 1, argv + 1);
	}
	ctl_warn("'%s' is not a subcommand; 'canfsctl --help' lists them", argv[1]);
	return CTL_USAGE;
}
