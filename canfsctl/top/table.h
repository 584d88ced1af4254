/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Tables on a page: rows are JSON objects, a column is a row of a table here. Columns that a narrow screen has no room for
 * say from which width on they are shown; the one of width 0 takes what the others leave.
 */
#ifndef CANFS_CANFSCTL_TOP_TABLE_H
#define CANFS_CANFSCTL_TOP_TABLE_H

#include <stddef.h>
#include <jansson.h>
#include "canfsctl/top/page.h"

#define CANFS_FIELD_MAX 2048 /* bytes: 512 characters of a trend */

struct canfs_field {
	char text[CANFS_FIELD_MAX];
	enum canfs_style style;
	int width; /* columns that it may take */
	bool utf8;
};

struct canfs_column {
	const char *name;
	int width;                      /* with the blank before it; 0: what the others leave */
	int least_columns;              /* of the screen */
	const char *member, *of_member; /* the row's member, and that one's: the value */
	void (*format)(const json_t *value, struct canfs_field *field);
	enum canfs_column_kind {
		CANFS_TEXT,   /* to the left */
		CANFS_NUMBER, /* to the right */
		CANFS_ORDER,  /* a number that the table can be ordered by, the highest first */
	} kind;
};

struct canfs_table {
	const struct canfs_column *columns;
	size_t count;
};

#define CANFS_TABLE(rows)                                                                          \
	{                                                                                          \
		rows, sizeof(rows) / sizeof((rows)[0])                                             \
	}

/* sorted: the index of the column that is marked; -1: none. */
void canfs_table_heading(
	struct canfs_page *page, int row, const struct canfs_table *table, int sorted);
void canfs_table_row(struct canfs_page *page, int row, const struct canfs_table *table,
	const json_t *object, bool is_selected);

/* Heading and rows[first ...], shown at most. Returns the row behind them. selected: an index; -1: none. */
int canfs_table_put(struct canfs_page *page, int row, const struct canfs_table *table,
	const json_t *rows, int first, int shown, int sorted, int selected);

/* How many columns that the page shows order the table; the index of the nth of these. */
int canfs_table_orders(const struct canfs_table *table, const struct canfs_page *page);
int canfs_table_order(const struct canfs_table *table, const struct canfs_page *page, int nth);

/* A new array of the same objects, the highest of that column first; equal ones as they were. */
json_t *canfs_table_sorted(const struct canfs_table *table, int column, const json_t *rows);

/* Formats. What is not known is "-". */
void canfs_format_text(const json_t *value, struct canfs_field *field);
void canfs_format_word(
	const json_t *value, struct canfs_field *field); /* what is not known is blank */
void canfs_format_tail(
	const json_t *value, struct canfs_field *field); /* its end, if it is too long */
void canfs_format_price(const json_t *value, struct canfs_field *field); /* in colour */
void canfs_format_share(const json_t *value, struct canfs_field *field);
void canfs_format_seconds(const json_t *value, struct canfs_field *field); /* 0 is blank */
void canfs_format_msec(const json_t *value, struct canfs_field *field);
void canfs_format_percent(const json_t *value, struct canfs_field *field); /* of a share */
void canfs_format_count(const json_t *value, struct canfs_field *field);
void canfs_format_short(const json_t *value, struct canfs_field *field);
void canfs_format_trend(
	const json_t *value, struct canfs_field *field); /* an array of shares, the latest last */

/* A price's colour: from 0.3 and from 0.7. */
enum canfs_style canfs_price_style(double price);

/* Another reference to what is only read, for an object that is made here. NULL if it is NULL. */
json_t *canfs_share(const json_t *value);
void canfs_set_shared(json_t *object, const char *name, const json_t *value);

#endif
