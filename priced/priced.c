// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfs-priced: handles the arguments. daemon.c does the work. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "priced/config.h"
#include "priced/daemon.h"

enum { EXIT_USAGE = 2 };

/* Prints a configuration with all defaults. It is installed as the initial configuration. */
static void print_example(void)
{
	char option[256];

	puts("# " CANFS_PRICED_CONFIG_FILE
	     ": see canfs-priced(8). Lines \"#name = value\" are the defaults.\n"
	     "# After a change: systemctl reload canfs-priced\n"
	     "\n"
	     "[priced]");
	for (size_t i = 0; canfs_options_example(&canfs_priced_options, i, option, sizeof(option));
		i++)
		printf("%s%s", i != 0 ? "\n" : "", option);
	puts("\n"
	     "# A premium raises or lowers the prices for the clients of a class (percent, -90 ... "
	     "900).\n"
	     "# The first class that contains a client applies.\n"
	     "#[class batch]\n"
	     "#clients = 10.0.3.0/24 host.example @netgroup\n"
	     "#premium = 30");
}

static void print_help(void)
{
	puts("usage: canfs-priced [--config FILE]\n"
	     "       canfs-priced [--config FILE] --check | --example\n"
	     "\n"
	     "Publishes prices for the exports of the kernel's NFS server.\n"
	     "\n"
	     "  --config FILE  default: " CANFS_PRICED_CONFIG_FILE " (may be missing)\n"
	     "  --check        check the configuration, and exit\n"
	     "  --example      print a configuration with all options and defaults, and exit\n"
	     "  --help, --version");
}

static void say(const char *message)
{
	canfs_log("%s", message);
}

/*
 * A file named with --config must exist; the default file may be missing. Names are looked up only
 * if the daemon is going to serve.
 */
static int read_config(struct canfs_priced_config *config, const char *file, bool serves)
{
	char error[CANFS_OPTIONS_ERROR_MAX];
	struct canfs_names names;
	int ret;

	canfs_priced_config_defaults(config);
	canfs_names_begin(&names, say);
	ret = canfs_priced_config_parse_file(
		config, file ? file : CANFS_PRICED_CONFIG_FILE, serves ? &names : NULL, error);
	if (ret == -ENOENT && !file)
		return 0;
	if (ret != 0)
		fprintf(stderr, "canfs-priced: %s\n", error);
	return ret;
}

/* Reports on a configuration that has no mistakes. */
static int report(const char *file)
{
	bool is_there = file || access(CANFS_PRICED_CONFIG_FILE, F_OK) == 0;

	printf("%s: %s\n", file ? file : CANFS_PRICED_CONFIG_FILE,
		is_there ? "fine" : "missing, using the defaults");
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "check", no_argument, NULL, 'k' },
		{ "example", no_argument, NULL, 'x' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	struct canfs_priced_config config;
	const char *file = NULL;
	bool checks = false;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			file = optarg;
			break;
		case 'k':
			checks = true;
			break;
		case 'x':
			print_example();
			return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
		case 'h':
			print_help();
			return EXIT_SUCCESS;
		case 'V':
			puts("canfs-priced " CANFS_VERSION);
			return EXIT_SUCCESS;
		default:
			fputs("canfs-priced: see --help\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "canfs-priced: %s: unexpected argument, see --help\n",
			argv[optind]);
		return EXIT_USAGE;
	}
	if (read_config(&config, file, !checks) != 0)
		return EXIT_USAGE;
	if (checks)
		return report(file);
	return canfs_priced_run(&config, file ? file : CANFS_PRICED_CONFIG_FILE) == 0
		       ? EXIT_SUCCESS
		       : EXIT_FAILURE;
}
