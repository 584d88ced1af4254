/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Tables on a page. Each row is a JSON object, each column a struct canfs_column. A column can
 * require a minimum screen width. A column of width 0 takes the space that the others leave.
 */
#ifndef CANFS_CANFSCTL_TOP_TABLE_H
#define CANFS_CANFSCTL_TOP_TABLE_H

#include <stddef.h>
#include <jansson.h>
#include "canfsctl/top/page.h"

#define CANFS_FIELD_MAX 2048 /* bytes, for 512 characters of a trend */

struct canfs_field {
	char text[CANFS_FIELD_MAX];
	enum canfs_style style;
	int width; /* available columns */
	bool utf8;
};

struct canfs_column {
	const char *name;
	int width;         /* with the blank before it; 0: what the others leave */
	int least_columns; /* the screen's minimum width */
	const char *member,
		*of_member; /* member of the row; of_member: inside that object, or NULL */
	void (*format)(const json_t *value, struct canfs_field *field);
	enum canfs_column_kind {
		CANFS_TEXT,   /* left-aligned */
		CANFS_NUMBER, /* right-aligned */
		CANFS_ORDER,  /* a number that the table can be sorted by, highest first */
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

/* sorted: index of the highlighted column; -1: none. */
void canfs_table_heading(
	struct canfs_page *page, int row, const struct canfs_table *table, int sorted);
void canfs_table_row(struct canfs_page *page, int row, const struct canfs_table *table,
	const json_t *object, bool is_selected);

/*
 * Draws the heading and at most `shown` rows from rows[first]. selected: index of the highlighted
 * row; -1: none. Returns the row below.
 */
int canfs_table_put(struct canfs_page *page, int row, const struct canfs_table *table,
	const json_t *rows, int first, int shown, int sorted, int selected);

/*
 * The number of sortable columns shown on the page, and the index of the nth of them.
 */
int canfs_table_orders(const struct canfs_table *table, const struct canfs_page *page);
int canfs_table_order(const struct canfs_table *table, const struct canfs_page *page, int nth);

/*
 * Returns a new array of the same objects, sorted by the column, highest first. The sort is stable.
 */
json_t *canfs_table_sorted(const struct canfs_table *table, int column, const json_t *rows);

/* Formats. An unknown value is "-". */
void canfs_format_text(const json_t *value, struct canfs_field *field);
void canfs_format_word(
	const json_t *value, struct canfs_field *field); /* an unknown value is blank */
void canfs_format_tail(
	const json_t *value, struct canfs_field *field); /* shows the end if too long */
void canfs_format_price(const json_t *value, struct canfs_field *field); /* in colour */
void canfs_format_share(const json_t *value, struct canfs_field *field);
void canfs_format_seconds(const json_t *value, struct canfs_field *field); /* 0 is blank */
void canfs_format_msec(const json_t *value, struct canfs_field *field);
void canfs_format_percent(const json_t *value, struct canfs_field *field); /* of a share */
void canfs_format_count(const json_t *value, struct canfs_field *field);
void canfs_format_short(const json_t *value, struct canfs_field *field);
void canfs_format_trend(
	const json_t *value, struct canfs_field *field); /* an array of shares, the newest last */

/* The price's colour, which changes at 0.3 and at 0.7. */
enum canfs_style canfs_price_style(double price);

/*
 * Returns a new reference to a value that is only read, for use in a new object. NULL if value is
 * NULL.
 */
json_t *canfs_share(const json_t *value);
void canfs_set_shared(json_t *object, const char *name, const json_t *value);

#endif
