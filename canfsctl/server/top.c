// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfsctl server top on a terminal: asks the server and keeps its last replies. */
#include "canfsctl/server/server.h"
#include "canfsctl/screen.h"
#include "canfsctl/socket.h"
#include "canfsctl/top/server.h"

#include <string.h>
#include <unistd.h>
#include "common/clock.h"

#define TIMEOUT_SEC   2 /* keys are not read while waiting */
#define CLIENTS_ASKED 64
#define RATE_SEC      10
#define HISTORY_MAX   600 /* seconds */

enum question { PRICES, HISTORY, CLIENTS, WHO, COUNTERS, PREFETCH, QUESTIONS };

static const char *const commands[QUESTIONS] = {
	[PRICES] = "prices",
	[HISTORY] = "history",
	[CLIENTS] = "clients",
	[WHO] = "who",
	[COUNTERS] = "counters",
	[PREFETCH] = "prefetch",
};

struct server_top {
	const struct ctl_server_top *options;
	struct ctl_peer peer;
	char host[256];
	bool is_silent;
	uint64_t answered_usec;     /* of the last reply; before any, of the first request */
	json_t *replies[QUESTIONS]; /* the last ones; NULL: none */
	json_t *prefetch_before;    /* for rates: RATE_SEC to 2 * RATE_SEC old, once available */
	json_t *prefetch_next;      /* the next prefetch_before */
};

/* Returns the request for a question. */
static json_t *request_of(const struct server_top *top, enum question question,
	const struct canfs_top_view *view, int columns)
{
	const struct ctl_server_top *options = top->options;
	json_t *request = json_pack("{s:s}", "command", commands[question]);
	const char *export = options->export;

	switch (question) {
	case PRICES:
		break;
	case HISTORY:
		export = canfs_server_export(top->replies[PRICES], view);
		json_object_set_new(request, "seconds",
			json_integer(columns < HISTORY_MAX ? columns : HISTORY_MAX));
		break;
	case CLIENTS:
	case WHO:
		json_object_set_new(request, "top",
			json_integer(options->top != 0 ? options->top : CLIENTS_ASKED));
		return request;
	default:
		return request;
	}
	if (export)
		json_object_set_new(request, "export", json_string(export));
	return request;
}

/*
 * One second says little about read-ahead. Like the server's rates of clients, these rates are
 * means over at least RATE_SEC.
 */
static void keep_old(struct server_top *top)
{
	json_t *now = top->replies[PREFETCH];
	double sec = ctl_number(now, "time") - ctl_number(top->prefetch_next, "time");

	if (!now || sec < RATE_SEC)
		return;
	json_decref(top->prefetch_before);
	top->prefetch_before = json_incref(top->prefetch_next ? top->prefetch_next : now);
	json_decref(top->prefetch_next);
	top->prefetch_next = json_incref(now);
}

/*
 * Only a missing reply about prices is an error. A server may have no answer to the other
 * questions, or not yet.
 */
static void ask_server(void *data, const struct canfs_top_view *view, int columns)
{
	struct server_top *top = data;

	top->is_silent = !ctl_dial_server(&top->peer, top->options->socket);
	for (int i = 0; i < QUESTIONS && !top->is_silent; i++) {
		enum question question = (enum question)i;
		json_t *reply = ctl_ask(&top->peer, request_of(top, question, view, columns));

		if (!reply && question == PRICES) {
			top->is_silent = true;
			break;
		}
		json_decref(top->replies[i]);
		top->replies[i] = reply;
	}
	ctl_hang_up(&top->peer);
	keep_old(top);
	if (!top->is_silent || top->answered_usec == 0)
		top->answered_usec = canfs_now_usec();
}

static void layout(void *data, struct canfs_top_view *view, struct canfs_page *page)
{
	struct server_top *top = data;
	json_t **replies = top->replies;
	const struct canfs_server_answers answers = { .host = top->host,
		.socket = top->peer.socket,
		.prices = replies[PRICES],
		.history = replies[HISTORY],
		.clients = replies[CLIENTS],
		.who = replies[WHO],
		.counters = replies[COUNTERS],
		.prefetch = replies[PREFETCH],
		.prefetch_before = top->prefetch_before,
		.error = top->is_silent ? top->peer.error : NULL,
		.silent_sec = (double)(canfs_now_usec() - top->answered_usec) / 1e6 };

	canfs_server_layout(&answers, view, page);
}

bool ctl_server_screen(const struct ctl_server_top *options)
{
	static const struct ctl_program program = { ask_server, layout };
	struct server_top top = { .options = options,
		.peer = { .who = "server", .timeout_sec = TIMEOUT_SEC } };
	bool done;

	if (gethostname(top.host, sizeof(top.host) - 1) != 0)
		strcpy(top.host, "?");
	done = ctl_screen(&program, &top, options->interval_sec, options->count);
	for (int i = 0; i < QUESTIONS; i++)
		json_decref(top.replies[i]);
	json_decref(top.prefetch_before);
	json_decref(top.prefetch_next);
	return done;
}
