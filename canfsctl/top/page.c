// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/top/page.h"

#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

int canfs_page_init(struct canfs_page *page, int rows, int columns)
{
	*page = (struct canfs_page) { .rows = rows > 0 ? rows : 1,
		.columns = columns > 0 ? columns : 1,
		.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 };
	page->cells = calloc((size_t)page->rows * (size_t)page->columns, sizeof(struct canfs_cell));
	if (!page->cells)
		return -ENOMEM;
	for (int i = 0; i < page->rows * page->columns; i++)
		page->cells[i].character = L' ';
	return 0;
}

void canfs_page_free(struct canfs_page *page)
{
	free(page->cells);
	page->cells = NULL;
}

const struct canfs_cell *canfs_page_row(const struct canfs_page *page, int row)
{
	return &page->cells[row * page->columns];
}

/* Takes a character off the text. Its width is 1 or 2 columns. */
static wchar_t next_character(const char **text, int *width)
{
	mbstate_t state = { 0 };
	wchar_t character;
	size_t length = mbrtowc(&character, *text, MB_LEN_MAX, &state);

	if (length == (size_t)-1 || length == (size_t)-2 || length == 0) {
		character = L'?';
		length = 1;
	}
	*text += length;
	*width = wcwidth(character);
	if (*width < 1) { /* control or combining characters */
		character = L'?';
		*width = 1;
	}
	return character;
}

int canfs_text_columns(const char *text)
{
	int columns = 0, width;

	while (*text != '\0') {
		(void)next_character(&text, &width);
		columns += width;
	}
	return columns;
}

/* Draws until the text ends or would pass column `right`. */
static int put(struct canfs_page *page, int row, int column, int right, enum canfs_style style,
	const char *text, const char *end)
{
	int width;

	if (row < 0 || row >= page->rows || column < 0)
		return column;
	if (right > page->columns)
		right = page->columns;
	while (text < end) {
		wchar_t character = next_character(&text, &width);
		struct canfs_cell *cell;

		if (column + width > right)
			break;
		cell = &page->cells[row * page->columns + column];
		cell[0] = (struct canfs_cell) { character, style };
		if (width == 2)
			cell[1] = (struct canfs_cell) { 0, style };
		column += width;
	}
	return column;
}

int canfs_page_put(
	struct canfs_page *page, int row, int column, enum canfs_style style, const char *text)
{
	return put(page, row, column, page->columns, style, text, text + strlen(text));
}

int canfs_page_put_in(struct canfs_page *page, int row, int column, int width,
	enum canfs_style style, const char *text)
{
	return put(page, row, column, column + width, style, text, text + strlen(text));
}

int canfs_page_print(struct canfs_page *page, int row, int column, enum canfs_style style,
	const char *format, ...)
{
	char text[1024];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	return canfs_page_put(page, row, column, style, text);
}

void canfs_page_put_right(
	struct canfs_page *page, int row, enum canfs_style style, const char *text)
{
	int column = page->columns - canfs_text_columns(text);

	canfs_page_put(page, row, column > 0 ? column : 0, style, text);
}

/*
 * The end of a line of at most this many columns: after a word, unless a single word fills the
 * line.
 */
static const char *end_of_line(const char *text, int columns)
{
	const char *at = text, *blank = NULL;
	int width;

	while (*at != '\0') {
		const char *next = at;

		(void)next_character(&next, &width);
		if (width > columns)
			return blank ? blank : at;
		if (*at == ' ')
			blank = at;
		columns -= width;
		at = next;
	}
	return at;
}

int canfs_page_wrap(
	struct canfs_page *page, int row, int column, int indent, int rows_max, const char *text)
{
	const int last = row + rows_max - 1;

	for (; *text != '\0' && row <= last && column < page->columns; row++) {
		const char *end = end_of_line(text, page->columns - column);

		if (end == text) /* not even one character fits */
			break;
		put(page, row, column, page->columns, CANFS_PLAIN, text,
			row == last ? end + strlen(end) : end);
		text = end + (*end == ' ');
		column = indent;
	}
	return row;
}

void canfs_page_fill(struct canfs_page *page, int row, enum canfs_style style)
{
	for (int i = 0; row < page->rows && i < page->columns; i++)
		page->cells[row * page->columns + i].style = style;
}

static void write_row(FILE *out, const struct canfs_cell *cells, int columns)
{
	while (columns > 0 && cells[columns - 1].character == L' ')
		columns--;
	for (int i = 0; i < columns; i++) {
		if (cells[i].character != 0)
			fprintf(out, "%lc", (wint_t)cells[i].character);
	}
	fputc('\n', out);
}

char *canfs_page_text(const struct canfs_page *page)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (int row = 0; row < page->rows; row++)
		write_row(out, canfs_page_row(page, row), page->columns);
	fclose(out);
	return text;
}
