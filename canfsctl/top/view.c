// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/top/view.h"

#include <curses.h>
#include <stddef.h>

#define HELP_COLUMN 16 /* of the help texts */

static enum canfs_key_result quit(struct canfs_top_view *view)
{
	if (!view->is_helped)
		return CANFS_KEY_QUIT;
	view->is_helped = false;
	return CANFS_KEY_DRAW;
}

static enum canfs_key_result help(struct canfs_top_view *view)
{
	view->is_helped = !view->is_helped;
	return CANFS_KEY_DRAW;
}

static enum canfs_key_result up(struct canfs_top_view *view)
{
	view->cursor--;
	return CANFS_KEY_DRAW;
}

static enum canfs_key_result down(struct canfs_top_view *view)
{
	view->cursor++;
	return CANFS_KEY_DRAW;
}

static enum canfs_key_result page_up(struct canfs_top_view *view)
{
	view->cursor -= view->page_rows;
	return CANFS_KEY_DRAW;
}

static enum canfs_key_result page_down(struct canfs_top_view *view)
{
	view->cursor += view->page_rows;
	return CANFS_KEY_DRAW;
}

static enum canfs_key_result first(struct canfs_top_view *view)
{
	view->cursor = 0;
	return CANFS_KEY_DRAW;
}

static enum canfs_key_result last(struct canfs_top_view *view)
{
	view->cursor = view->cursors - 1;
	return CANFS_KEY_DRAW;
}

/* Asks again, since the other export's history is needed. */
static enum canfs_key_result left(struct canfs_top_view *view)
{
	view->export_at--;
	return CANFS_KEY_ASK;
}

static enum canfs_key_result right(struct canfs_top_view *view)
{
	view->export_at++;
	return CANFS_KEY_ASK;
}

static enum canfs_key_result sort(struct canfs_top_view *view)
{
	view->sort = view->sort + 1 < view->sorts ? view->sort + 1 : 0;
	return CANFS_KEY_DRAW;
}

static enum canfs_key_result pause_or_go_on(struct canfs_top_view *view)
{
	view->is_paused = !view->is_paused;
	return view->is_paused ? CANFS_KEY_DRAW : CANFS_KEY_ASK;
}

static enum canfs_key_result ask(struct canfs_top_view *view)
{
	(void)view;
	return CANFS_KEY_ASK;
}

static const double intervals[] = { 0.2, 0.5, 1, 2, 5, 10, 30, 60 };

#define INTERVALS (sizeof(intervals) / sizeof(intervals[0]))

static enum canfs_key_result longer(struct canfs_top_view *view)
{
	for (size_t i = 0; i < INTERVALS; i++) {
		if (intervals[i] > view->interval_sec) {
			view->interval_sec = intervals[i];
			break;
		}
	}
	return CANFS_KEY_DRAW;
}

static enum canfs_key_result shorter(struct canfs_top_view *view)
{
	for (size_t i = INTERVALS; i-- > 0;) {
		if (intervals[i] < view->interval_sec) {
			view->interval_sec = intervals[i];
			break;
		}
	}
	return CANFS_KEY_DRAW;
}

static const struct key {
	int keys[3]; /* any of these */
	enum canfs_key_result (*press)(struct canfs_top_view *view);
	const char *name, *help; /* NULL: covered by the row above */
} keys[] = {
	{ { 'q', 'Q' }, quit, "q", "quit; leave this help" },
	{ { 'h', '?', KEY_F(1) }, help, "h ?", "this help, and back" },
	{ { 's', '>' }, sort, "s", "order the list by the next column" },
	{ { 'p' }, pause_or_go_on, "p", "pause, go on" },
	{ { ' ' }, ask, "space", "ask now" },
	{ { '+' }, longer, "+ -", "ask less, more often" },
	{ { '-' }, shorter, NULL, NULL },
	{ { KEY_UP, 'k' }, up, "up down",
		"the marked row; also: k, j, page up and down, home, end" },
	{ { KEY_DOWN, 'j' }, down, NULL, NULL },
	{ { KEY_PPAGE }, page_up, NULL, NULL },
	{ { KEY_NPAGE }, page_down, NULL, NULL },
	{ { KEY_HOME, 'g' }, first, NULL, NULL },
	{ { KEY_END, 'G' }, last, NULL, NULL },
	{ { KEY_LEFT }, left, "left right", "another export of the server" },
	{ { KEY_RIGHT }, right, NULL, NULL },
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

static bool is_among(const struct key *row, int key)
{
	return key > 0 && (row->keys[0] == key || row->keys[1] == key || row->keys[2] == key);
}

enum canfs_key_result canfs_view_key(struct canfs_top_view *view, int key)
{
	for (size_t i = 0; i < KEYS; i++) {
		if (is_among(&keys[i], key)) {
			enum canfs_key_result result = keys[i].press(view);

			canfs_view_bound(view);
			return result;
		}
	}
	return CANFS_KEY_DRAW;
}

static int bound(int value, int count)
{
	if (value >= count)
		value = count - 1;
	return value < 0 ? 0 : value;
}

void canfs_view_bound(struct canfs_top_view *view)
{
	view->cursor = bound(view->cursor, view->cursors);
	view->export_at = bound(view->export_at, view->exports);
	view->sort = bound(view->sort, view->sorts);
}

int canfs_view_first(const struct canfs_top_view *view, int shown)
{
	int first = view->cursor - shown + 1;

	return first < 0 ? 0 : first;
}

void canfs_view_put_keys(struct canfs_page *page, const struct canfs_top_view *view)
{
	int row = page->rows - 1, column = 1;

	column = canfs_page_put(page, row, column, CANFS_TITLE,
		"q quit  h help  p pause  + - interval  up down row");
	if (view->sorts > 1)
		column = canfs_page_put(page, row, column, CANFS_TITLE, "  s sort");
	if (view->exports > 1)
		canfs_page_put(page, row, column, CANFS_TITLE, "  left right export");
	canfs_page_fill(page, row, CANFS_TITLE);
}

void canfs_view_put_help(struct canfs_page *page, int row, const char *const *lines, size_t count)
{
	for (size_t i = 0; i < KEYS; i++) {
		if (!keys[i].name)
			continue;
		canfs_page_put(page, row, 2, CANFS_BOLD, keys[i].name);
		canfs_page_put(page, row++, HELP_COLUMN, CANFS_PLAIN, keys[i].help);
	}
	row++;
	for (size_t i = 0; i < count; i++)
		canfs_page_put(page, row++, 2, CANFS_PLAIN, lines[i]);
}
