/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A row of a metrics table, and how to print it in Prometheus's text format 0.0.4. */
#ifndef CANFS_CLIENT_AGENT_STATUS_METRIC_H
#define CANFS_CLIENT_AGENT_STATUS_METRIC_H

#include <stddef.h>
#include <stdio.h>
#include <jansson.h>

struct canfs_metric {
	const char *name; /* rows with one name are adjacent; the first has type and help */
	const char *type;
	const char *help;
	const char *path;  /* to the value in the object: "price.write"; "": only type and help */
	const char *label; /* added to the object's labels: op="write"; NULL: none */
	double scale;      /* factor; 0 means 1 */
};

/* Printed as name="value". A value of NULL prints "". */
struct canfs_label {
	const char *name, *value;
};

/* Prints the HELP and TYPE lines if the row has them. */
void canfs_metric_head(FILE *out, const struct canfs_metric *metric);

/* Prints the row for this object. Prints nothing if its value is null or missing. */
void canfs_metric_print(FILE *out, const struct canfs_metric *metric, const json_t *object,
	const struct canfs_label *labels, size_t labels_n);

/* Prints a series with the value 1. Its labels are the information. */
void canfs_metric_info(
	FILE *out, const char *name, const struct canfs_label *labels, size_t labels_n);

#endif
