/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A screen page as an array of cells. canfsctl top draws into a page first, without a terminal, so
 * that tests can compare pages. Text is in the locale's encoding. Invalid characters and control
 * characters become '?'.
 */
#ifndef CANFS_CANFSCTL_TOP_PAGE_H
#define CANFS_CANFSCTL_TOP_PAGE_H

#include <stdbool.h>
#include <wchar.h>

enum canfs_style {
	CANFS_PLAIN,
	CANFS_BOLD,
	CANFS_DIM,
	CANFS_TITLE, /* reverse video */
	CANFS_GOOD,
	CANFS_WARN,
	CANFS_BAD,
	CANFS_STYLES,
};

struct canfs_cell {
	wchar_t character; /* 0: the right half of a wide character */
	enum canfs_style style;
};

struct canfs_page {
	int rows, columns;
	bool utf8; /* block characters can be drawn */
	struct canfs_cell *cells;
};

/* Makes a blank page. Takes utf8 from the locale. Returns 0 or -ENOMEM. */
int canfs_page_init(struct canfs_page *page, int rows, int columns);
void canfs_page_free(struct canfs_page *page);

/*
 * Draws text, clipped at the right edge. Outside the page, draws nothing. Returns the column after
 * the text.
 */
int canfs_page_put(
	struct canfs_page *page, int row, int column, enum canfs_style style, const char *text);
/* Likewise, clipped to width columns. */
int canfs_page_put_in(struct canfs_page *page, int row, int column, int width,
	enum canfs_style style, const char *text);
int canfs_page_print(struct canfs_page *page, int row, int column, enum canfs_style style,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Aligned to the right edge. */
void canfs_page_put_right(
	struct canfs_page *page, int row, enum canfs_style style, const char *text);

/*
 * Draws text on at most rows_max rows, broken at blanks. All rows but the first start at column
 * indent. Text that does not fit is clipped. Returns the row below.
 */
int canfs_page_wrap(
	struct canfs_page *page, int row, int column, int indent, int rows_max, const char *text);

/* Sets the style of all cells of a row. */
void canfs_page_fill(struct canfs_page *page, int row, enum canfs_style style);

/* The width of the text in columns. */
int canfs_text_columns(const char *text);

const struct canfs_cell *canfs_page_row(const struct canfs_page *page, int row);

/* Returns the page as lines without trailing blanks; the caller frees it. NULL: no memory. */
char *canfs_page_text(const struct canfs_page *page);

#endif
