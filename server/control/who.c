// SPDX-License-Identifier: LGPL-3.0-or-later
/* The command that shows which client makes which other client wait. */
#include "server/control/request.h"

#include <math.h>
#include <string.h>
#include "common/address.h"

#define TOP_PAIRS 20

static const char *const operation_names[] = {
	[CANFS_WAITING_READ] = "read",
	[CANFS_WAITING_WRITE] = "write",
	[CANFS_WAITING_COMMIT] = "commit",
};

static const char *const cause_names[] = {
	[CANFS_CAUSE_READ] = "read",
	[CANFS_CAUSE_READ_AHEAD] = "read_ahead",
	[CANFS_CAUSE_WRITE_BACK] = "write_back",
	[CANFS_CAUSE_SYNC] = "sync",
};

/* Six decimals are more than the times are accurate to. */
static json_t *seconds_of(double sec)
{
	return json_real(round(sec * 1e6) / 1e6);
}

static json_t *show_operations(const struct canfs_waits *waits)
{
	json_t *shown = json_object();

	for (int i = 0; i < CANFS_WAITING_OPERATIONS; i++)
		json_object_set_new(shown, operation_names[i], seconds_of(waits->operation[i]));
	return shown;
}

static json_t *show_causes(const struct canfs_waits *waits)
{
	json_t *shown = json_object();

	for (int i = 0; i < CANFS_WAIT_CAUSES; i++)
		json_object_set_new(shown, cause_names[i], seconds_of(waits->cause[i]));
	return shown;
}

static void add_address(json_t *shown, const char *name, const struct in6_addr *address)
{
	char text[INET6_ADDRSTRLEN];

	if (!IN6_IS_ADDR_UNSPECIFIED(address))
		json_object_set_new(shown, name, json_string(canfs_print_address(address, text)));
}

static json_t *show_row(const struct canfs_pair_row *row)
{
	const double *cause = row->waits.cause;
	json_t *shown = json_object();

	add_address(shown, "bully", &row->bully);
	add_address(shown, "victim", &row->victim);
	json_object_update_new(shown,
		json_pack("{s:o, s:o, s:o, s:o}", "waited", seconds_of(row->waited_sec),
			"nobody_waits",
			seconds_of(cause[CANFS_CAUSE_READ_AHEAD] + cause[CANFS_CAUSE_WRITE_BACK]),
			"waiting", show_operations(&row->waits), "cause",
			show_causes(&row->waits)));
	return shown;
}

static json_t *show_rows(const struct canfs_pair_row *rows, size_t count, size_t top)
{
	json_t *shown = json_array();

	for (size_t i = 0; i < count && i < top; i++)
		json_array_append_new(shown, show_row(&rows[i]));
	return shown;
}

static bool is_of(const struct canfs_pair_row *row, const struct in6_addr *client)
{
	return canfs_is_same_host(&row->bully, client) || canfs_is_same_host(&row->victim, client);
}

/* Keeps only the rows with this client. Returns their number. */
static size_t keep_client(struct canfs_pair_row *rows, size_t count, const struct in6_addr *client)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (is_of(&rows[i], client))
			rows[kept++] = rows[i];
	}
	return kept;
}

json_t *canfs_control_who(struct canfs_control_call *call)
{
	struct canfs_pair_row rows[CANFS_PAIRS_MAX], sums[CANFS_PAIRS_MAX];
	struct canfs_waiting *waiting = canfs_control_subject_of(call)->waiting;
	unsigned int seconds, top;
	struct in6_addr client;
	const char *text;
	json_t *bullies;
	double all = 0;
	bool is_ipv4;
	size_t count, found;

	if (!canfs_control_count(
		    call, "seconds", CANFS_PAIRS_SECONDS, CANFS_PAIRS_SECONDS, &seconds) ||
		!canfs_control_count(call, "top", CANFS_PAIRS_MAX, TOP_PAIRS, &top) ||
		!canfs_control_string(call, "client", &text))
		return NULL;
	if (text && !canfs_parse_address(text, strlen(text), &client, &is_ipv4))
		return canfs_control_refuse(
			call, "client: '%.64s' is not an address; \"clients\" lists them", text);
	if (!waiting)
		return json_pack("{s:i, s:n, s:n, s:n, s:n}", "seconds", (int)seconds, "waited",
			"bullies", "victims", "pairs");
	count = canfs_waiting_list(waiting, call->now.monotonic_usec, seconds, rows);
	if (text)
		count = keep_client(rows, count, &client);
	for (size_t i = 0; i < count; i++)
		all += rows[i].waited_sec;
	found = canfs_pairs_sum(rows, count, CANFS_BULLY, sums);
	bullies = show_rows(sums, found, top);
	found = canfs_pairs_sum(rows, count, CANFS_VICTIM, sums);
	return json_pack("{s:i, s:o, s:o, s:o, s:o}", "seconds", (int)seconds, "waited",
		seconds_of(all), "bullies", bullies, "victims", show_rows(sums, found, top),
		"pairs", show_rows(rows, count, top));
}
