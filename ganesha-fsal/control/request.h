/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Requests of the control socket, text to text: one JSON object a line in, one JSON object a line
 * out. control.md is the manual. No socket, no thread, no clock in here.
 */
#ifndef CANFS_GANESHA_FSAL_CONTROL_REQUEST_H
#define CANFS_GANESHA_FSAL_CONTROL_REQUEST_H

#include <stddef.h>
#include <stdint.h>
#include <jansson.h>
#include "ganesha-fsal/control/clients.h"
#include "ganesha-fsal/monitors/exchange.h"

#define CANFS_REQUEST_MAX 4096      /* bytes in a request, newline included */
#define CANFS_REPLY_MAX   (1 << 20) /* likewise in a reply */

/* What the socket's thread has seen, since the start. */
struct canfs_control_counters {
	uint64_t connections;
	uint64_t connections_refused; /* there were too many */
	uint64_t connections_dropped; /* idle, or did not read */
	uint64_t requests;
	uint64_t requests_bad;
};

/* What there is to show and to change. */
struct canfs_control_subject {
	struct canfs_exchange *exchange;
	struct canfs_clients *clients;
	struct canfs_control_counters *counters;
	canfs_say *say; /* told of every change */
};

struct canfs_control_time {
	uint64_t monotonic_usec;
	double unix_sec;
};

/*
 * The reply to one request (its newline left out), with a newline and a 0 at its end; whatever
 * is wrong with the request is in the reply. The caller frees it; NULL: no memory.
 */
char *canfs_control_answer(const struct canfs_control_subject *subject, const char *request,
	size_t length, struct canfs_control_time now);

/* {"ok":false,"error":...} likewise, for what is wrong before there is a request. */
char *canfs_control_refusal(const char *error);

/* From here: for the commands only. */

#define CANFS_CONTROL_ERROR_MAX 320

/* A request under way. */
struct canfs_control_call {
	const struct canfs_control_subject *subject;
	const json_t *request;
	struct canfs_control_time now;
	char error[CANFS_CONTROL_ERROR_MAX]; /* "" if there is none, and so no memory */
};

/*
 * A command: the members of its reply, or NULL with call->error set (or no memory). It is called
 * with known members only.
 */
typedef json_t *canfs_control_command(struct canfs_control_call *call);

canfs_control_command canfs_control_prices, canfs_control_history, canfs_control_clients,
	canfs_control_show_counters, canfs_control_show_config, canfs_control_set;

/* Sets call->error; returns NULL, so that a command can end with it. */
json_t *canfs_control_refuse(struct canfs_control_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A string member, NULL if it is not given; a whole number, fallback if not. False: refused. */
bool canfs_control_string(struct canfs_control_call *call, const char *member, const char **value);
bool canfs_control_count(struct canfs_control_call *call, const char *member, unsigned int most,
	unsigned int fallback, unsigned int *value);

/* As a JSON string; what is not UTF-8 gets question marks. */
json_t *canfs_control_text(const char *text);

/* What canfs_control_set() takes: the table's names, NULL at its end. */
extern const char *const canfs_control_set_members[];

#endif
