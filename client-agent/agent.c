// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfs-agent: parses the arguments and starts the requested action. loop.c does the work. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client-agent/actuators/act.h"
#include "client-agent/config/config.h"
#include "client-agent/loop.h"

enum { EXIT_USAGE = 2 };

/* Prints a configuration with the defaults. It is installed as the first configuration. */
static void print_example(void)
{
	char option[256];

	puts("# " CANFS_CONFIG_FILE
	     ": see canfs-agent.conf(5). Lines \"#name = value\" are the defaults.\n"
	     "# After a change: systemctl reload canfs-agent\n"
	     "\n"
	     "[agent]");
	for (size_t i = 0; canfs_options_example(&canfs_agent_options, i, option, sizeof(option));
		i++)
		printf("%s%s", i ? "\n" : "", option);
	puts("\n"
	     "# Values for some mounts: the first [mount PATTERN] that matches the mount point "
	     "applies.\n"
	     "# Options that it does not set keep the values above.\n"
	     "#\n"
	     "#   [mount /data/db]\n"
	     "#   mode = observe\n"
	     "#\n"
	     "#   [mount /data/*]\n"
	     "#   mode = enforce");
}

static void print_help(void)
{
	puts("usage: canfs-agent [--config FILE] [--observe | --enforce]\n"
	     "       canfs-agent [--config FILE] --restore | --check | --example\n"
	     "\n"
	     "Runs the auction for write-back and read-ahead of this client's NFS mounts.\n"
	     "\n"
	     "  --config FILE  default: " CANFS_CONFIG_FILE " (may be missing)\n"
	     "  --observe      log what would be done, change nothing (default)\n"
	     "  --enforce      change the kernel's settings\n"
	     "  --restore      restore what a crashed agent has changed, and exit\n"
	     "  --check        check the configuration, and exit\n"
	     "  --example      print a configuration with all options and defaults, and exit\n"
	     "  --help, --version");
}

/*
 * is_known: the configuration could be read, so it tells where the journal is. Otherwise a missing
 * journal proves nothing.
 */
static int restore(const struct canfs_agent_config *config, bool is_known)
{
	struct canfs_actors actors;
	char error[CANFS_OPTIONS_ERROR_MAX];
	int ret;

	if (access(config->state_dir, F_OK) < 0 && errno == ENOENT) {
		puts("canfs-agent: nothing to restore");
		return is_known ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	ret = canfs_actors_open(&actors, config, "", error, sizeof(error));
	if (*error)
		fprintf(stderr, "canfs-agent: %s\n", error);
	if (ret)
		return EXIT_FAILURE;
	is_known |= canfs_journal_count(actors.journal) > 0;
	if (!canfs_journal_count(actors.journal))
		puts("canfs-agent: nothing to restore");
	ret = canfs_act_take_back(&actors);
	canfs_actors_close(&actors);
	return ret || !is_known ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A file that was given must exist. The default file may be missing. */
static int read_config(struct canfs_agent_config *config, const char *file)
{
	char error[CANFS_OPTIONS_ERROR_MAX];
	int ret;

	canfs_config_defaults(config);
	ret = canfs_config_parse_file(config, file ? file : CANFS_CONFIG_FILE, error);
	if (ret == -ENOENT && !file)
		return 0;
	if (ret)
		fprintf(stderr, "canfs-agent: %s\n", error);
	return ret;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "observe", no_argument, NULL, 'o' },
		{ "enforce", no_argument, NULL, 'e' },
		{ "restore", no_argument, NULL, 'r' },
		{ "check", no_argument, NULL, 'k' },
		{ "example", no_argument, NULL, 'x' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	struct canfs_loop_options options = { .root = "", .mode = -1 };
	struct canfs_agent_config config;
	const char *file = NULL;
	char action = 0;
	int c, ret;

	/*
	 * SIGPIPE from a closed log or SIGXFSZ from a file limit must not kill the agent while
	 * knobs are turned.
	 */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			file = optarg;
			break;
		case 'o':
			options.mode = CANFS_OBSERVE;
			break;
		case 'e':
			options.mode = CANFS_ENFORCE;
			break;
		case 'r':
		case 'k':
			action = (char)c;
			break;
		case 'x':
			print_example();
			return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
		case 'h':
			print_help();
			return EXIT_SUCCESS;
		case 'V':
			puts("canfs-agent " CANFS_VERSION);
			return EXIT_SUCCESS;
		default:
			fputs("canfs-agent: see --help\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "canfs-agent: %s: unexpected argument, see --help\n", argv[optind]);
		return EXIT_USAGE;
	}
	/* A broken configuration must not prevent a restore. Its defaults are used. */
	ret = read_config(&config, file);
	if (ret && action != 'r')
		return EXIT_USAGE;
	if (options.mode >= 0)
		canfs_config_set_mode(&config, (enum canfs_mode)options.mode);
	if (action == 'r')
		return restore(&config, ret == 0);
	if (action == 'k') {
		printf("%s: %s\n", file ? file : CANFS_CONFIG_FILE,
			file || access(CANFS_CONFIG_FILE, F_OK) == 0
				? "fine"
				: "missing, using the defaults");
		return EXIT_SUCCESS;
	}
	options.config_file = file ? file : CANFS_CONFIG_FILE;
	return canfs_loop_run(&config, &options) ? EXIT_FAILURE : EXIT_SUCCESS;
}
