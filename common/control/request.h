/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Requests of a control socket, text to text: one JSON object a line in, one JSON object a line out.
 *
 *	{"command":"prices", MEMBER...}  -->  {"ok":true,"command":"prices","time":..., MEMBER...}
 *	anything else                    -->  {"ok":false,"error":"what is wrong; what is allowed"}
 *
 * What commands there are is a table of the server's. No socket, no thread, no clock in here.
 */
#ifndef CANFS_COMMON_CONTROL_REQUEST_H
#define CANFS_COMMON_CONTROL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

#define CANFS_CONTROL_REQUEST_MAX 4096      /* bytes in a request, newline included */
#define CANFS_CONTROL_REPLY_MAX   (1 << 20) /* likewise in a reply */
#define CANFS_CONTROL_ERROR_MAX   512       /* holds a list of all members of a command */

/* What has come in, since the start. */
struct canfs_control_counters {
	uint64_t connections;
	uint64_t connections_refused; /* there were too many */
	uint64_t connections_dropped; /* idle, or did not read */
	uint64_t requests;
	uint64_t requests_bad;
};

struct canfs_control_time {
	uint64_t monotonic_usec;
	double unix_sec;
};

/* A request in flight. */
struct canfs_control_call {
	const void *subject; /* what there is to show and to change */
	const json_t *request;
	struct canfs_control_time now;
	char error[CANFS_CONTROL_ERROR_MAX]; /* "" if there is none, and so no memory */
};

/*
 * Runs a command: the members of its reply, or NULL with call->error set (or no memory). It is
 * called with known members only.
 */
typedef json_t *canfs_control_run(struct canfs_control_call *call);

struct canfs_control_command {
	const char *name;           /* NULL ends a table */
	const char *const *members; /* besides "command"; NULL at its end */
	canfs_control_run *run;
};

/* What answers. */
struct canfs_control_service {
	const struct canfs_control_command *commands;
	const struct canfs_control_command *more; /* likewise; NULL: no others */
	const char *less; /* which member makes a reply shorter: "one \"export\"" */
	const void *subject;
	struct canfs_control_counters *counters;
};

/*
 * The reply to one request (its newline left out), with a newline and a 0 at its end; whatever
 * is wrong with the request is in the reply. The caller frees it; NULL: no memory.
 */
char *canfs_control_respond(const struct canfs_control_service *service, const char *request,
	size_t length, struct canfs_control_time now);

/* {"ok":false,"error":...} likewise, for what is wrong before there is a request. */
char *canfs_control_refusal(const char *error);

/* From here: for commands. */

/* Sets call->error; returns NULL, so that a command can end with it. */
json_t *canfs_control_refuse(struct canfs_control_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A string member, NULL if it is not given; a whole number, fallback if not. False: refused. */
bool canfs_control_string(struct canfs_control_call *call, const char *member, const char **value);
bool canfs_control_count(struct canfs_control_call *call, const char *member, unsigned int most,
	unsigned int fallback, unsigned int *value);

/*
 * A value and a newline, to be freed; NULL without memory, and for NULL. Not json_dumps(), which may leave out what memory is missing for,
 * and whose text is for free() of jansson's allocator, which need not be ours.
 */
char *canfs_control_print(const json_t *value, size_t flags);

/* As a JSON string; what is not UTF-8 gets question marks. */
json_t *canfs_control_text(const char *text);

#endif
