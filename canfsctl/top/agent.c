// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/top/agent.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "canfsctl/socket.h"
#include "canfsctl/top/head.h"
#include "canfsctl/top/reply.h"
#include "canfsctl/top/table.h"

#define MOUNTS_SHOWN 5 /* of mounts, and of jobs below, unless the screen is tall */
#define JOBS_SHOWN   2
#define JOB_OLD_SEC  3 /* a running job's file is at most 1 s old */

#define LABEL_COLUMNS 12

static const char *print_short(const json_t *object, const char *name, char text[CTL_SHORT_MAX])
{
	size_t length = strlen(ctl_short(ctl_number(object, name), text));

	if (text[length - 1] == ' ')
		text[length - 1] = '\0';
	return text;
}

static enum canfs_style verdict_style(const char *verdict)
{
	return strcmp(verdict, "defer") == 0        ? CANFS_WARN
	       : strcmp(verdict, "accelerate") == 0 ? CANFS_GOOD
						    : CANFS_PLAIN;
}

static void format_verdict(const json_t *value, struct canfs_field *field)
{
	canfs_format_text(value, field);
	field->style = verdict_style(field->text);
}

/* To add a column, add a row. CANFS_TOP_WRITE=1 test_top writes the pages that test_top expects. */
static const struct canfs_column mount_columns[] = {
	{ "mount", 0, 0, "mountpoint", NULL, canfs_format_tail, CANFS_TEXT },
	{ "server", 28, 130, "server", NULL, canfs_format_tail, CANFS_TEXT },
	{ "mode", 8, 130, "mode", NULL, canfs_format_text, CANFS_TEXT },
	{ "write-back", 11, 0, "verdict", "write", format_verdict, CANFS_TEXT },
	{ "price", 6, 0, "price", "write", canfs_format_price, CANFS_NUMBER },
	{ "own", 6, 0, "own", "write", canfs_format_share, CANFS_NUMBER },
	{ "by", 9, 0, "price", "bottleneck", canfs_format_word, CANFS_TEXT },
	{ "held", 6, 0, "held_bytes", NULL, canfs_format_short, CANFS_NUMBER },
	{ "pace/s", 7, CANFS_WIDE, "pace_bytes_per_sec", NULL, canfs_format_short, CANFS_NUMBER },
	{ "writes/s", 9, CANFS_WIDE, "written_bytes_per_sec", NULL, canfs_format_short,
		CANFS_NUMBER },
	{ "read-ahead", 12, 0, "verdict", "read_ahead", format_verdict, CANFS_TEXT },
	{ "price", 6, 0, "price", "read_ahead", canfs_format_price, CANFS_NUMBER },
	{ "own", 6, CANFS_WIDE, "own", "read_ahead", canfs_format_share, CANFS_NUMBER },
	{ "KiB", 6, 0, "read_ahead_kib", "now", canfs_format_count, CANFS_NUMBER },
};

static const struct canfs_table mount_table = CANFS_TABLE(mount_columns);

static const struct canfs_column job_columns[] = {
	{ "job", 9, 0, "pid", NULL, canfs_format_count, CANFS_NUMBER },
	{ "state", 8, 0, "state", NULL, canfs_format_text, CANFS_TEXT },
	{ "price", 6, 0, "price", NULL, canfs_format_price, CANFS_NUMBER },
	{ "bid", 6, 0, "bid", NULL, canfs_format_share, CANFS_NUMBER },
	{ "by", 9, 0, "bottleneck", NULL, canfs_format_word, CANFS_TEXT },
	{ "ran %", 6, 0, "ran", NULL, canfs_format_percent, CANFS_NUMBER },
	{ "pauses", 7, 0, "pauses", NULL, canfs_format_short, CANFS_NUMBER },
	{ "command", 0, 0, "command", NULL, canfs_format_text, CANFS_TEXT },
};

static const struct canfs_table job_table = CANFS_TABLE(job_columns);

static int put_memory(struct canfs_page *page, int row, const json_t *status)
{
	const json_t *memory = in(status, "memory"), *hold = in(status, "hold");
	const json_t *point = in(status, "flushing_point");
	char spare[CTL_SHORT_MAX], dirty[CTL_SHORT_MAX], sent[CTL_SHORT_MAX];
	char held[CTL_SHORT_MAX], bound[CTL_SHORT_MAX];
	int column;

	column = canfs_page_print(page, row, 0, CANFS_PLAIN,
		"memory   spare %s, dirty %s, in write-back %s, cache worth %.2f",
		print_short(memory, "spare_bytes", spare),
		print_short(memory, "dirty_bytes", dirty),
		print_short(memory, "writeback_bytes", sent), ctl_number(memory, "cache_worth"));
	if (is_true(memory, "guarded"))
		canfs_page_put(page, row, column, CANFS_BAD, "  ON GUARD");
	canfs_page_print(page, row + 1, 0, CANFS_PLAIN, "holding  %s of %s; flushing point %s",
		print_short(hold, "held_bytes", held), print_short(hold, "bound_bytes", bound),
		is_true(point, "raised")     ? "raised"
		: is_true(point, "squeezed") ? "lowered: for readers, or for others' commits"
		: is_true(point, "possible") ? "as it was"
					     : "not ours to raise: accelerating only");
	return row + 2;
}

static bool concerns(const json_t *decision, const json_t *mount)
{
	const json_t *mountpoint = in(decision, "mountpoint");

	return !json_is_string(mountpoint) || json_equal(mountpoint, in(mount, "mountpoint"));
}

static const char *print_time(const json_t *decision, char text[16])
{
	const time_t sec = (time_t)json_number_value(in(decision, "time"));
	struct tm local;

	strftime(text, 16, "%T", localtime_r(&sec, &local));
	return text;
}

/*
 * Shows the reason for the verdict in one row. The last clauses of a reason matter least, so they
 * are cut first.
 */
static int put_reason(struct canfs_page *page, int row, const json_t *mount, const char *what,
	const json_t *decisions)
{
	const int column = LABEL_COLUMNS + 2;

	for (size_t i = 0; i < json_array_size(decisions); i++) {
		const json_t *decision = json_array_get(decisions, i);
		char text[1024], clock[16], *end;

		if (strcmp(ctl_text(decision, "what"), what) != 0 || !concerns(decision, mount))
			continue;
		snprintf(text, sizeof(text), "since %s: %s", print_time(decision, clock),
			ctl_text(decision, "reason"));
		while (column + canfs_text_columns(text) > page->columns &&
			(end = strrchr(text, ';')))
			*end = '\0';
		canfs_page_put(page, row++, column, CANFS_PLAIN, text);
		break;
	}
	return row;
}

/* Draws a price in its colour, and its recent history. */
static int put_auction(struct canfs_page *page, int row, const json_t *mount, const char *operation,
	const char *label, const json_t *trend)
{
	const char *verdict = ctl_text(in(mount, "verdict"), operation);
	const double price = ctl_number(in(mount, "price"), operation);
	struct canfs_field field = { .utf8 = page->utf8 };
	int column;

	canfs_page_put(page, row, 2, CANFS_PLAIN, label);
	canfs_page_put(page, row, LABEL_COLUMNS + 2, verdict_style(verdict), verdict);
	column = canfs_page_put(page, row, 26, CANFS_PLAIN, "server ");
	if (isnan(price))
		column = canfs_page_put(page, row, column, CANFS_PLAIN, "-");
	else
		column = canfs_page_print(
			page, row, column, canfs_price_style(price), "%.2f", price);
	column = canfs_page_print(page, row, column, CANFS_PLAIN, ", own %.2f  ",
		ctl_number(in(mount, "own"), operation));
	field.width = page->columns - column;
	canfs_format_trend(trend, &field);
	canfs_page_put(page, row, column, CANFS_PLAIN, field.text);
	return row + 1;
}

static int put_effect(struct canfs_page *page, int row, const json_t *mount)
{
	const json_t *ahead = in(mount, "read_ahead_kib");
	char held[CTL_SHORT_MAX], pace[CTL_SHORT_MAX], written[CTL_SHORT_MAX];

	canfs_page_print(page, row++, 2, CANFS_PLAIN, "%-*s%sB held, %sB/s written, pace %sB/s",
		LABEL_COLUMNS, "data", print_short(mount, "held_bytes", held),
		print_short(mount, "written_bytes_per_sec", written),
		print_short(mount, "pace_bytes_per_sec", pace));
	canfs_page_print(page, row++, 2, CANFS_PLAIN,
		"%-*sread-ahead %.0f KiB, was %.0f; %.0f %% of it used", LABEL_COLUMNS, "",
		ctl_number(ahead, "now"), ctl_number(ahead, "original"),
		100 * ctl_number(mount, "confidence"));
	return row;
}

/* Draws nothing if the network is not watched. */
static int put_network(struct canfs_page *page, int row, const json_t *mount)
{
	const json_t *network = in(mount, "network");

	if (!json_is_object(network))
		return row;
	canfs_page_print(page, row, 2, CANFS_PLAIN,
		"%-*s%s, %.0f Mbit/s, %.0f %% by others: write %.2f, read-ahead %.2f",
		LABEL_COLUMNS, "network", ctl_text(network, "interface"),
		ctl_number(network, "mbit_per_sec"), 100 * ctl_number(network, "used_by_others"),
		ctl_number(network, "write"), ctl_number(network, "read_ahead"));
	return row + 1;
}

static int put_requests(struct canfs_page *page, int row, const json_t *mount)
{
	static const char *const names[] = { "read", "write", "commit" };
	int column = canfs_page_put(page, row, 2, CANFS_PLAIN, "requests") + 4;
	char rate[CTL_SHORT_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const json_t *rpc = in(in(mount, "rpc"), names[i]);
		double msec = ctl_number(rpc, "round_trip_ms");

		column = canfs_page_print(page, row, column, CANFS_PLAIN, "%s%s %s/s",
			i ? ", " : "", names[i], print_short(rpc, "per_sec", rate));
		if (msec > 0)
			column = canfs_page_print(page, row, column, CANFS_PLAIN, " %.1f ms", msec);
	}
	return row + 1;
}

/* Draws the origin of the price. */
static int put_source(struct canfs_page *page, int row, const json_t *mount)
{
	const json_t *price = in(mount, "price"), *poller = in(mount, "poller");
	int column = canfs_page_put(page, row, 2, CANFS_PLAIN, "prices") + 6;

	if (json_is_object(price))
		canfs_page_print(page, row, column, CANFS_PLAIN, "by %s, %.1f s old",
			ctl_text(price, "source"), ctl_number(price, "age_sec"));
	else if (json_is_string(in(poller, "error")))
		canfs_page_print(
			page, row, column, CANFS_BAD, "none: %s", ctl_text(poller, "error"));
	else
		canfs_page_put(page, row, column, CANFS_WARN,
			ctl_number(poller, "answers") > 0 ? "none: the server publishes none"
							  : "none: no answer yet");
	return row + 1;
}

/* Draws the newest decision first, so that it is visible on a short screen. */
static int put_why(struct canfs_page *page, int row, int rows_max, const json_t *mount,
	const json_t *decisions)
{
	const int last = row + rows_max;

	if (rows_max < 2)
		return row;
	canfs_page_put(page, row++, 0, CANFS_BOLD, "decisions, the latest first");
	for (size_t i = 0; i < json_array_size(decisions) && row < last; i++) {
		const json_t *decision = json_array_get(decisions, i);
		char text[1024], clock[16];

		if (!concerns(decision, mount))
			continue;
		snprintf(text, sizeof(text), "%s  %s %s -> %s: %s", print_time(decision, clock),
			ctl_text(decision, "what"), ctl_text(decision, "from"),
			ctl_text(decision, "to"), ctl_text(decision, "reason"));
		row = canfs_page_wrap(page, row, 2, LABEL_COLUMNS, last - row, text);
	}
	return row;
}

static const struct {
	const char *name, *words;
} operations[] = { { "write", "write-back" }, { "read_ahead", "read-ahead" } };

static int put_mount(struct canfs_page *page, int row, const json_t *mount,
	const struct canfs_agent_answers *answers)
{
	const json_t *trend = in(answers->trends, ctl_text(mount, "mountpoint"));
	const bool enforces = strcmp(ctl_text(mount, "mode"), "enforce") == 0;

	canfs_page_print(page, row++, 0, CANFS_BOLD, "%s  %s%s, NFSv%s  %s",
		ctl_text(mount, "mountpoint"), ctl_text(mount, "mode"),
		enforces ? "" : " (changes nothing)", ctl_text(mount, "version"),
		ctl_text(mount, "server"));
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		const char *name = operations[i].name, *words = operations[i].words;

		row = put_auction(page, row, mount, name, words, in(trend, name));
		row = put_reason(page, row, mount, words, in(answers->why, "decisions"));
	}
	row = put_source(page, row, mount);
	row = put_effect(page, row, mount);
	row = put_requests(page, row, mount);
	return put_network(page, row, mount);
}

static json_t *job_row(const json_t *job)
{
	json_t *old = canfs_share(job), *row = json_copy(old);
	double sec = ctl_number(job, "seconds");

	json_object_set_new(row, "state", json_string(is_true(job, "paused") ? "paused" : "runs"));
	json_object_set_new(
		row, "ran", json_real(sec > 0 ? ctl_number(job, "ran_seconds") / sec : 1));
	json_decref(old);
	return row;
}

/* Each job takes two rows. The second row is the reason. */
static void put_jobs(
	struct canfs_page *page, int row, int shown, const struct canfs_agent_answers *answers)
{
	if (shown == 0)
		return;
	canfs_table_heading(page, row++, &job_table, -1);
	for (int i = 0; i < shown; i++) {
		const json_t *job = json_array_get(answers->jobs, (size_t)i);
		const double age_sec = answers->now_sec - ctl_number(job, "time");
		json_t *object = job_row(job);
		int column;

		canfs_table_row(page, row++, &job_table, object, false);
		json_decref(object);
		column = canfs_page_put(page, row, 10, CANFS_PLAIN, ctl_text(job, "reason"));
		if (age_sec > JOB_OLD_SEC) /* its canfsctl run hangs or is stopped */
			canfs_page_print(page, row, column, CANFS_WARN, " (%.0f s ago)", age_sec);
		row++;
	}
}

static void put_help(struct canfs_page *page)
{
	static const char *const lines[] = {
		"write-back    accelerate: own price above the server's, sent at once; defer:",
		"              below it, kept here; hold: no price, left to the kernel",
		"price, own    what the server asks, what it is worth to this client: 0 to 1",
		"by            the resource of the server that makes the price",
		"held          written by applications, and not yet on the server's disk",
		"pace          how fast held data leaves when it may",
		"KiB           of read-ahead now",
		"ran           of a job of canfsctl run: how much of its time it was not paused",
	};

	canfs_view_put_help(page, 3, lines, sizeof(lines) / sizeof(lines[0]));
}

static void put_body(struct canfs_page *page, int row, const struct canfs_agent_answers *answers,
	struct canfs_top_view *view)
{
	const json_t *mounts = in(answers->status, "mounts");
	const json_t *mount = json_array_get(mounts, (size_t)view->cursor);
	const bool is_tall = page->rows >= CANFS_TALL;
	const int jobs = at_most(length_of(answers->jobs), is_tall ? 2 * JOBS_SHOWN : JOBS_SHOWN);
	const int bottom = page->rows - 1 - (jobs > 0 ? 2 * jobs + 1 : 0);

	view->page_rows = at_most(length_of(mounts), is_tall ? page->rows / 3 : MOUNTS_SHOWN);
	if (answers->status)
		row = put_memory(page, row, answers->status);
	if (answers->status && !mount)
		canfs_page_put(page, row + 1, 0, CANFS_BOLD, "no NFS mount is managed");
	if (mount) {
		row = canfs_table_put(page, row + is_tall, &mount_table, mounts,
			canfs_view_first(view, view->page_rows), view->page_rows, -1, view->cursor);
		row = put_mount(page, row + is_tall, mount, answers);
		put_why(page, row + is_tall, bottom - row - is_tall, mount,
			in(answers->why, "decisions"));
	}
	put_jobs(page, bottom, jobs, answers);
}

static int enforced(const json_t *mounts)
{
	int n = 0;

	for (size_t i = 0; i < json_array_size(mounts); i++)
		n += strcmp(ctl_text(json_array_get(mounts, i), "mode"), "enforce") == 0;
	return n;
}

static void put_mode(struct canfs_page *page, int row, const json_t *status)
{
	const json_t *mounts = in(status, "mounts");
	int column = canfs_page_print(page, row, 0, CANFS_PLAIN, "enforces on %d of %d mounts",
		enforced(mounts), length_of(mounts));

	if (ctl_number(status, "mounts_left_out") > 0)
		column = canfs_page_print(page, row, column, CANFS_WARN, ", %.0f are too many",
			ctl_number(status, "mounts_left_out"));
	if (is_true(status, "blind"))
		canfs_page_put(page, row, column, CANFS_BAD, "  BLIND: /proc cannot be read");
}

void canfs_agent_layout(const struct canfs_agent_answers *answers, struct canfs_top_view *view,
	struct canfs_page *page)
{
	const json_t *mounts = in(answers->status, "mounts");
	const double time = ctl_number(answers->status, "time");
	char what[256];

	view->cursors = length_of(mounts);
	view->exports = view->sorts = 0;
	canfs_view_bound(view);
	snprintf(what, sizeof(what), "canfs-agent on %s", answers->host);
	canfs_head_put(page, view, what, json_string_value(in(answers->status, "version")),
		ctl_number(answers->status, "uptime_sec"), time);
	if (answers->error)
		canfs_head_put_error(page, 1, answers->error, answers->silent_sec, time);
	else
		put_mode(page, 1, answers->status);
	if (view->is_helped)
		put_help(page);
	else
		put_body(page, 2, answers, view);
	canfs_view_put_keys(page, view);
}

/* Appends the present price to an operation's trend. Consumes trend, which may be NULL. */
static json_t *add_sample(json_t *trend, const json_t *price)
{
	if (!trend)
		trend = json_array();
	json_array_append_new(trend, json_is_number(price) ? canfs_share(price) : json_null());
	while (json_array_size(trend) > CANFS_AGENT_TRENDS)
		json_array_remove(trend, 0);
	return trend;
}

json_t *canfs_agent_trends(json_t *trends, const json_t *status)
{
	const json_t *mounts = in(status, "mounts");
	json_t *result = json_object();

	for (size_t i = 0; i < json_array_size(mounts); i++) {
		const json_t *mount = json_array_get(mounts, i);
		const json_t *old = in(trends, ctl_text(mount, "mountpoint"));
		json_t *new = json_object();

		for (size_t j = 0; j < sizeof(operations) / sizeof(operations[0]); j++) {
			const char *name = operations[j].name;

			json_object_set_new(new, name,
				add_sample(
					canfs_share(in(old, name)), in(in(mount, "price"), name)));
		}
		json_object_set_new(result, ctl_text(mount, "mountpoint"), new);
	}
	json_decref(trends);
	return result;
}
