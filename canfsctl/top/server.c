// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/top/server.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "canfsctl/socket.h"
#include "canfsctl/top/clients.h"
#include "canfsctl/top/disks.h"
#include "canfsctl/top/head.h"
#include "canfsctl/top/reply.h"
#include "canfsctl/top/table.h"

/* Maximum rows of the lists other than clients. */
#define EXPORTS_SHOWN 6
#define DEVICES_SHOWN 2
#define PAIRS_SHOWN   8

static const struct canfs_column export_columns[] = {
	{ "export", 0, 0, "export", NULL, canfs_format_tail, CANFS_TEXT },
	{ "write", 8, 0, "write", "price", canfs_format_price, CANFS_NUMBER },
	{ "bottleneck", 12, 0, "write", "bottleneck", canfs_format_word, CANFS_TEXT },
	{ "read-ahead", 11, 0, "read_ahead", "price", canfs_format_price, CANFS_NUMBER },
	{ "bottleneck", 12, 0, "read_ahead", "bottleneck", canfs_format_word, CANFS_TEXT },
	{ "disk used", 11, 0, "disk", "utilization", canfs_format_share, CANFS_NUMBER },
};

static const struct canfs_table export_table = CANFS_TABLE(export_columns);

/*
 * A single export needs no table, since its name is above its resources. On a short screen,
 * put_place() names the most expensive export instead.
 */
static int put_exports(
	struct canfs_page *page, int row, const json_t *exports, const struct canfs_top_view *view)
{
	const int shown = at_most(length_of(exports), EXPORTS_SHOWN);
	const int first = view->export_at - shown + 1;
	json_t *rows;

	if (length_of(exports) < 2 || page->rows < CANFS_TALL)
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
	{ "k", 6, CANFS_WIDE, "k", NULL, canfs_format_count, CANFS_NUMBER },
	{ "bottleneck", 12, 0, "bottleneck", NULL, canfs_format_word, CANFS_TEXT },
	{ "the last seconds", 0, 0, "trend", NULL, canfs_format_trend, CANFS_TEXT },
	{ "what it is made of", 38, CANFS_WIDE, "note", NULL, canfs_format_word, CANFS_TEXT },
};

static const struct canfs_table resource_table = CANFS_TABLE(resource_columns);

/* Extracts one column of the history's rows. */
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
	if (strcmp(resource, "backend") == 0 && in(values, "nominal_operations"))
		snprintf(text, sizeof(text), "nominal queue %.0f",
			ctl_number(values, "nominal_operations"));
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
		/* blank instead of unknown: a price has none of these */
		json_object_update_new(object, json_pack("{s:s, s:s}", "utilization", "", "k", ""));
		canfs_table_row(page, row++, &resource_table, object, false);
		json_decref(object);
		json_decref(quote);
	}
	return row;
}

/* Each total is shown if the server reports its number. */
static const struct {
	const char *name, *words;
	bool is_fault; /* shown if greater than 0 */
} totals[] = {
	{ "write_errors", "write errors", true },
	{ "waiting", "waiting reads", false },
	{ "subscribers", "subscribers", false },
	{ "delegations", "delegations", false },
	{ "delegations_recalled", "recalled", false },
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

/* Returns 0 if there is no price. */
static double write_price(const json_t *exports, int at)
{
	const json_t *export = json_array_get(exports, (size_t)at);

	return json_number_value(in(in(in(export, "operations"), "write"), "price"));
}

/* Draws the position among several exports, and the most expensive export if it is another one. */
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

	canfs_view_put_help(page, 3, lines, sizeof(lines) / sizeof(lines[0]));
}

/* The clients get the rows that the other lists leave. */
static void put_body(struct canfs_page *page, const struct canfs_server_answers *answers,
	const json_t *clients, struct canfs_top_view *view)
{
	const json_t *exports = in(answers->prices, "exports");
	const json_t *export = json_array_get(exports, (size_t)view->export_at);
	const json_t *pairs = in(answers->who, "pairs");
	const bool is_tall = page->rows >= CANFS_TALL;
	const int devices = at_most(length_of(in(answers->prefetch, "devices")),
		is_tall ? 2 * DEVICES_SHOWN : DEVICES_SHOWN);
	const int pairs_shown = is_tall ? at_most(length_of(pairs), PAIRS_SHOWN) : 0;
	int row = 2 + is_tall, below = 0; /* below: rows needed below the clients */

	if (devices > 0)
		below += devices + 1 + is_tall;
	if (pairs_shown > 0)
		below += pairs_shown + 1 + is_tall;
	row = put_exports(page, row, exports, view);
	if (export) {
		put_export(page, row++, answers->prices, view->export_at);
		row = put_resources(page, row, export, answers) + is_tall;
	}
	row = canfs_clients_put(page, row, page->rows - 1 - row - below, answers, clients, view);
	if (pairs_shown > 0)
		row = canfs_pairs_put(page, row + is_tall, pairs_shown, answers->who);
	if (devices > 0)
		canfs_disks_put(page, row + is_tall, devices, answers);
}

void canfs_server_layout(const struct canfs_server_answers *answers, struct canfs_top_view *view,
	struct canfs_page *page)
{
	const double time = ctl_number(answers->prices, "time");
	json_t *clients = canfs_client_rows(answers);
	char what[512];

	view->cursors = length_of(clients);
	view->sorts = canfs_client_orders(page);
	view->exports = length_of(in(answers->prices, "exports"));
	canfs_view_bound(view);
	snprintf(what, sizeof(what), "canfs server on %s", answers->host);
	if (page->columns >= CANFS_WIDE)
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
