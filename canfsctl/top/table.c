// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/top/table.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "canfsctl/socket.h"

#define EXPENSIVE 0.7
#define NOTABLE   0.3

#define NAME_MAX_COLUMNS 42 /* an IPv6 address has 39 */

/* jansson needs mutable values to count references. */
json_t *canfs_share(const json_t *value)
{
	return json_incref((json_t *)(uintptr_t)value);
}

void canfs_set_shared(json_t *object, const char *name, const json_t *value)
{
	if (value)
		json_object_set_new(object, name, canfs_share(value));
}

static const json_t *value_of(const struct canfs_column *column, const json_t *row)
{
	const json_t *value = column->member ? json_object_get(row, column->member) : row;

	return column->of_member ? json_object_get(value, column->of_member) : value;
}

static bool is_shown(const struct canfs_column *column, const struct canfs_page *page)
{
	return page->columns >= column->least_columns;
}

/*
 * The space that the other columns leave. A name in the first column is limited, so that its
 * numbers are near it on a wide screen.
 */
static int rest(const struct canfs_page *page, const struct canfs_table *table)
{
	int columns = page->columns;

	for (size_t i = 0; i < table->count; i++) {
		if (is_shown(&table->columns[i], page))
			columns -= table->columns[i].width;
	}
	if (table->columns[0].width == 0 && columns > NAME_MAX_COLUMNS)
		columns = NAME_MAX_COLUMNS;
	return columns > 1 ? columns : 1;
}

static void put_field(struct canfs_page *page, int row, int column, enum canfs_column_kind kind,
	const struct canfs_field *field)
{
	const int spare = field->width - canfs_text_columns(field->text);

	if (kind != CANFS_TEXT && spare > 0)
		column += spare;
	canfs_page_put_in(page, row, column, field->width, field->style, field->text);
}

static void put_columns(struct canfs_page *page, int row, const struct canfs_table *table,
	const json_t *object, int sorted)
{
	int column = 0;

	for (size_t i = 0; i < table->count; i++) {
		const struct canfs_column *of = &table->columns[i];
		const int width = of->width != 0 ? of->width : rest(page, table);
		const int blank = column > 0;
		struct canfs_field field = { .width = width - blank, .utf8 = page->utf8 };

		if (!is_shown(of, page))
			continue;
		if (object)
			of->format(value_of(of, object), &field);
		else
			snprintf(field.text, sizeof(field.text), "%s", of->name);
		if (!object)
			field.style = (int)i == sorted ? CANFS_TITLE : CANFS_BOLD;
		put_field(page, row, column + blank, of->kind, &field);
		column += width;
	}
}

void canfs_table_heading(
	struct canfs_page *page, int row, const struct canfs_table *table, int sorted)
{
	put_columns(page, row, table, NULL, sorted);
}

void canfs_table_row(struct canfs_page *page, int row, const struct canfs_table *table,
	const json_t *object, bool is_selected)
{
	put_columns(page, row, table, object, -1);
	if (is_selected)
		canfs_page_fill(page, row, CANFS_TITLE);
}

int canfs_table_put(struct canfs_page *page, int row, const struct canfs_table *table,
	const json_t *rows, int first, int shown, int sorted, int selected)
{
	canfs_table_heading(page, row++, table, sorted);
	for (int i = first; i < (int)json_array_size(rows) && i < first + shown; i++)
		canfs_table_row(page, row++, table, json_array_get(rows, (size_t)i), i == selected);
	return row;
}

int canfs_table_orders(const struct canfs_table *table, const struct canfs_page *page)
{
	int orders = 0;

	for (size_t i = 0; i < table->count; i++)
		orders +=
			table->columns[i].kind == CANFS_ORDER && is_shown(&table->columns[i], page);
	return orders;
}

int canfs_table_order(const struct canfs_table *table, const struct canfs_page *page, int nth)
{
	for (size_t i = 0; i < table->count; i++) {
		if (table->columns[i].kind == CANFS_ORDER && is_shown(&table->columns[i], page) &&
			nth-- == 0)
			return (int)i;
	}
	return -1;
}

struct sorted_row {
	json_t *object;
	size_t at;
	double value;
};

static int compare(const void *left, const void *right)
{
	const struct sorted_row *a = left, *b = right;

	if (a->value != b->value)
		return a->value < b->value ? 1 : -1;
	return a->at < b->at ? -1 : a->at > b->at;
}

json_t *canfs_table_sorted(const struct canfs_table *table, int column, const json_t *rows)
{
	const size_t count = json_array_size(rows);
	struct sorted_row *sorted = calloc(count + 1, sizeof(*sorted));
	json_t *result = json_array();

	for (size_t i = 0; sorted && i < count; i++) {
		json_t *object = json_array_get(rows, i);
		const json_t *value = value_of(&table->columns[column], object);

		sorted[i] = (struct sorted_row) { object, i,
			json_is_number(value) ? json_number_value(value) : -HUGE_VAL };
	}
	if (sorted)
		qsort(sorted, count, sizeof(*sorted), compare);
	for (size_t i = 0; sorted && i < count; i++)
		json_array_append(result, sorted[i].object);
	free(sorted);
	return result;
}

enum canfs_style canfs_price_style(double price)
{
	return price >= EXPENSIVE ? CANFS_BAD : price >= NOTABLE ? CANFS_WARN : CANFS_PLAIN;
}

static void format_number(const json_t *value, struct canfs_field *field, int digits, double unit)
{
	if (json_is_string(value)) /* a blank in a row without such a value */
		canfs_format_text(value, field);
	else if (json_is_number(value))
		snprintf(field->text, sizeof(field->text), "%.*f", digits,
			json_number_value(value) * unit);
	else
		strcpy(field->text, "-");
}

void canfs_format_text(const json_t *value, struct canfs_field *field)
{
	const char *text = json_string_value(value);

	snprintf(field->text, sizeof(field->text), "%s", text ? text : "-");
}

void canfs_format_word(const json_t *value, struct canfs_field *field)
{
	if (json_is_string(value))
		canfs_format_text(value, field);
}

void canfs_format_tail(const json_t *value, struct canfs_field *field)
{
	const char *text = json_string_value(value);
	const int length = text ? (int)strlen(text) : 0;

	if (length > field->width && field->width > 1)
		snprintf(field->text, sizeof(field->text), "+%s", text + length - field->width + 1);
	else
		canfs_format_text(value, field);
}

void canfs_format_share(const json_t *value, struct canfs_field *field)
{
	format_number(value, field, 2, 1);
}

void canfs_format_price(const json_t *value, struct canfs_field *field)
{
	canfs_format_share(value, field);
	field->style = canfs_price_style(json_number_value(value));
}

void canfs_format_seconds(const json_t *value, struct canfs_field *field)
{
	if (json_number_value(value) >= 0.005)
		format_number(value, field, 2, 1);
}

void canfs_format_msec(const json_t *value, struct canfs_field *field)
{
	format_number(value, field, 1, 1);
}

void canfs_format_percent(const json_t *value, struct canfs_field *field)
{
	format_number(value, field, 0, 100);
}

void canfs_format_count(const json_t *value, struct canfs_field *field)
{
	format_number(value, field, 0, 1);
}

void canfs_format_short(const json_t *value, struct canfs_field *field)
{
	char text[CTL_SHORT_MAX];

	ctl_short(json_is_number(value) ? json_number_value(value) : (double)NAN, text);
	snprintf(field->text, sizeof(field->text), "%s", text);
}

/*
 * The newest share is at the right end. The trend moves left with each sample, whatever the width.
 */
void canfs_format_trend(const json_t *value, struct canfs_field *field)
{
	static const char *const blocks[] = { "\u2581", "\u2582", "\u2583", "\u2584", "\u2585",
		"\u2586", "\u2587", "\u2588" };
	static const char *const letters[] = { "_", ".", "-", "=", "+", "*", "%", "#" };
	const char *const *levels = field->utf8 ? blocks : letters;
	const int count = (int)json_array_size(value);
	size_t length = 0;

	for (int i = count - field->width; i < count; i++) {
		const json_t *share = i < 0 ? NULL : json_array_get(value, (size_t)i);
		const double level = fmin(fmax(json_number_value(share), 0), 0.999) * 8;

		if (length + 4 > sizeof(field->text))
			break;
		length += (size_t)snprintf(field->text + length, sizeof(field->text) - length, "%s",
			json_is_number(share) ? levels[(int)level] : " ");
	}
}
