/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A row of a table of metrics, and how it is written in Prometheus's text format 0.0.4. */
#ifndef CANFS_CLIENT_AGENT_STATUS_METRIC_H
#define CANFS_CLIENT_AGENT_STATUS_METRIC_H

#include <stddef.h>
#include <stdio.h>
#include <jansson.h>

struct canfs_metric {
	const char *name; /* rows of one name stand together; the first has type and help */
	const char *type;
	const char *help;
	const char *path;  /* to the value in the object that it is of: "rpc.read.total" */
	const char *label; /* besides those of the object: op="write"; NULL: none */
	double scale;      /* 0: 1 */
};

/* name="value"; a value of NULL is "". */
struct canfs_label {
	const char *name, *value;
};

/* The lines HELP and TYPE, if the row has them. */
void canfs_metric_head(FILE *out, const struct canfs_metric *metric);

/* The row of this object; nothing, if its value is null or not there. */
void canfs_metric_print(FILE *out, const struct canfs_metric *metric, const json_t *object,
	const struct canfs_label *labels, size_t labels_n);

/* A series whose labels say it all: 1. */
void canfs_metric_info(
	FILE *out, const char *name, const struct canfs_label *labels, size_t labels_n);

#endif
