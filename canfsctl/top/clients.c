// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/top/clients.h"

#include <stdio.h>
#include <string.h>
#include "canfsctl/socket.h"
#include "canfsctl/top/reply.h"
#include "canfsctl/top/table.h"
#include "canfsctl/top/waits.h"

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
	{ "put off", 8, CANFS_WIDE, "bully", "nobody_waits", canfs_format_seconds, CANFS_ORDER },
	{ "waited s", 9, 0, "victim", "waited", canfs_format_seconds, CANFS_ORDER },
	{ "in its", 8, 0, "victim", "waiting", format_operation, CANFS_TEXT },
	{ "reads/s", 9, CANFS_WIDE, "client", "reads_per_sec", canfs_format_short, CANFS_NUMBER },
	{ "read B/s", 9, 0, "client", "read_bytes_per_sec", canfs_format_short, CANFS_ORDER },
	{ "writes/s", 10, CANFS_WIDE, "client", "writes_per_sec", canfs_format_short,
		CANFS_NUMBER },
	{ "write B/s", 10, 0, "client", "write_bytes_per_sec", canfs_format_short, CANFS_ORDER },
	{ "class", 12, 130, "client", "class", canfs_format_word, CANFS_TEXT },
	{ "premium %", 10, 130, "client", "premium_percent", format_premium, CANFS_NUMBER },
};

static const struct canfs_table client_table = CANFS_TABLE(client_columns);

/* Finds the row of this address, or adds one. */
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

json_t *canfs_client_rows(const struct canfs_server_answers *answers)
{
	json_t *rows = json_array();

	add_rows(rows, in(answers->clients, "clients"), "address", "client");
	add_rows(rows, in(answers->who, "bullies"), "bully", "bully");
	add_rows(rows, in(answers->who, "victims"), "victim", "victim");
	return rows;
}

/*
 * Draws the pair with the most waiting that involves the selected client, or else the first pair of
 * all.
 */
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

int canfs_clients_put(struct canfs_page *page, int row, int rows_max,
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

int canfs_pairs_put(struct canfs_page *page, int row, int shown, const json_t *who)
{
	return canfs_table_put(page, row, &pair_table, in(who, "pairs"), 0, shown, -1, -1);
}

int canfs_client_orders(const struct canfs_page *page)
{
	return canfs_table_orders(&client_table, page);
}
