/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A page of a screen, as cells: what canfsctl top draws is made here, without a terminal, so that tests can compare it.
 * Text is in the locale's encoding; what it cannot show, and what would speak to the terminal, is a '?'.
 */
#ifndef CANFS_CANFSCTL_TOP_PAGE_H
#define CANFS_CANFSCTL_TOP_PAGE_H

#include <stdbool.h>
#include <wchar.h>

enum canfs_style {
	CANFS_PLAIN,
	CANFS_BOLD,
	CANFS_DIM,
	CANFS_TITLE, /* reverse */
	CANFS_GOOD,
	CANFS_WARN,
	CANFS_BAD,
	CANFS_STYLES,
};

struct canfs_cell {
	wchar_t character; /* 0: the right half of a wide one */
	enum canfs_style style;
};

struct canfs_page {
	int rows, columns;
	bool utf8; /* blocks may be drawn */
	struct canfs_cell *cells;
};

/* All blank. utf8 is the locale's. 0 or -ENOMEM. */
int canfs_page_init(struct canfs_page *page, int rows, int columns);
void canfs_page_free(struct canfs_page *page);

/* Cut at the right edge, and nothing outside of the page. Returns the column behind it. */
int canfs_page_put(
	struct canfs_page *page, int row, int column, enum canfs_style style, const char *text);
/* In so many columns. */
int canfs_page_put_in(struct canfs_page *page, int row, int column, int width,
	enum canfs_style style, const char *text);
int canfs_page_print(struct canfs_page *page, int row, int column, enum canfs_style style,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

/* At the right edge. */
void canfs_page_put_right(
	struct canfs_page *page, int row, enum canfs_style style, const char *text);

/*
 * Over as many rows as it takes, but rows_max, broken at blanks, all but the first one indented; what is too long is cut.
 * Returns the row behind it.
 */
int canfs_page_wrap(
	struct canfs_page *page, int row, int column, int indent, int rows_max, const char *text);

/* All cells of a row. */
void canfs_page_fill(struct canfs_page *page, int row, enum canfs_style style);

/* How many columns the text takes. */
int canfs_text_columns(const char *text);

const struct canfs_cell *canfs_page_row(const struct canfs_page *page, int row);

/* Its lines, without blanks at their ends; to be freed. NULL: no memory. */
char *canfs_page_text(const struct canfs_page *page);

#endif
