// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfsctl calibrate: measures a server's link and disk, and writes a profile for its CANFS { }
 * block.
 */
#include "canfsctl/ctl.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "canfsctl/calibrate/profile.h"
#include "canfsctl/output.h"

struct options {
	const char *host;
	const char *directory;
	const char *output; /* NULL: standard output */
	bool json;
	struct canfs_measure_setup setup;
};

static const struct ctl_option option_table[] = {
	CTL_TEXT("link", "=HOST", host, "measure the network both ways, with iperf3 on HOST"),
	CTL_TEXT("disk", "=DIRECTORY", directory,
		"measure the disk's queue depth, with fio and a file there"),
	CTL_COUNT("port", "=N", setup.port, 1, UINT16_MAX, "port of iperf3 on HOST (5201)"),
	CTL_COUNT("size", "=MIB", setup.size_mib, 16, 65536, "size of the file (1024)"),
	CTL_COUNT("seconds", "=N", setup.seconds, 1, 60,
		"time per step (3); a disk takes up to 18 steps, a link 2"),
	CTL_TEXT("output", "=FILE", output, "write the profile to FILE (standard output)"),
	CTL_FLAG("json", json, "print results as JSON; the profile goes only to a FILE"),
	{ 0 },
};

static const struct ctl_syntax syntax = {
	.name = "calibrate",
	.usage = "usage: canfsctl calibrate [OPTION ...] --link=HOST | --disk=DIRECTORY\n"
		 "\n"
		 "Measures this server, and writes a CANFS { } block for NFS-Ganesha.\n"
		 "\n",
	.options = option_table,
	.epilog = "\n"
		  "Both saturate what they measure: do not run them on a server in use.\n"
		  "Exit status: 0 measured, 1 error, 2 usage.\n",
};

/* Overwrites the line on a terminal. A log gets one line for each step. */
static void show_progress(const char *step, unsigned int done, unsigned int all)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K[%u/%u] %s ...", done + 1, all, step);
	else
		fprintf(stderr, "[%u/%u] %s\n", done + 1, all, step);
}

static void end_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* A name that starts with "-" is an option that was taken as a value. NULL: not given. */
static bool is_name(const char *option, const char *name)
{
	if (!name || (*name && *name != '-'))
		return true;
	ctl_warn("%s: expected a name, got '%s'", option, name);
	return false;
}

/* Returns -1 to go on, else the exit status. */
static int parse_command_line(struct options *options, int argc, char **argv)
{
	unsigned int given;
	int status;

	*options = (struct options) {
		.setup = { .seconds = 3, .size_mib = 1024, .port = 5201, .progress = show_progress }
	};
	status = ctl_parse(&syntax, options, &given, argc, argv);
	if (status >= 0)
		return status;
	if (!is_name("--link", options->host) || !is_name("--disk", options->directory) ||
		!is_name("--output", options->output))
		return CTL_USAGE;
	if (optind != argc) {
		ctl_warn("calibrate: unexpected argument '%s'", argv[optind]);
		return CTL_USAGE;
	}
	if (!options->host && !options->directory) {
		ctl_warn("calibrate: nothing to measure; give --link HOST, --disk DIRECTORY or "
			 "both");
		return CTL_USAGE;
	}
	return -1;
}

static int measure(const struct options *options, struct canfs_calibration *calibration)
{
	char error[CANFS_MEASURE_ERROR_MAX];
	int ret = 0;

	*calibration = (struct canfs_calibration) { .host = options->host,
		.directory = options->directory };
	if (options->host)
		ret = canfs_measure_link(options->host, &options->setup, &calibration->link, error);
	if (ret == 0 && options->directory)
		ret = canfs_measure_disk(
			options->directory, &options->setup, &calibration->disk, error);
	end_progress();
	if (ret < 0)
		ctl_warn("calibrate: %s", error);
	return ret;
}

/* Replaces the file atomically. A server that starts meanwhile reads the old file. */
static int write_file(const char *path, const struct canfs_calibration *calibration)
{
	char temporary[4096];
	FILE *out = NULL;
	int ret = -ENAMETOOLONG, fd;

	if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= (int)sizeof(temporary))
		goto out;
	fd = mkstemp(temporary);
	ret = -errno;
	if (fd < 0)
		goto out;
	out = fdopen(fd, "w");
	if (!out) {
		ret = -errno;
		close(fd);
		unlink(temporary);
		goto out;
	}
	canfs_profile_print(out, calibration);
	ret = fflush(out) || fchmod(fd, 0644) < 0 || fsync(fd) < 0 || rename(temporary, path) < 0
		      ? -errno
		      : 0;
	if (ret < 0)
		unlink(temporary);
	fclose(out);
out:
	if (ret < 0)
		ctl_warn("%s: %s", path, strerrordesc_np(-ret));
	return ret;
}

static int print_json(const struct canfs_calibration *calibration)
{
	json_t *object = canfs_calibration_json(calibration);
	int ret;

	ret = ctl_put_json(object, JSON_COMPACT | JSON_REAL_PRECISION(6));
	json_decref(object);
	return ret;
}

int ctl_calibrate(int argc, char **argv)
{
	struct canfs_calibration calibration;
	struct options options;
	int status = parse_command_line(&options, argc, argv);
	int ret = 0;

	if (status >= 0)
		return status;
	if (measure(&options, &calibration) < 0)
		return CTL_ERROR;

	canfs_calibration_print(stderr, &calibration);
	if (options.json)
		ret = print_json(&calibration);
	else if (!options.output)
		canfs_profile_print(stdout, &calibration);
	if (ctl_end_output(ret) != CTL_OK)
		return CTL_ERROR;
	if (options.output && write_file(options.output, &calibration) < 0)
		return CTL_ERROR;
	return CTL_OK;
}
