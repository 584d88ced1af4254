// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/screen.h"

#include <curses.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/clock.h"

static const struct {
	attr_t attribute;
	short colour; /* -1: the terminal's default */
} styles[CANFS_STYLES] = {
	[CANFS_PLAIN] = { A_NORMAL, -1 },
	[CANFS_BOLD] = { A_BOLD, -1 },
	[CANFS_DIM] = { A_DIM, -1 },
	[CANFS_TITLE] = { A_REVERSE, -1 },
	[CANFS_GOOD] = { A_NORMAL, COLOR_GREEN },
	[CANFS_WARN] = { A_BOLD, COLOR_YELLOW },
	[CANFS_BAD] = { A_BOLD, COLOR_RED },
};

/* Without colours (NO_COLOR is set, or the terminal has none), the attributes still apply. */
static void start_colours(void)
{
	const char *no_color = getenv("NO_COLOR");

	if ((no_color && no_color[0] != '\0') || !has_colors() || start_color() == ERR ||
		use_default_colors() == ERR)
		return;
	for (int i = 0; i < CANFS_STYLES; i++)
		init_pair((short)(i + 1), styles[i].colour, -1);
}

static void draw(const struct canfs_page *page)
{
	for (int row = 0; row < page->rows; row++) {
		const struct canfs_cell *cells = canfs_page_row(page, row);

		for (int column = 0; column < page->columns; column++) {
			enum canfs_style style = cells[column].style;
			wchar_t text[] = { cells[column].character, 0 };

			if (text[0] == 0)
				continue;
			attr_set(styles[style].attribute, (short)(style + 1), NULL);
			mvaddnwstr(row, column, text, 1);
		}
	}
	refresh();
}

static bool show(const struct ctl_program *program, void *data, struct canfs_top_view *view)
{
	struct canfs_page page;

	if (canfs_page_init(&page, LINES, COLS) != 0)
		return false;
	program->layout(data, view, &page);
	draw(&page);
	canfs_page_free(&page);
	return true;
}

/* Blocks SIGWINCH, which would interrupt the request when the terminal is resized. */
static void ask(const struct ctl_program *program, void *data, const struct canfs_top_view *view)
{
	sigset_t resize, old;

	sigemptyset(&resize);
	sigaddset(&resize, SIGWINCH);
	sigprocmask(SIG_BLOCK, &resize, &old);
	program->ask(data, view, COLS);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* Draws until the next sample is due. Returns false to quit. */
static bool wait_for_keys(
	const struct ctl_program *program, void *data, struct canfs_top_view *view)
{
	const uint64_t since_usec = canfs_now_usec();
	enum canfs_key_result result = CANFS_KEY_DRAW;
	uint64_t past_usec, interval_usec;
	int key;

	while (result == CANFS_KEY_DRAW) {
		past_usec = canfs_now_usec() - since_usec;
		interval_usec = (uint64_t)(view->interval_sec * 1e6);
		if (!show(program, data, view))
			return false;
		if (!view->is_paused && past_usec >= interval_usec)
			return true;
		timeout(view->is_paused ? -1 : (int)((interval_usec - past_usec) / 1000) + 1);
		key = getch();
		if (key == ERR && !isatty(STDIN_FILENO)) /* the terminal is gone */
			return false;
		result = canfs_view_key(view, key);
	}
	return result != CANFS_KEY_QUIT;
}

/* Returns NULL if the terminal cannot place the cursor or is unknown. */
static SCREEN *open_terminal(void)
{
	SCREEN *screen;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return NULL;
	setlocale(LC_CTYPE, "");
	screen = newterm(NULL, stdout, stdin);
	if (screen && !tigetstr("cup")) {
		endwin();
		delscreen(screen);
		return NULL;
	}
	return screen;
}

bool ctl_screen(
	const struct ctl_program *program, void *data, double interval_sec, unsigned int count)
{
	struct canfs_top_view view = { .interval_sec = interval_sec };
	SCREEN *screen = open_terminal();
	bool more = true;

	if (!screen)
		return false;
	noecho();
	cbreak();
	keypad(stdscr, TRUE);
	curs_set(0);
	start_colours();
	for (unsigned int times = 1; more; times++) {
		ask(program, data, &view);
		more = wait_for_keys(program, data, &view) && times != count;
	}
	endwin();
	delscreen(screen);
	return true;
}
