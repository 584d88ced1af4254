// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfsctl price: asks an NFS server for the prices that it may publish with an export's free
 * space.
 */
#include "canfsctl/ctl.h"
#include "canfsctl/export.h"
#include "canfsctl/output.h"

#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <jansson.h>

#include "common/clock.h"
#include "protocol/fsstat.h"
#include "common/control/request.h"

#define USEC_PER_SEC 1000000
#define ERROR_MAX    600 /* two texts of canfs_fsstat_error() */

struct options {
	struct ctl_export export;
	bool json;
	double interval_sec; /* 0: ask once */
	double timeout_sec;
	unsigned int count; /* lines to print; 0: no limit */
};

/* The content of one line of output. */
struct report {
	bool answered;
	bool publishes; /* prices; the tag is set */
	struct canfs_tag tag;
	char why[ERROR_MAX]; /* reason for no answer or no prices */
};

static const struct ctl_option option_table[] = {
	CTL_FLAG("json", json, "one JSON object per line"),
	CTL_NUMBER("watch", "[=SECONDS]", interval_sec, 0.1, 86400,
		"ask again at this interval (1)", .missing = 1),
	CTL_COUNT("count", "=N", count, 1, UINT32_MAX, "with --watch: exit after N lines"),
	CTL_NUMBER("timeout", "=SECONDS", timeout_sec, 0.01, 3600,
		"how long to wait for an answer (5)"),
	CTL_EXPORT_OPTIONS(export),
	{ 0 },
};

static const struct ctl_syntax syntax = {
	.name = "price",
	.usage = "usage: canfsctl price [OPTION ...] SERVER:/PATH\n"
		 "\n"
		 "Asks an NFS server for the prices that it publishes for one export.\n"
		 "\n",
	.options = option_table,
	.epilog = "\n"
		  "Exit status: 0 prices, 1 error, 2 usage, 3 the server publishes no prices.\n",
};

/* Returns -1 to go on, else the exit status. */
static int parse_command_line(struct options *options, int argc, char **argv)
{
	unsigned int given;
	int status;

	*options = (struct options) { .timeout_sec = 5 };
	status = ctl_parse(&syntax, options, &given, argc, argv);
	if (status >= 0)
		return status;
	if (!ctl_export_settle(&options->export))
		return CTL_USAGE;
	if (optind != argc - 1) {
		ctl_warn("price: expected one SERVER:/PATH, got %d", argc - optind);
		return CTL_USAGE;
	}
	if (options->count && options->interval_sec == 0) {
		ctl_warn("--count needs --watch");
		return CTL_USAGE;
	}
	if (!ctl_export_parse(&options->export, argv[optind]))
		return CTL_USAGE;
	return -1;
}

static int ask(struct canfs_fsstat *fsstat, double timeout_sec, struct canfs_space *space)
{
	const uint64_t deadline_usec = canfs_now_usec() + (uint64_t)(timeout_sec * USEC_PER_SEC);
	int ret = canfs_fsstat_start(fsstat, deadline_usec);

	if (ret < 0)
		return ret;
	while ((ret = canfs_fsstat_step(fsstat, canfs_now_usec(), space)) == -EINPROGRESS) {
		struct pollfd polled = { canfs_fsstat_fd(fsstat), canfs_fsstat_events(fsstat), 0 };
		const uint64_t now = canfs_now_usec();
		const uint64_t left_usec = deadline_usec > now ? deadline_usec - now : 0;

		poll(&polled, 1, (int)(left_usec / 1000 + 1));
	}
	return ret;
}

/* Tries the NFS versions at one address. NULL: none answers, and why has an error for each. */
static struct canfs_fsstat *open_address(const struct options *options, const struct addrinfo *info,
	struct canfs_space *space, char why[ERROR_MAX])
{
	why[0] = '\0';
	for (const int *version = options->export.versions; *version; version++) {
		const struct canfs_fsstat_target target =
			ctl_export_target(&options->export, info, *version);
		const size_t len = strlen(why);
		struct canfs_fsstat *fsstat;
		int ret = canfs_fsstat_new(&fsstat, &target);

		if (ret == 0 && ask(fsstat, options->timeout_sec, space) == 0)
			return fsstat;
		snprintf(why + len, ERROR_MAX - len, "%s%s", len ? "; " : "",
			ret < 0 ? strerrordesc_np(-ret) : canfs_fsstat_error(fsstat));
		canfs_fsstat_free(fsstat);
	}
	return NULL;
}

/* Tries the server's addresses in turn. NULL: none answers, and why is set for the last one. */
static struct canfs_fsstat *open_server(
	const struct options *options, struct canfs_space *space, char why[ERROR_MAX])
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct canfs_fsstat *fsstat = NULL;
	struct addrinfo *list;
	int ret = getaddrinfo(options->export.name.host, NULL, &hints, &list);

	if (ret != 0) {
		snprintf(why, ERROR_MAX, "%s", gai_strerror(ret));
		return NULL;
	}
	if (ctl_export_may_be_asked(&options->export, list, why, ERROR_MAX)) {
		for (const struct addrinfo *info = list; info && !fsstat; info = info->ai_next)
			fsstat = open_address(options, info, space, why);
	}
	freeaddrinfo(list);
	return fsstat;
}

/* Asks once; the first time, finds an address to ask. On failure returns false and sets why. */
static bool get_space(struct canfs_fsstat **fsstat, const struct options *options,
	struct canfs_space *space, char why[ERROR_MAX])
{
	if (!*fsstat) {
		*fsstat = open_server(options, space, why);
		return *fsstat;
	}
	if (ask(*fsstat, options->timeout_sec, space) == 0)
		return true;
	snprintf(why, ERROR_MAX, "%s", canfs_fsstat_error(*fsstat));
	return false;
}

/*
 * A valid tag may be a coincidence. Asks until that is ruled out; once the server is believed, asks
 * only once.
 */
static struct report ask_price(struct canfs_fsstat **fsstat, const struct options *options,
	struct canfs_publisher *publisher)
{
	struct report report = { 0 };
	struct canfs_space space;
	int ret;

	do {
		if (!get_space(fsstat, options, &space, report.why))
			return report;
		ret = canfs_tag_decode(&space, &report.tag);
		canfs_publisher_note(publisher, ret == 0 ? &space : NULL);
	} while (canfs_publisher_is_settling(publisher));

	report.answered = true;
	report.publishes = ret == 0 && publisher->believed;
	snprintf(report.why, ERROR_MAX, "%s",
		ret == -EPROTO ? "publishes prices in a version that canfsctl does not know"
			       : "publishes no prices");
	return report;
}

static int print_json(const struct options *options, const struct report *report)
{
	struct timespec now;
	struct tm utc;
	char text[32], time[64];
	json_t *line;
	int ret;

	clock_gettime(CLOCK_REALTIME, &now);
	strftime(text, sizeof(text), "%FT%T", gmtime_r(&now.tv_sec, &utc));
	snprintf(time, sizeof(time), "%s.%03ldZ", text, now.tv_nsec / 1000000);
	if (report->publishes)
		line = json_pack("{s:s, s:o, s:b, s:f, s:f, s:s}", "time", time, "server",
			canfs_control_text(options->export.text), "publishes", 1, "write",
			report->tag.write, "read_ahead", report->tag.readahead, "bottleneck",
			canfs_resource_name(report->tag.bottleneck));
	else if (report->answered)
		line = json_pack("{s:s, s:o, s:b, s:n, s:n, s:n}", "time", time, "server",
			canfs_control_text(options->export.text), "publishes", 0, "write",
			"read_ahead", "bottleneck");
	else
		line = json_pack("{s:s, s:o, s:o}", "time", time, "server",
			canfs_control_text(options->export.text), "error",
			canfs_control_text(report->why));
	ret = ctl_put_json(line, JSON_COMPACT | JSON_REAL_PRECISION(6));
	json_decref(line);
	return ret;
}

/* Prints a lasting error only once. said: the last error, "" if none. */
static void print_text(
	const struct options *options, const struct report *report, char said[ERROR_MAX])
{
	const bool news = !report->answered && strncmp(said, report->why, ERROR_MAX - 1) != 0;

	snprintf(said, ERROR_MAX, "%s", report->answered ? "" : report->why);
	if (report->publishes)
		printf("%s: write %.3f, read-ahead %.3f, bottleneck %s\n", options->export.text,
			report->tag.write, report->tag.readahead,
			canfs_resource_name(report->tag.bottleneck));
	else if (report->answered)
		printf("%s %s\n", options->export.text, report->why);
	else if (news)
		ctl_warn("%s: %s", options->export.text, report->why);
}

/* Returns CTL_OK or CTL_ERROR. */
static int print(const struct options *options, const struct report *report, char said[ERROR_MAX])
{
	int ret = 0;

	if (options->json)
		ret = print_json(options, report);
	else
		print_text(options, report, said);
	return ctl_end_output(ret);
}

static void sleep_until(uint64_t usec)
{
	const struct timespec until = { (time_t)(usec / USEC_PER_SEC),
		(long)(usec % USEC_PER_SEC) * 1000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

int ctl_price(int argc, char **argv)
{
	struct canfs_publisher publisher = { 0 };
	struct canfs_fsstat *fsstat = NULL;
	char said[ERROR_MAX] = "";
	struct options options;
	struct report report;
	int status = parse_command_line(&options, argc, argv);

	if (status >= 0)
		return status;

	status = CTL_ERROR;
	for (unsigned int lines = 1;; lines++) {
		const uint64_t next_usec =
			canfs_now_usec() + (uint64_t)(options.interval_sec * USEC_PER_SEC);

		report = ask_price(&fsstat, &options, &publisher);
		if (print(&options, &report, said) != CTL_OK)
			goto out;
		/* the name may resolve later, or to another address */
		if (!report.answered) {
			canfs_fsstat_free(fsstat);
			fsstat = NULL;
		}
		if (options.interval_sec == 0 || lines == options.count)
			break;
		sleep_until(next_usec);
	}
	if (report.answered)
		status = report.publishes ? CTL_OK : CTL_NO_PRICES;
out:
	canfs_fsstat_free(fsstat);
	return status;
}
