// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/status/metric.h"

#include <math.h>
#include <string.h>

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
	const char *word;
	double number;
} words[] = {
	{ "observe", 0 },
	{ "enforce", 1 },
	{ "hold", 0 },
	{ "accelerate", 1 },
	{ "defer", 2 },
};

static const json_t *find(const json_t *value, const char *path)
{
	char name[32];

	while (value && *path) {
		size_t len = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)len, path);
		value = json_object_get(value, name);
		path += len + (path[len] == '.');
	}
	return value;
}

/* Returns NaN if value is no number. */
static double number_of(const json_t *value)
{
	if (json_is_boolean(value))
		return json_is_true(value);
	for (size_t i = 0; json_is_string(value) && i < ROWS(words); i++) {
		if (strcmp(json_string_value(value), words[i].word) == 0)
			return words[i].number;
	}
	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void print_escaped(FILE *out, const char *text)
{
	for (; text && *text; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else
			fprintf(out, *text == '\\' || *text == '"' ? "\\%c" : "%c", *text);
	}
}

static void print_label(FILE *out, const char *before, const struct canfs_label *label)
{
	fprintf(out, "%s%s=\"", before, label->name);
	print_escaped(out, label->value);
	fputc('"', out);
}

/* Prints the labels of the object (if any) and of the row in braces. */
static void print_labels(
	FILE *out, const struct canfs_label *labels, size_t labels_n, const char *more)
{
	if (labels_n == 0 && !more)
		return;
	for (size_t i = 0; i < labels_n; i++)
		print_label(out, i == 0 ? "{" : ",", &labels[i]);
	if (more)
		fprintf(out, "%s%s", labels_n == 0 ? "{" : ",", more);
	fputc('}', out);
}

void canfs_metric_head(FILE *out, const struct canfs_metric *metric)
{
	if (metric->help)
		fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help,
			metric->name, metric->type);
}

void canfs_metric_print(FILE *out, const struct canfs_metric *metric, const json_t *object,
	const struct canfs_label *labels, size_t labels_n)
{
	double value = number_of(find(object, metric->path));

	if (isnan(value))
		return;
	fputs(metric->name, out);
	print_labels(out, labels, labels_n, metric->label);
	fprintf(out, " %.15g\n", metric->scale != 0 ? value * metric->scale : value);
}

void canfs_metric_info(
	FILE *out, const char *name, const struct canfs_label *labels, size_t labels_n)
{
	fputs(name, out);
	print_labels(out, labels, labels_n, NULL);
	fputs(" 1\n", out);
}
