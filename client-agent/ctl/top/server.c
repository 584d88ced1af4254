// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/ctl/top/server.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "client-agent/ctl/socket.h"
#include "client-agent/ctl/top/head.h"
#include "client-agent/ctl/top/table.h"
#include "client-agent/ctl/top/waits.h"

/* From how many columns and rows on there is room for what helps less. */
#define WIDE 110
#define TALL 36

/* Rows of the lists beside that of clients, at most. */
#define EXPORTS_SHOWN 6
#define DEVICES_SHOWN 2
#define PAIRS_SHOWN   8

static const json_t *in(const json_t *object, const char *name)
{
	return json_object_get(object, name);
}

static int length_of(const json_t *array)
{
	return (int)json_array_size(array);
}

static int at_most(int value, int most)
{
	return value < most ? value : most;
}

static const struct canfs_column export_columns[] = {
	{ "export", 0, 0, "export", NULL, canfs_format_tail, CANFS_TEXT },
	{ "write", 8, 0, "write", "price", canfs_format_price, CANFS_NUMBER },
	{ "bottleneck", 12, 0, "write", "bottleneck", canfs_format_word, CANFS_TEXT },
	{ "read-ahead", 11, 0, "read_ahead", "price", canfs_format_price, CANFS_NUMBER },
	{ "bottleneck", 12, 0, "read_ahead", "bottleneck", canfs_format_word, CANFS_TEXT },
	{ "disk used", 11, 0, "disk", "utilization", canfs_format_share, CANFS_NUMBER },
};

static const struct canfs_table export_table = CANFS_TABLE(export_columns);

/* Of one export no table is needed: its name stands above its resources. A screen that is not tall tells the most expensive one. */
static int put_exports(
	struct canfs_page *page, int row, const json_t *exports, const struct canfs_top_view *view)
{
	const int shown = at_most(length_of(exports), EXPORTS_SHOWN);
	const int first = view->export_at - shown + 1;
	json_t *rows;

	if (length_of(exports) < 2 || page->rows < TALL)
		return row;
	rows = json_array();
	for (size_t i = 0; i < json_array_size(exports); i++) {
		const json_t *export = json_array_get(exports, i);
		json_t *object = json_object();

		canfs_set_shared(object, "export", in(export, "export"));
		canfs_set_shared(object, "write", in(in(export, "operations"), "write"));
		canfs_set_shared(object, "read_ahead", in(in(export, "operations"), "read_ahead"));
		canfs_set_shared(object, "disk", in(in(export, "resources"), "disk"));
		json_array_append_new(rows, object);
	}
	row = canfs_table_put(
		page, row, &export_table, rows, first > 0 ? first : 0, shown, -1, view->export_at);
	json_decref(rows);
	return row + 1;
}

static const struct canfs_column resource_columns[] = {
	{ "resource", 11, 0, "name", NULL, canfs_format_text, CANFS_TEXT },
	{ "used", 6, 0, "utilization", NULL, canfs_format_share, CANFS_NUMBER },
	{ "price", 7, 0, "price", NULL, canfs_format_price, CANFS_NUMBER },
	{ "k", 6, WIDE, "k", NULL, canfs_format_count, CANFS_NUMBER },
	{ "weight", 8, WIDE, "weight", NULL, canfs_format_share, CANFS_NUMBER },
	{ "bottleneck", 12, 0, "bottleneck", NULL, canfs_format_word, CANFS_TEXT },
	{ "the last seconds", 0, 0, "trend", NULL, canfs_format_trend, CANFS_TEXT },
	{ "what it is made of", 38, WIDE, "note", NULL, canfs_format_word, CANFS_TEXT },
};

static const struct canfs_table resource_table = CANFS_TABLE(resource_columns);

/* Of the history's rows one column. */
static json_t *trend_of(const json_t *history, const char *column)
{
	const json_t *columns = in(history, "columns"), *rows = in(history, "rows");
	json_t *trend = json_array();

	for (size_t i = 0; i < json_array_size(columns); i++) {
		if (strcmp(json_string_value(json_array_get(columns, i)), column) != 0)
			continue;
		for (size_t j = 0; j < json_array_size(rows); j++)
			json_array_append(trend, json_array_get(json_array_get(rows, j), i));
	}
	return trend;
}

static json_t *note_of(const char *resource, const json_t *values, const json_t *memory)
{
	char text[128] = "";

	if (strcmp(resource, "disk") == 0 && in(values, "type"))
		snprintf(text, sizeof(text), "%s, nominal queue %g / %g", ctl_text(values, "type"),
			ctl_number(values, "nominal_reads"), ctl_number(values, "nominal_writes"));
	if (strcmp(resource, "memory") == 0 && json_is_object(memory))
		snprintf(text, sizeof(text), "dirty %.2f, pressure %.2f, cache %.2f",
			ctl_number(memory, "dirty"), ctl_number(memory, "pressure"),
			ctl_number(in(memory, "read_cache"), "utilization"));
	return json_string(text);
}

static const struct {
	const char *name, *words;
} operations[] = { { "write", "write" }, { "read_ahead", "read-ahead" } };

static json_t *resource_rows(const json_t *export, const struct canfs_server_answers *answers)
{
	json_t *resources = canfs_share(in(export, "resources")), *rows = json_array(), *values;
	const char *name;

	json_object_foreach(resources, name, values)
	{
		json_t *row = json_copy(values);

		json_object_set_new(row, "name", json_string(name));
		json_object_set_new(row, "trend", trend_of(answers->history, name));
		json_object_set_new(
			row, "note", note_of(name, values, in(answers->prices, "memory")));
		json_array_append_new(rows, row);
	}
	json_decref(resources);
	return rows;
}

static int put_resources(struct canfs_page *page, int row, const json_t *export,
	const struct canfs_server_answers *answers)
{
	json_t *rows = resource_rows(export, answers);

	row = canfs_table_put(page, row, &resource_table, rows, 0, length_of(rows), -1, -1);
	json_decref(rows);
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		json_t *quote = canfs_share(in(in(export, "operations"), operations[i].name));
		json_t *object = json_copy(quote);

		json_object_set_new(object, "name", json_string(operations[i].words));
		json_object_set_new(
			object, "trend", trend_of(answers->history, operations[i].name));
		/* What a price has not is blank, not unknown. */
		json_object_update_new(object,
			json_pack("{s:s, s:s, s:s}", "utilization", "", "k", "", "weight", ""));
		canfs_table_row(page, row++, &resource_table, object, false);
		json_decref(object);
		json_decref(quote);
	}
	return row;
}

static void format_cause(const json_t *value, struct canfs_field *field)
{
	const char *words = canfs_wait_most(canfs_wait_causes, value);

	snprintf(field->text, sizeof(field->text), "%s", words ? words : "");
}

static void format_operation(const json_t *value, struct canfs_field *field)
{
	const char *words = canfs_wait_most(canfs_wait_operations, value);

	snprintf(field->text, sizeof(field->text), "%s", words ? words : "");
}

static void format_premium(const json_t *value, struct canfs_field *field)
{
	if (json_number_value(value) != 0)
		snprintf(field->text, sizeof(field->text), "%+.0f", json_number_value(value));
}

static const struct canfs_column client_columns[] = {
	{ "client", 0, 0, "address", NULL, canfs_format_tail, CANFS_TEXT },
	{ "imposed s", 10, 0, "bully", "waited", canfs_format_seconds, CANFS_ORDER },
	{ "by its", 11, 0, "bully", "cause", format_cause, CANFS_TEXT },
	{ "put off", 8, WIDE, "bully", "nobody_waits", canfs_format_seconds, CANFS_ORDER },
	{ "waited s", 9, 0, "victim", "waited", canfs_format_seconds, CANFS_ORDER },
	{ "in its", 8, 0, "victim", "waiting", format_operation, CANFS_TEXT },
	{ "reads/s", 9, WIDE, "client", "reads_per_sec", canfs_format_short, CANFS_NUMBER },
	{ "read B/s", 9, 0, "client", "read_bytes_per_sec", canfs_format_short, CANFS_ORDER },
	{ "writes/s", 10, WIDE, "client", "writes_per_sec", canfs_format_short, CANFS_NUMBER },
	{ "write B/s", 10, 0, "client", "write_bytes_per_sec", canfs_format_short, CANFS_ORDER },
	{ "class", 12, 130, "client", "class", canfs_format_word, CANFS_TEXT },
	{ "premium %", 10, 130, "client", "premium_percent", format_premium, CANFS_NUMBER },
};

static const struct canfs_table client_table = CANFS_TABLE(client_columns);

/* The row of this address; made, if there is none yet. */
static json_t *row_of(json_t *rows, const char *address)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (strcmp(ctl_text(row, "address"), address) == 0)
			return row;
	}
	row = json_pack("{s:s}", "address", address);
	json_array_append_new(rows, row);
	return row;
}

static void add_rows(json_t *rows, const json_t *list, const char *address, const char *member)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *object = json_array_get(list, i);

		canfs_set_shared(row_of(rows, ctl_text(object, address)), member, object);
	}
}

/* One for each client that any of the lists has. */
static json_t *client_rows(const struct canfs_server_answers *answers)
{
	json_t *rows = json_array();

	add_rows(rows, in(answers->clients, "clients"), "address", "client");
	add_rows(rows, in(answers->who, "bullies"), "bully", "bully");
	add_rows(rows, in(answers->who, "victims"), "victim", "victim");
	return rows;
}

/* The pair that waited most, of the marked client; of all, if it has none. */
static void put_pair(struct canfs_page *page, int row, const json_t *pairs, const char *client)
{
	const json_t *pair = json_array_get(pairs, 0);
	const char *cause, *operation;

	for (size_t i = 0; i < json_array_size(pairs); i++) {
		const json_t *of = json_array_get(pairs, i);

		if (strcmp(ctl_text(of, "bully"), client) == 0 ||
			strcmp(ctl_text(of, "victim"), client) == 0) {
			pair = of;
			break;
		}
	}
	cause = canfs_wait_most(canfs_wait_causes, in(pair, "cause"));
	operation = canfs_wait_most(canfs_wait_operations, in(pair, "waiting"));
	if (cause && operation)
		canfs_page_print(page, row, 0, CANFS_PLAIN, "%s's %s cost %s %.2f s, mostly in %s",
			ctl_text(pair, "bully"), cause, ctl_text(pair, "victim"),
			ctl_number(pair, "waited"), operation);
}

static void put_who_head(
	struct canfs_page *page, int row, const struct canfs_server_answers *answers)
{
	if (json_is_null(in(answers->clients, "clients")))
		canfs_page_put(page, row, 0, CANFS_DIM,
			"clients, and who makes whom wait: not known to this server");
	else if (!json_is_array(in(answers->who, "pairs")))
		canfs_page_put(
			page, row, 0, CANFS_DIM, "who makes whom wait: not known to this server");
	else
		canfs_page_print(page, row, 0, CANFS_PLAIN,
			"clients: %d; they waited %.2f s for each other in the last %.0f s",
			length_of(in(answers->clients, "clients")),
			ctl_number(answers->who, "waited"), ctl_number(answers->who, "seconds"));
}

/* In so many rows: a head of two, the table's heading, and as many clients as there is room for. */
static int put_clients(struct canfs_page *page, int row, int rows_max,
	const struct canfs_server_answers *answers, const json_t *clients,
	struct canfs_top_view *view)
{
	const int order = canfs_table_order(&client_table, page, view->sort);
	const int shown = rows_max - 3;
	json_t *rows;

	view->page_rows = shown > 1 ? shown : 1;
	if (shown < 1)
		return row;
	rows = canfs_table_sorted(&client_table, order, clients);
	put_who_head(page, row, answers);
	put_pair(page, row + 1, in(answers->who, "pairs"),
		ctl_text(json_array_get(rows, (size_t)view->cursor), "address"));
	row = canfs_table_put(page, row + 2, &client_table, rows, canfs_view_first(view, shown),
		shown, order, view->cursor);
	json_decref(rows);
	return row;
}

static const struct canfs_column pair_columns[] = {
	{ "made wait", 0, 0, "bully", NULL, canfs_format_tail, CANFS_TEXT },
	{ "by its", 12, 0, "cause", NULL, format_cause, CANFS_TEXT },
	{ "who waited", 40, 0, "victim", NULL, canfs_format_tail, CANFS_TEXT },
	{ "in its", 9, 0, "waiting", NULL, format_operation, CANFS_TEXT },
	{ "seconds", 9, 0, "waited", NULL, canfs_format_seconds, CANFS_NUMBER },
	{ "put off", 9, 0, "nobody_waits", NULL, canfs_format_seconds, CANFS_NUMBER },
};

static const struct canfs_table pair_table = CANFS_TABLE(pair_columns);

static const struct canfs_column device_columns[] = {
	{ "disk", 0, 0, "device", NULL, canfs_format_tail, CANFS_TEXT },
	{ "type", 11, WIDE, "type", NULL, canfs_format_text, CANFS_TEXT },
	{ "scheduler", 10, 0, "scheduler", NULL, canfs_format_text, CANFS_TEXT },
	{ "queued", 7, 0, "waiting", NULL, canfs_format_count, CANFS_NUMBER },
	{ "in kernel", 10, 0, "in_kernel", NULL, canfs_format_count, CANFS_NUMBER },
	{ "of", 4, WIDE, "depth", NULL, canfs_format_count, CANFS_NUMBER },
	{ "wait ms", 8, 0, "demand", "msec", canfs_format_msec, CANFS_NUMBER },
	{ "ahead B/s", 10, 0, "rate", "fetched_bytes", canfs_format_short, CANFS_NUMBER },
	{ "used %", 8, 0, "rate", "used", canfs_format_percent, CANFS_NUMBER },
	{ "wasted %", 9, 0, "rate", "wasted", canfs_format_percent, CANFS_NUMBER },
	{ "files", 7, WIDE, "table", "files", canfs_format_short, CANFS_NUMBER },
	{ "cursors", 9, WIDE, "table", "cursors", canfs_format_short, CANFS_NUMBER },
};

static const struct canfs_table device_table = CANFS_TABLE(device_columns);

static const json_t *device_before(const json_t *prefetch, const char *name)
{
	const json_t *devices = in(prefetch, "devices");

	for (size_t i = 0; i < json_array_size(devices); i++) {
		if (strcmp(ctl_text(json_array_get(devices, i), "device"), name) == 0)
			return json_array_get(devices, i);
	}
	return NULL;
}

/* What was counted since then; NAN: not known, as after a restart of the server. */
static double grown(const json_t *now, const json_t *before, const char *group, const char *name)
{
	double more = ctl_number(in(now, group), name) - ctl_number(in(before, group), name);

	return more >= 0 ? more : (double)NAN;
}

/* NULL, which is shown as unknown, for what is no number. */
static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

/* A mean of all that was done, of two times: that of what was done between them. */
static double mean_between(const json_t *now, const json_t *before)
{
	const json_t *demand[] = { in(before, "demand"), in(now, "demand") };
	double done[2], sum[2];

	for (int i = 0; i < 2; i++) {
		done[i] = ctl_number(demand[i], "done");
		sum[i] = done[i] * ctl_number(demand[i], "wait_msec_mean");
	}
	return done[1] > done[0] ? fmax(sum[1] - sum[0], 0) / (done[1] - done[0]) : (double)NAN;
}

static json_t *device_row(const json_t *now, const json_t *before, double sec)
{
	json_t *old = canfs_share(now), *row = json_copy(old);
	double fetched = grown(now, before, "table", "fetched_bytes");
	double used = grown(now, before, "table", "used_bytes");
	double wasted = grown(now, before, "table", "wasted_bytes");

	json_object_set_new(
		row, "demand", json_pack("{s:o}", "msec", real(mean_between(now, before))));
	json_object_set_new(row, "rate",
		json_pack("{s:o, s:o, s:o}", "fetched_bytes", real(fetched / sec), "used",
			real(used / (used + wasted)), "wasted", real(wasted / (used + wasted))));
	json_decref(old);
	return row;
}

static void put_devices(
	struct canfs_page *page, int row, int shown, const struct canfs_server_answers *answers)
{
	const json_t *devices = in(answers->prefetch, "devices");
	double sec = ctl_number(answers->prefetch, "time") -
		     ctl_number(answers->prefetch_before, "time");
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(devices); i++) {
		const json_t *device = json_array_get(devices, i);

		json_array_append_new(rows,
			device_row(device,
				device_before(answers->prefetch_before, ctl_text(device, "device")),
				sec));
	}
	canfs_table_put(page, row, &device_table, rows, 0, shown, -1, -1);
	json_decref(rows);
}

/* Each with its number, if the server tells it. */
static const struct {
	const char *name, *words;
	bool is_fault; /* told if there are any */
} totals[] = {
	{ "write_errors", "write errors", true },
	{ "waiting", "waiting reads", false },
	{ "subscribers", "subscribers", false },
	{ "delegations", "delegations", false },
	{ "delegations_recalled", "recalled", false },
	{ "interval_ms", "interval ms", false },
};

static void put_totals(struct canfs_page *page, int row, const struct canfs_server_answers *answers)
{
	const json_t *replies[] = { answers->prices, answers->counters, answers->prefetch };
	int column = 0;

	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		for (size_t j = 0; j < sizeof(replies) / sizeof(replies[0]); j++) {
			double value = ctl_number(replies[j], totals[i].name);

			if (!isnan(value) && (value > 0 || !totals[i].is_fault))
				column = canfs_page_print(page, row, column,
					totals[i].is_fault ? CANFS_BAD : CANFS_PLAIN, "%s%s: %.0f",
					column > 0 ? ", " : "", totals[i].words, value);
		}
	}
}

static double write_price(const json_t *exports, int at)
{
	const json_t *export = json_array_get(exports, (size_t)at);

	return ctl_number(in(in(export, "operations"), "write"), "price");
}

/* Which of them it is, if there are several; and the most expensive one, if it is another. */
static void put_place(struct canfs_page *page, int row, int column, const json_t *exports, int at)
{
	int highest = 0;

	for (int i = 0; i < length_of(exports); i++) {
		if (write_price(exports, i) > write_price(exports, highest))
			highest = i;
	}
	if (length_of(exports) > 1)
		column = canfs_page_print(page, row, column, CANFS_PLAIN, "  %d of %d exports",
			at + 1, length_of(exports));
	if (write_price(exports, highest) > write_price(exports, at))
		canfs_page_print(page, row, column,
			canfs_price_style(write_price(exports, highest)), "; %s is at %.2f",
			ctl_text(json_array_get(exports, (size_t)highest), "export"),
			write_price(exports, highest));
}

static void put_export(struct canfs_page *page, int row, const json_t *prices, int at)
{
	const json_t *exports = in(prices, "exports");
	const json_t *export = json_array_get(exports, (size_t)at);
	int column = canfs_page_put(page, row, 0, CANFS_BOLD, ctl_text(export, "export"));

	if (!json_is_true(in(export, "publishes")))
		column = canfs_page_put(page, row, column, CANFS_BAD, "  NOT PUBLISHED");
	if (json_is_true(in(prices, "drain")))
		column = canfs_page_put(page, row, column, CANFS_WARN, "  DRAINING: writes at 1");
	put_place(page, row, column, exports, at);
}

static void put_help(struct canfs_page *page)
{
	static const char *const lines[] = {
		"used, price   0 to 1: of a resource. A client whose own price is below that of",
		"              a write holds its data back.",
		"imposed       seconds that others were held up while the disk was at work for",
		"              this client; most of it by its write-back, reads ...",
		"put off       of these, what nobody waits for: agents would put it off",
		"waited        seconds that it was held up for others, most in its reads ...",
		"ahead         read ahead in the last seconds; used, wasted: what became of it",
	};
	int row = canfs_view_put_help(page, 3) + 1;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		canfs_page_put(page, row++, 2, CANFS_PLAIN, lines[i]);
}

/* The clients have what the others leave. */
static void put_body(struct canfs_page *page, const struct canfs_server_answers *answers,
	const json_t *clients, struct canfs_top_view *view)
{
	const json_t *exports = in(answers->prices, "exports");
	const json_t *export = json_array_get(exports, (size_t)view->export_at);
	const json_t *pairs = in(answers->who, "pairs");
	const bool is_tall = page->rows >= TALL;
	const int devices = at_most(length_of(in(answers->prefetch, "devices")),
		is_tall ? 2 * DEVICES_SHOWN : DEVICES_SHOWN);
	const int pairs_shown = is_tall ? at_most(length_of(pairs), PAIRS_SHOWN) : 0;
	int row = 2 + is_tall, below = 0; /* rows that what follows the clients takes */

	if (devices > 0)
		below += devices + 1 + is_tall;
	if (pairs_shown > 0)
		below += pairs_shown + 1 + is_tall;
	row = put_exports(page, row, exports, view);
	if (export) {
		put_export(page, row++, answers->prices, view->export_at);
		row = put_resources(page, row, export, answers) + is_tall;
	}
	row = put_clients(page, row, page->rows - 1 - row - below, answers, clients, view);
	if (pairs_shown > 0)
		row = canfs_table_put(
			page, row + is_tall, &pair_table, pairs, 0, pairs_shown, -1, -1);
	if (devices > 0)
		put_devices(page, row + is_tall, devices, answers);
}

void canfs_server_layout(const struct canfs_server_answers *answers, struct canfs_top_view *view,
	struct canfs_page *page)
{
	const double time = ctl_number(answers->prices, "time");
	json_t *clients = client_rows(answers);
	char what[512];

	view->cursors = length_of(clients);
	view->sorts = canfs_table_orders(&client_table, page);
	view->exports = length_of(in(answers->prices, "exports"));
	canfs_view_bound(view);
	snprintf(what, sizeof(what), "canfs server on %s", answers->host);
	if (page->columns >= WIDE)
		snprintf(what, sizeof(what), "canfs server on %s, %s", answers->host,
			answers->socket);
	canfs_head_put(page, view, what, json_string_value(in(answers->counters, "version")),
		ctl_number(answers->counters, "uptime_sec"), time);
	if (answers->error)
		canfs_head_put_error(page, 1, answers->error, answers->silent_sec, time);
	else
		put_totals(page, 1, answers);
	if (view->is_helped)
		put_help(page);
	else if (answers->prices)
		put_body(page, answers, clients, view);
	canfs_view_put_keys(page, view);
	json_decref(clients);
}

const char *canfs_server_export(const json_t *prices, const struct canfs_top_view *view)
{
	return json_string_value(
		in(json_array_get(in(prices, "exports"), (size_t)view->export_at), "export"));
}
