// SPDX-License-Identifier: LGPL-3.0-or-later
/* A text drawn anew on a terminal, and moved through if it is longer. */
#include "client-agent/ctl/agent.h"

#include <curses.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/clock.h"

struct view {
	char *text;
	int lines; /* in text */
	int first; /* line on the screen */
};

static int count_lines(const char *text)
{
	int lines = 0;

	for (; *text != '\0'; text += *text != '\0')
		lines++, text += strcspn(text, "\n");
	return lines;
}

static void draw(const struct view *view)
{
	const char *line = view->text;

	erase();
	for (int i = 0; i < view->first; i++)
		line += strcspn(line, "\n") + 1;
	for (int row = 0; row < LINES - 1 && *line != '\0'; row++) {
		size_t length = strcspn(line, "\n");

		mvaddnstr(row, 0, line, length < (size_t)COLS ? (int)length : COLS);
		line += length + (line[length] != '\0');
	}
	attron(A_REVERSE);
	mvaddstr(LINES - 1, 0,
		view->lines > LINES - 1 ? " q quit   arrows, page up, page down: more "
					: " q quit ");
	attroff(A_REVERSE);
	refresh();
}

/* False: it was the key to end with. */
static bool take_key(struct view *view, int key)
{
	int page = LINES - 1, last = view->lines - page;

	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case KEY_DOWN:
		view->first++;
		break;
	case KEY_UP:
		view->first--;
		break;
	case KEY_NPAGE:
		view->first += page;
		break;
	case KEY_PPAGE:
		view->first -= page;
		break;
	default:
		break;
	}
	if (view->first > last)
		view->first = last;
	if (view->first < 0)
		view->first = 0;
	return true;
}

/* Draws the picture until its time is over. False: no more. */
static bool show(struct view *view, uint64_t until_usec)
{
	uint64_t now_usec;
	bool more = take_key(view, ERR);

	while (more && (now_usec = canfs_now_usec()) < until_usec) {
		draw(view);
		timeout((int)((until_usec - now_usec) / 1000) + 1);
		more = take_key(view, getch());
	}
	return more;
}

bool ctl_screen(char *(*picture)(void *data), void *data, double interval_sec, unsigned int count)
{
	struct view view = { 0 };
	SCREEN *screen;
	bool more = true;

	setlocale(LC_CTYPE, "");
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return false;
	noecho();
	cbreak();
	keypad(stdscr, TRUE);
	curs_set(0);
	for (unsigned int pictures = 1; more; pictures++) {
		free(view.text);
		view.text = picture(data);
		if (!view.text)
			break;
		view.lines = count_lines(view.text);
		more = show(&view, canfs_now_usec() + (uint64_t)(interval_sec * 1e6)) &&
		       pictures != count;
	}
	endwin();
	delscreen(screen);
	free(view.text);
	return true;
}
