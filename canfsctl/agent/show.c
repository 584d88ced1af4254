// SPDX-License-Identifier: LGPL-3.0-or-later
/* Prints the agent's replies: a block of lines for each mount, which fits a narrow terminal. */
#include "canfsctl/agent/agent.h"
#include "canfsctl/socket.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

/* A running job's file is at most 1 s old. */
#define JOB_OLD_SEC 3

/* Replaces control characters, which a path may contain. */
static void put(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		fputc(iscntrl((unsigned char)*text) ? '?' : *text, out);
}

static void put_member(FILE *out, const json_t *object, const char *name)
{
	put(out, ctl_text(object, name));
}

static const json_t *in(const json_t *object, const char *name)
{
	return json_object_get(object, name);
}

static bool is_true(const json_t *object, const char *name)
{
	return json_is_true(json_object_get(object, name));
}

static void put_short(FILE *out, int width, const json_t *object, const char *name)
{
	char text[CTL_SHORT_MAX];

	ctl_short(ctl_number(object, name), text);
	if (text[strlen(text) - 1] == ' ' && width == 0)
		text[strlen(text) - 1] = '\0';
	fprintf(out, "%*s", width, text);
}

static void put_price(FILE *out, double price)
{
	if (isnan(price))
		fputs("  -  ", out);
	else
		fprintf(out, "%5.2f", price);
}

static void put_auction(FILE *out, const json_t *mount, const char *operation, const char *label)
{
	const json_t *price = in(mount, "price");
	const char *verdict = ctl_text(in(mount, "verdict"), operation);
	bool write = strcmp(operation, "write") == 0;

	fprintf(out, "  %-10s %-10s server", label, verdict);
	put_price(out, ctl_number(price, operation));
	fprintf(out, " %-7s own",
		write && json_is_object(price) ? ctl_text(price, "bottleneck") : "");
	put_price(out, ctl_number(in(mount, "own"), operation));
}

/* Prints nothing if the network is not watched. */
static void show_network(FILE *out, const json_t *mount)
{
	const json_t *network = in(mount, "network");

	if (!json_is_object(network))
		return;
	fputs("  network    ", out);
	put_member(out, network, "interface");
	fprintf(out, ", %.0f Mbit/s, %.0f%% used by others: write-back",
		ctl_number(network, "mbit_per_sec"), 100 * ctl_number(network, "used_by_others"));
	put_price(out, ctl_number(network, "write"));
	fputs(", read-ahead", out);
	put_price(out, ctl_number(network, "read_ahead"));
	fputc('\n', out);
}

static void put_rpc(FILE *out, const json_t *mount, const char *name)
{
	const json_t *rpc = in(in(mount, "rpc"), name);
	double round_trip_ms = ctl_number(rpc, "round_trip_ms");

	fprintf(out, "  %s", name);
	put_short(out, 6, rpc, "per_sec");
	fputs("/s ", out);
	if (round_trip_ms > 0)
		fprintf(out, "%7.1f ms", round_trip_ms);
	else
		fprintf(out, "%10s", "-");
}

static void show_mount(FILE *out, const json_t *mount)
{
	const json_t *read_ahead = in(mount, "read_ahead_kib");

	fputc('\n', out);
	put_member(out, mount, "mountpoint");
	fputs("  ", out);
	put_member(out, mount, "server");
	fprintf(out, "  NFSv%s%s%s  %s\n", ctl_text(mount, "version"),
		json_is_string(in(mount, "sec")) ? " sec=" : "",
		json_is_string(in(mount, "sec")) ? ctl_text(mount, "sec") : "",
		ctl_text(mount, "mode"));
	put_auction(out, mount, "write", "write-back");
	fputs(" holds ", out);
	put_short(out, 5, mount, "held_bytes");
	fputs(" pace ", out);
	put_short(out, 5, mount, "pace_bytes_per_sec");
	fputs("/s\n", out);
	put_auction(out, mount, "read_ahead", "read-ahead");
	fprintf(out, " %.0f KiB was %.0f, %.0f%% used\n", ctl_number(read_ahead, "now"),
		ctl_number(read_ahead, "original"), 100 * ctl_number(mount, "confidence"));
	show_network(out, mount);
	put_rpc(out, mount, "read");
	put_rpc(out, mount, "write");
	put_rpc(out, mount, "commit");
	fputc('\n', out);
}

static size_t enforced(const json_t *mounts)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(mounts); i++)
		n += strcmp(ctl_text(json_array_get(mounts, i), "mode"), "enforce") == 0;
	return n;
}

static void show_head(FILE *out, const json_t *status)
{
	const json_t *memory = in(status, "memory"), *hold = in(status, "hold");
	const json_t *point = in(status, "flushing_point");

	fprintf(out, "canfs-agent %s, pid %.0f, up %.0f s, enforces %zu of %zu mounts%s\n",
		ctl_text(status, "version"), ctl_number(status, "pid"),
		ctl_number(status, "uptime_sec"), enforced(in(status, "mounts")),
		json_array_size(in(status, "mounts")),
		is_true(status, "blind") ? ", BLIND: /proc cannot be read" : "");
	fputs("memory   spare ", out);
	put_short(out, 0, memory, "spare_bytes");
	fprintf(out, "%s, dirty ",
		is_true(memory, "guarded") ? " (ON GUARD: sending at any price)" : "");
	put_short(out, 0, memory, "dirty_bytes");
	fputs(", in write-back ", out);
	put_short(out, 0, memory, "writeback_bytes");
	fprintf(out, ", cache worth %.2f\nholding  ", ctl_number(memory, "cache_worth"));
	put_short(out, 0, hold, "held_bytes");
	fputs(" of ", out);
	put_short(out, 0, hold, "bound_bytes");
	fprintf(out, "; flushing point %s\n",
		is_true(point, "raised")     ? "raised"
		: is_true(point, "squeezed") ? "lowered: for readers, or for others' commits"
		: is_true(point, "possible") ? "as it was"
					     : "not ours to raise: accelerating only");
	if (ctl_number(status, "mounts_left_out") > 0)
		fprintf(out, "NFS mounts beyond the limit, not managed: %.0f\n",
			ctl_number(status, "mounts_left_out"));
	if (json_array_size(in(status, "mounts")) == 0)
		fputs("no NFS mount is managed\n", out);
}

void ctl_show_top(FILE *out, const json_t *status)
{
	const json_t *mounts = in(status, "mounts");

	show_head(out, status);
	for (size_t i = 0; i < json_array_size(mounts); i++)
		show_mount(out, json_array_get(mounts, i));
}

static void show_job(FILE *out, const json_t *job)
{
	double sec = ctl_number(job, "seconds"), ran_sec = ctl_number(job, "ran_seconds");
	double age_sec = (double)time(NULL) - ctl_number(job, "time");
	double pauses = ctl_number(job, "pauses");

	fprintf(out, "  %-7.0f %-7s server", ctl_number(job, "pid"),
		is_true(job, "paused") ? "paused" : "runs");
	put_price(out, ctl_number(job, "price"));
	fprintf(out, " %-7s bid%5.2f  ran %.0f%% of %.0f s, %.0f pause%s",
		json_is_string(in(job, "bottleneck")) ? ctl_text(job, "bottleneck") : "",
		ctl_number(job, "bid"), sec > 0 ? 100 * ran_sec / sec : 100, sec, pauses,
		pauses == 1 ? "" : "s");
	if (age_sec > JOB_OLD_SEC) /* canfsctl run hangs or is stopped */
		fprintf(out, " (%.0f s ago)", age_sec);
	fputs("\n    ", out);
	put_member(out, job, "command");
	fputs(": ", out);
	put_member(out, job, "reason");
	fputc('\n', out);
}

void ctl_show_jobs(FILE *out, const json_t *jobs)
{
	if (json_array_size(jobs) > 0)
		fputs("\njobs of canfsctl run\n", out);
	for (size_t i = 0; i < json_array_size(jobs); i++)
		show_job(out, json_array_get(jobs, i));
}

static void show_poller(FILE *out, const json_t *mount)
{
	const json_t *poller = in(mount, "poller"), *price = in(mount, "price");

	fprintf(out, "  prices    asked %.0f times, %.0f answers, %.0f failures",
		ctl_number(poller, "questions"), ctl_number(poller, "answers"),
		ctl_number(poller, "failures"));
	if (json_is_object(price))
		fprintf(out, "; by %s, %.1f s old", ctl_text(price, "source"),
			ctl_number(price, "age_sec"));
	else
		fprintf(out, "; %s",
			is_true(poller, "publishes")                ? "no recent price"
			: ctl_number(poller, "prices_in_a_row") > 0 ? "not confirmed yet"
			: ctl_number(poller, "answers") > 0         ? "the server publishes none"
								    : "no answer yet");
	if (json_is_string(in(poller, "error"))) {
		fputs(": ", out);
		put_member(out, poller, "error");
	}
	fputc('\n', out);
}

/* Prints the state of the server's price service, unless the agent does not ask it. */
static void show_service(FILE *out, const json_t *mount)
{
	const json_t *service = in(mount, "service");
	const char *status = ctl_text(service, "status");

	if (!json_is_object(service))
		return;
	fputs("  service   ", out);
	if (is_true(service, "current"))
		fputs("pushes prices", out);
	else if (json_is_string(in(service, "error")))
		put_member(out, service, "error");
	else
		fputs(strcmp(status, "ok") == 0 ? "no answer" : status, out);
	fprintf(out, "; asked %.0f times, %.0f pushes, %.0f lost\n", ctl_number(service, "calls"),
		ctl_number(service, "pushes"), ctl_number(service, "lost"));
}

static void show_knob(FILE *out, const json_t *knob)
{
	fprintf(out, "  %-23s %.0f -> %.0f %s", ctl_text(knob, "knob"),
		ctl_number(knob, "original"), ctl_number(knob, "now"), ctl_text(knob, "unit"));
	if (ctl_number(knob, "original") == 0 && json_is_string(in(knob, "pair")))
		fprintf(out, " (%s was %.0f)", ctl_text(knob, "pair"),
			ctl_number(knob, "pair_original"));
	if (json_is_string(in(knob, "mountpoint"))) {
		fputs("  ", out);
		put_member(out, knob, "mountpoint");
	}
	fprintf(out, "%s\n",
		is_true(knob, "others") ? "  changed by someone else, not touched" : "");
}

void ctl_show_status(FILE *out, const json_t *status)
{
	const json_t *mounts = in(status, "mounts"), *knobs = in(status, "knobs");

	show_head(out, status);
	for (size_t i = 0; i < json_array_size(mounts); i++) {
		show_mount(out, json_array_get(mounts, i));
		show_poller(out, json_array_get(mounts, i));
		show_service(out, json_array_get(mounts, i));
	}
	fprintf(out, "\nchanged knobs:%s\n", json_array_size(knobs) == 0 ? " none" : "");
	for (size_t i = 0; i < json_array_size(knobs); i++)
		show_knob(out, json_array_get(knobs, i));
}

static void put_time(FILE *out, double unix_sec)
{
	time_t seconds = isnan(unix_sec) ? 0 : (time_t)unix_sec;
	struct tm local;
	char text[32];

	strftime(text, sizeof(text), "%F %T", localtime_r(&seconds, &local));
	fputs(text, out);
}

/* The newest decision last, as in a log. */
void ctl_show_why(FILE *out, const json_t *why)
{
	const json_t *decisions = in(why, "decisions");

	if (json_array_size(decisions) == 0)
		fputs("no decisions yet\n", out);
	for (size_t i = json_array_size(decisions); i-- > 0;) {
		const json_t *decision = json_array_get(decisions, i);

		put_time(out, ctl_number(decision, "time"));
		fputs("  ", out);
		if (json_is_string(in(decision, "mountpoint"))) {
			put_member(out, decision, "mountpoint");
			fputs(": ", out);
		}
		fprintf(out, "%s %s -> %s: ", ctl_text(decision, "what"),
			ctl_text(decision, "from"), ctl_text(decision, "to"));
		put_member(out, decision, "reason");
		fputc('\n', out);
	}
}
