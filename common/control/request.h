/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Requests on a control socket: one JSON object per line in, one JSON object per line out.
 *
 *	{"command":"prices", MEMBER...}  -->  {"ok":true,"command":"prices","time":..., MEMBER...}
 *	anything else                    -->  {"ok":false,"error":"what is wrong; what is allowed"}
 *
 * The server has a table of its commands. This code has no socket, no thread and no clock.
 */
#ifndef CANFS_COMMON_CONTROL_REQUEST_H
#define CANFS_COMMON_CONTROL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

#define CANFS_CONTROL_REQUEST_MAX 4096      /* bytes in a request, with its newline */
#define CANFS_CONTROL_REPLY_MAX   (1 << 20) /* bytes in a reply, likewise */
#define CANFS_CONTROL_ERROR_MAX   512       /* fits a list of all members of a command */

/* Counters since the start. */
struct canfs_control_counters {
	uint64_t connections_refused; /* there were too many */
	uint64_t requests;
	uint64_t requests_bad;
};

struct canfs_control_time {
	uint64_t monotonic_usec;
	double unix_sec;
};

/* A request in flight. */
struct canfs_control_call {
	const void *subject; /* the object to show or change */
	const json_t *request;
	struct canfs_control_time now;
	char error[CANFS_CONTROL_ERROR_MAX]; /* "": no error; with a NULL result, out of memory */
};

/*
 * Runs a command. Returns the members of its reply, or NULL if call->error is set or memory is
 * short. The request has only known members.
 */
typedef json_t *canfs_control_run(struct canfs_control_call *call);

struct canfs_control_command {
	const char *name;           /* NULL ends a table */
	const char *const *members; /* besides "command"; ended by NULL */
	canfs_control_run *run;
};

/* The commands and their subject. */
struct canfs_control_service {
	const struct canfs_control_command *commands;
	const struct canfs_control_command *more; /* more commands; may be NULL */
	const char *less; /* the member that shortens a reply: "one \"export\"" */
	const void *subject;
	struct canfs_control_counters *counters;
};

/*
 * Returns the reply to one request, ended by a newline and a NUL. request: without its newline.
 * Errors in the request are reported in the reply. The caller frees the reply. Returns NULL if
 * memory is short.
 */
char *canfs_control_respond(const struct canfs_control_service *service, const char *request,
	size_t length, struct canfs_control_time now);

/* Returns {"ok":false,"error":...} likewise, for errors that occur before there is a request. */
char *canfs_control_refusal(const char *error);

/* The functions below are for commands. */

/* Sets call->error. Returns NULL, so that a command can return this result. */
json_t *canfs_control_refuse(struct canfs_control_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Get a string member, NULL if absent, or an integer from 1 to most, fallback if absent. Return
 * false if the member is invalid; the request is then refused.
 */
bool canfs_control_string(struct canfs_control_call *call, const char *member, const char **value);
bool canfs_control_count(struct canfs_control_call *call, const char *member, unsigned int most,
	unsigned int fallback, unsigned int *value);

/*
 * Returns value as JSON with a newline, to be freed. Returns NULL if value is NULL or memory is
 * short. json_dumps() is not used, because it may leave out parts if memory is short. Its text also
 * belongs to jansson's allocator, which may differ from ours.
 */
char *canfs_control_print(const json_t *value, size_t flags);

/* Returns text as a JSON string. Text that is not UTF-8 gets question marks. */
json_t *canfs_control_text(const char *text);

#endif
