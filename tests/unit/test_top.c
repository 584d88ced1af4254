// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The pages of canfsctl top, on two screens, against tests/unit/top/NAME-COLUMNSxROWS.txt. A change of a page is seen in
 * those: with CANFS_TOP_WRITE=1 in the environment they are written, not compared.
 */
#include "canfsctl/top/agent.h"
#include "canfsctl/top/page.h"
#include "canfsctl/top/server.h"
#include "canfsctl/top/table.h"

#include <curses.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define DIRECTORY "tests/unit/top/"

static json_t *server, *agent;

static const struct {
	int columns, rows;
} screens[] = { { 80, 24 }, { 160, 48 } };

static const json_t *in(const json_t *object, const char *name)
{
	return json_object_get(object, name);
}

static struct canfs_server_answers server_answers(void)
{
	return (struct canfs_server_answers) { .host = "nfs1",
		.socket = "/run/canfs/ganesha.sock",
		.prices = in(server, "prices"),
		.history = in(server, "history"),
		.clients = in(server, "clients"),
		.who = in(server, "who"),
		.counters = in(server, "counters"),
		.prefetch = in(server, "prefetch"),
		.prefetch_before = in(server, "prefetch_before") };
}

static struct canfs_agent_answers agent_answers(void)
{
	return (struct canfs_agent_answers) { .host = "client1",
		.status = in(agent, "status"),
		.why = in(agent, "why"),
		.jobs = in(agent, "jobs"),
		.trends = in(agent, "trends"),
		.now_sec = json_number_value(in(in(agent, "status"), "time")) };
}

static struct canfs_page fresh(int rows, int columns)
{
	struct canfs_page page;

	assert_int_equal(canfs_page_init(&page, rows, columns), 0);
	return page;
}

static char *text_of(struct canfs_page *page)
{
	char *text = canfs_page_text(page);

	assert_non_null(text);
	canfs_page_free(page);
	return text;
}

static char *server_page(const struct canfs_server_answers *answers, struct canfs_top_view *view,
	int rows, int columns)
{
	struct canfs_page page = fresh(rows, columns);

	canfs_server_layout(answers, view, &page);
	return text_of(&page);
}

static char *agent_page(const struct canfs_agent_answers *answers, struct canfs_top_view *view,
	int rows, int columns)
{
	struct canfs_page page = fresh(rows, columns);

	canfs_agent_layout(answers, view, &page);
	return text_of(&page);
}

static void compare(const char *name, int columns, int rows, char *text)
{
	char path[256], expected[65536];
	FILE *file;

	snprintf(path, sizeof(path), DIRECTORY "%s-%dx%d.txt", name, columns, rows);
	file = fopen(path, getenv("CANFS_TOP_WRITE") ? "w" : "r");
	assert_non_null(file);
	if (getenv("CANFS_TOP_WRITE"))
		fputs(text, file);
	else
		expected[fread(expected, 1, sizeof(expected) - 1, file)] = '\0';
	fclose(file);
	if (!getenv("CANFS_TOP_WRITE"))
		assert_string_equal(text, expected);
	free(text);
}

static void server_looks_so(void **state)
{
	const struct canfs_server_answers answers = server_answers();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct canfs_top_view view = { .interval_sec = 1 };

		compare("server", screens[i].columns, screens[i].rows,
			server_page(&answers, &view, screens[i].rows, screens[i].columns));
		assert_int_equal(view.cursors, 10);
		assert_int_equal(view.exports, 3);
	}
}

static void agent_looks_so(void **state)
{
	const struct canfs_agent_answers answers = agent_answers();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct canfs_top_view view = { .interval_sec = 1 };

		compare("agent", screens[i].columns, screens[i].rows,
			agent_page(&answers, &view, screens[i].rows, screens[i].columns));
	}
}

static void help_looks_so(void **state)
{
	const struct canfs_server_answers of_server = server_answers();
	const struct canfs_agent_answers of_agent = agent_answers();
	struct canfs_top_view view = { .interval_sec = 1, .is_helped = true };

	(void)state;
	compare("server-help", 80, 24, server_page(&of_server, &view, 24, 80));
	compare("agent-help", 80, 24, agent_page(&of_agent, &view, 24, 80));
}

static void contains(char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("no '%s' in:\n%s", wanted, text);
	free(text);
}

static void tells_that_nobody_answers(void **state)
{
	struct canfs_server_answers of_server = server_answers();
	struct canfs_agent_answers of_agent = agent_answers();
	const struct canfs_agent_answers nothing = { .host = "client1",
		.error = "/run/canfs/agent.sock: Connection refused",
		.silent_sec = 2 };
	struct canfs_top_view view = { .interval_sec = 1 };

	(void)state;
	of_server.error = of_agent.error = "socket: Connection refused";
	of_server.silent_sec = of_agent.silent_sec = 12.3;
	contains(server_page(&of_server, &view, 24, 80),
		"\nNO ANSWER for 12 s, below: of 14:13:20: socket: Connection refused\n");
	contains(agent_page(&of_agent, &view, 24, 80),
		"\nNO ANSWER for 12 s, below: of 14:13:20: socket: Connection refused\n");
	contains(agent_page(&nothing, &view, 24, 80),
		"\nNO ANSWER for 2 s: /run/canfs/agent.sock: Connection refused\n");
}

/* As a sidecar tells, and a server that has just begun. */
static void does_with_what_there_is(void **state)
{
	json_t *null = json_pack("{s:n}", "clients");
	struct canfs_server_answers answers = server_answers();
	struct canfs_top_view view = { .interval_sec = 1 };
	struct canfs_server_answers none = { .host = "nfs1", .socket = "" };

	(void)state;
	answers.who = answers.history = answers.counters = NULL;
	answers.prefetch = answers.prefetch_before = NULL;
	answers.clients = null;
	contains(server_page(&answers, &view, 24, 80),
		"clients, and who makes whom wait: not known to this server\n");
	contains(server_page(&answers, &view, 24, 80), "\ndisk         0.93   0.85\n");
	contains(server_page(&none, &view, 24, 80), " canfs server on nfs1 ");
	json_decref(null);
}

/* Nothing is written outside of the page: the sanitizers and valgrind look. */
static void fits_any_screen(void **state)
{
	const struct canfs_server_answers of_server = server_answers();
	const struct canfs_agent_answers of_agent = agent_answers();

	(void)state;
	for (int rows = 1; rows < 60; rows += 5) {
		for (int columns = 1; columns < 200; columns += 9) {
			struct canfs_top_view view = {
				.interval_sec = 1, .cursor = 9, .export_at = 9
			};

			free(server_page(&of_server, &view, rows, columns));
			free(agent_page(&of_agent, &view, rows, columns));
		}
	}
}

static enum canfs_key_result press(struct canfs_top_view *view, int key)
{
	struct canfs_server_answers answers = server_answers();
	enum canfs_key_result result = canfs_view_key(view, key);

	free(server_page(&answers, view, 24, 80));
	return result;
}

static void keys_stay_in_bounds(void **state)
{
	struct canfs_top_view view = { .interval_sec = 1 };

	(void)state;
	press(&view, KEY_UP);
	assert_int_equal(view.cursor, 0);
	press(&view, KEY_END);
	press(&view, 'j');
	assert_int_equal(view.cursor, 9);
	press(&view, KEY_PPAGE);
	assert_int_equal(view.cursor, 9 - view.page_rows);
	assert_int_equal(press(&view, KEY_LEFT), CANFS_KEY_ASK);
	assert_int_equal(view.export_at, 0);
	for (int i = 0; i < 5; i++)
		press(&view, KEY_RIGHT);
	assert_int_equal(view.export_at, 2);
	for (int i = 0; i < view.sorts; i++)
		press(&view, 's');
	assert_int_equal(view.sort, 0);
	for (int i = 0; i < 20; i++)
		press(&view, '+');
	assert_true(view.interval_sec > 59 && view.interval_sec < 61);
	for (int i = 0; i < 20; i++)
		press(&view, '-');
	assert_true(view.interval_sec > 0.1 && view.interval_sec < 0.3);
	assert_int_equal(press(&view, 'p'), CANFS_KEY_DRAW);
	assert_int_equal(press(&view, 'p'), CANFS_KEY_ASK);
	assert_int_equal(press(&view, ' '), CANFS_KEY_ASK);
	assert_int_equal(press(&view, ERR), CANFS_KEY_DRAW);
	assert_int_equal(press(&view, KEY_RESIZE), CANFS_KEY_DRAW);
	assert_int_equal(press(&view, '?'), CANFS_KEY_DRAW);
	assert_int_equal(press(&view, 'q'), CANFS_KEY_DRAW); /* leaves the help */
	assert_int_equal(press(&view, 'q'), CANFS_KEY_QUIT);
}

static void another_order_another_first(void **state)
{
	const struct canfs_server_answers answers = server_answers();
	struct canfs_top_view view = { .interval_sec = 1, .sort = 2 }; /* by what is read */
	char *text = server_page(&answers, &view, 24, 80), *first;

	(void)state;
	first = strstr(text, "\nclient ");
	assert_non_null(first);
	first = strchr(first + 1, '\n') + 1;
	assert_memory_equal(first, "+8d3:1319:8a2e:370:7348", 23);
	free(text);
}

/* The cursor's row is among those that are shown, and its sentence is the client's. */
static void list_follows_the_cursor(void **state)
{
	const struct canfs_server_answers answers = server_answers();
	struct canfs_top_view view = { .interval_sec = 1, .cursor = 9 };

	(void)state;
	contains(server_page(&answers, &view, 24, 80), "\n10.0.3.7 ");
	view.cursor = 3;
	contains(server_page(&answers, &view, 24, 80),
		"\n10.0.0.7's reads cost 10.0.3.1 0.31 s, mostly in reads\n");
}

static void trends_are_kept(void **state)
{
	const json_t *status = in(agent, "status"), *trend;
	json_t *trends = NULL, *gone = json_pack("{s:[]}", "mounts");

	(void)state;
	for (int i = 0; i < CANFS_AGENT_TRENDS + 3; i++)
		trends = canfs_agent_trends(trends, status);
	trend = in(in(trends, "/data"), "write");
	assert_int_equal(json_array_size(trend), CANFS_AGENT_TRENDS);
	assert_true(json_number_value(json_array_get(trend, 0)) > 0.85);
	trend = in(in(trends, "/mnt/projects/of/a/quite/long/name"), "write");
	assert_true(json_is_null(json_array_get(trend, 0)));
	trends = canfs_agent_trends(trends, gone);
	assert_int_equal(json_object_size(trends), 0);
	json_decref(trends);
	json_decref(gone);
}

static char *trend_text(bool utf8, int width, json_t *values)
{
	static struct canfs_field field;

	field = (struct canfs_field) { .width = width, .utf8 = utf8 };
	canfs_format_trend(values, &field);
	json_decref(values);
	return field.text;
}

static void trends_end_at_the_right(void **state)
{
	(void)state;
	assert_string_equal(trend_text(true, 3, json_pack("[f,f,f,f]", 1.0, 0.0, 0.5, 1.0)),
		"\u2581\u2585\u2588");
	assert_string_equal(trend_text(false, 5, json_pack("[f,n,f]", 0.0, 7.0)), "  _ #");
	assert_string_equal(trend_text(true, 2, json_array()), "  ");
}

static void text_is_cut_and_cleaned(void **state)
{
	struct canfs_page page = fresh(3, 10);
	char *text;

	(void)state;
	canfs_page_put(&page, 0, 7, CANFS_PLAIN,
		"\u00e9\u4e00\u4e00"); /* the second wide one has no room */
	canfs_page_put(&page, 1, 0, CANFS_PLAIN, "a\033[1m\xff.");
	canfs_page_put(&page, 3, 0, CANFS_PLAIN, "below");
	canfs_page_put(&page, 0, -1, CANFS_PLAIN, "before");
	assert_int_equal(canfs_page_wrap(&page, 2, 0, 2, 5, "one two three four"), 5);
	text = text_of(&page);
	assert_string_equal(text, "       \u00e9\u4e00\na?[1m?.\none two\n");
	free(text);
	page = fresh(3, 10);
	assert_int_equal(canfs_page_wrap(&page, 0, 0, 2, 3, "one two three abcdefghijklmn"), 3);
	text = text_of(&page);
	assert_string_equal(text, "one two\n  three\n  abcdefgh\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(server_looks_so),
		cmocka_unit_test(agent_looks_so),
		cmocka_unit_test(help_looks_so),
		cmocka_unit_test(tells_that_nobody_answers),
		cmocka_unit_test(does_with_what_there_is),
		cmocka_unit_test(fits_any_screen),
		cmocka_unit_test(keys_stay_in_bounds),
		cmocka_unit_test(another_order_another_first),
		cmocka_unit_test(list_follows_the_cursor),
		cmocka_unit_test(trends_are_kept),
		cmocka_unit_test(trends_end_at_the_right),
		cmocka_unit_test(text_is_cut_and_cleaned),
	};
	int failed;

	setenv("TZ", "UTC", 1);
	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		puts("skipped: no locale C.UTF-8");
		return 77;
	}
	server = json_load_file(DIRECTORY "server.json", 0, NULL);
	agent = json_load_file(DIRECTORY "agent.json", 0, NULL);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	json_decref(server);
	json_decref(agent);
	return failed;
}
