// SPDX-License-Identifier: LGPL-3.0-or-later
/* canfsctl server: shows and controls the canfs server on this host through its control socket. */
#include "canfsctl/ctl.h"
#include "canfsctl/server/server.h"
#include "canfsctl/output.h"
#include "canfsctl/socket.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct options {
	const char *socket; /* NULL: find the server */
	bool json;
	const char *export;   /* NULL: all, or the only one */
	unsigned int seconds; /* 0: all */
	unsigned int top;     /* 0: the server's default */
	bool watch, batch;
	const char *client; /* for who; NULL: all */
	double interval_sec;
	unsigned int count; /* number of updates; 0: no limit */
	json_t *settings;   /* for set */
	const char *policy; /* for scheduler; NULL: only show it */
};

struct server {
	struct ctl_peer peer;
	const struct options *options;
};

/*
 * Connects if needed, sends the request, which is consumed, and returns the reply. NULL after a
 * warning.
 */
static json_t *ask(struct server *server, json_t *request)
{
	const bool connected =
		server->peer.stream || ctl_dial_server(&server->peer, server->options->socket);
	json_t *reply = connected ? ctl_ask(&server->peer, json_incref(request)) : NULL;

	json_decref(request);
	if (!reply)
		ctl_warn("%s", server->peer.error);
	return reply;
}

/* Builds a request from the options that the command takes. */
static json_t *ask_for(struct server *server, const char *command)
{
	const struct options *options = server->options;
	bool of_prices = strcmp(command, "clients") != 0 && strcmp(command, "who") != 0;

	return ask(server, json_pack("{s:s, s:s*, s:o*, s:o*, s:s*}", "command", command, "export",
				   of_prices ? options->export : NULL, "seconds",
				   options->seconds ? json_integer(options->seconds) : NULL, "top",
				   options->top && !of_prices ? json_integer(options->top) : NULL,
				   "client", options->client));
}

/* Consumes the reply. NULL: an error that was reported. */
static int show(struct server *server, json_t *reply, void (*text)(const json_t *reply))
{
	if (!reply)
		return CTL_ERROR;
	if (!server->options->json)
		text(reply);
	json_decref(reply);
	return CTL_OK;
}

static int run_prices(struct server *server)
{
	json_t *reply = ask_for(server, "prices");
	bool publishes = ctl_publishes(reply);
	int status = show(server, reply, ctl_show_prices);

	return status == CTL_OK && !publishes ? CTL_NO_PRICES : status;
}

/* The server checks the policy's name. */
static int run_scheduler(struct server *server)
{
	json_t *request =
		json_pack("{s:s, s:s*}", "command", "scheduler", "policy", server->options->policy);

	return show(server, ask(server, request), ctl_show_scheduler);
}

static int run_set(struct server *server)
{
	return show(server, ask(server, json_incref(server->options->settings)), ctl_show_settings);
}

static void clear(const struct server *server)
{
	if (isatty(STDOUT_FILENO) && !server->options->json)
		fputs("\033[H\033[J", stdout);
}

/* Draws repeatedly. picture() returns the exit status. */
static int draw_again(struct server *server, int (*picture)(struct server *server))
{
	const double interval_sec = server->options->interval_sec;
	const struct timespec pause = { (time_t)interval_sec,
		(long)((interval_sec - (double)(time_t)interval_sec) * 1e9) };

	for (unsigned int pictures = 1;; pictures++) {
		int status = picture(server);

		if (status != CTL_OK)
			return status;
		if (fflush(stdout) != 0)
			return CTL_ERROR;
		if (pictures == server->options->count)
			return CTL_OK;
		nanosleep(&pause, NULL);
	}
}

static int draw_top(struct server *server)
{
	json_t *prices = ask_for(server, "prices");
	json_t *clients = prices ? ask_for(server, "clients") : NULL;

	/* The server closes idle connections. */
	ctl_hang_up(&server->peer);
	if (!clients) {
		json_decref(prices);
		return CTL_ERROR;
	}
	(void)show(server, prices, ctl_show_prices);
	if (!server->options->json)
		putchar('\n');
	return show(server, clients, ctl_show_clients);
}

static int run_top(struct server *server)
{
	const struct options *options = server->options;
	const struct ctl_server_top top = { options->socket, options->export, options->top,
		options->interval_sec, options->count };

	if (!options->json && !options->batch && ctl_server_screen(&top))
		return CTL_OK;
	return draw_again(server, draw_top);
}

static int draw_who(struct server *server)
{
	json_t *who = ask_for(server, "who");

	ctl_hang_up(&server->peer);
	if (who && server->options->watch)
		clear(server);
	return show(server, who, server->options->client ? ctl_show_who_of : ctl_show_who);
}

static int run_who(struct server *server)
{
	return server->options->watch ? draw_again(server, draw_who) : draw_who(server);
}

enum { TOP = 1, PRICES = 2, HISTORY = 4, CLIENTS = 8, WHO = 16, OTHER = 32 };

static const struct command {
	const char *name;
	unsigned int taker;                /* its bit in takers of the options */
	int (*run)(struct server *server); /* NULL: ask and show */
	void (*show)(const json_t *reply);
} commands[] = {
	{ "top", TOP, run_top, NULL },
	{ "prices", PRICES, run_prices, NULL },
	{ "history", HISTORY, NULL, ctl_show_history },
	{ "clients", CLIENTS, NULL, ctl_show_clients },
	{ "who", WHO, run_who, NULL },
	{ "counters", OTHER, NULL, ctl_show_counters },
	{ "config", OTHER, NULL, ctl_show_config },
	{ "prefetch", OTHER, NULL, ctl_show_prefetch },
	{ "scheduler", OTHER, run_scheduler, NULL },
	{ "set", OTHER, run_set, NULL },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))
static const struct ctl_option option_table[] = {
	CTL_TEXT(
		"socket", "=PATH", socket, "server socket (" CTL_GANESHA_SOCKET " or priced.sock)"),
	CTL_FLAG("json", json, "the server's replies, one JSON object per line"),
	CTL_TEXT("export", "=PATH", export, "prices, history: only this export",
		.takers = TOP | PRICES | HISTORY),
	CTL_COUNT("seconds", "=N", seconds, 1, 600,
		"history, who: the last N seconds (1 to 600; who: 60)", .takers = HISTORY | WHO),
	CTL_COUNT("top", "=N", top, 1, 256, "clients, top, who: at most N clients (1 to 256)",
		.takers = TOP | CLIENTS | WHO),
	CTL_FLAG("watch", watch, "who: update every second", .takers = WHO),
	CTL_FLAG("batch", batch, "top: print one update below the other", .takers = TOP,
		.letter = 'n'),
	CTL_NUMBER("interval", "=SECONDS", interval_sec, 0.1, 3600,
		"top, who: time between updates (1)", .takers = TOP | WHO),
	CTL_COUNT("count", "=N", count, 1, UINT32_MAX, "top, who: exit after N updates",
		.takers = TOP | WHO),
	{ 0 },
};

static const struct ctl_syntax syntax = {
	.name = "server",
	.usage = "usage: canfsctl server COMMAND [OPTION ...]\n"
		 "\n"
		 "Asks the canfs server on this host over its control socket.\n"
		 "\n"
		 "  top                prices, who makes whom wait, and disks, each second;\n"
		 "                     h shows the keys\n"
		 "  prices             utilization and price of each resource, and the prices\n"
		 "  history            the last ten minutes of one export\n"
		 "  clients            the clients that load the server most\n"
		 "  who [ADDRESS]      who makes whom wait; for one client, by which operations\n"
		 "  counters           the server's counters\n"
		 "  config             the configuration of interfaces, disks and classes\n"
		 "  prefetch           what is read ahead, and what waits for the disks\n"
		 "  scheduler [NAME]   show the I/O schedulers, or change them until the restart:\n"
		 "                     auto, or a Scheduler of ganesha-canfs-config(8)\n"
		 "  set [NAME=VALUE...] show settings, or change them until the server's restart:\n"
		 "                     publish, drain (on|off), pmax, k_... of each resource\n"
		 "\n",
	.options = option_table,
	.epilog = "\n"
		  "Exit status: 0 done, 1 error, 2 usage, 3 the server publishes no prices.\n",
};

static json_t *parse_value(const char *text)
{
	char *end;
	double value;

	if (strcmp(text, "on") == 0 || strcmp(text, "true") == 0)
		return json_true();
	if (strcmp(text, "off") == 0 || strcmp(text, "false") == 0)
		return json_false();
	if (strcmp(text, "default") == 0)
		return json_null();
	value = strtod(text, &end);
	/* NULL for NaN and infinity, too, which JSON does not have. */
	return end == text || *end != '\0' ? NULL : json_real(value);
}

/* Adds NAME=VALUE to the request. The server checks names and values. */
static bool parse_setting(struct options *options, char *word)
{
	char *equals = strchr(word, '=');
	json_t *value;

	if (!equals || equals == word) {
		ctl_warn("set: '%s' is not NAME=VALUE", word);
		return false;
	}
	*equals = '\0';
	value = parse_value(equals + 1);
	if (!value) {
		ctl_warn("set: %s: '%s' is neither a number nor on, off or default", word,
			equals + 1);
		return false;
	}
	if (json_object_set_new(options->settings, word, value) == 0)
		return true;
	ctl_warn("set: '%s' is not UTF-8, or memory ran out", word);
	return false;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		if (name && strcmp(name, commands[i].name) == 0)
			return &commands[i];
	}
	ctl_warn("server: '%s' is not a command; allowed: top, prices, history, clients, who, "
		 "counters, config, prefetch, scheduler, set",
		name ? name : "");
	return NULL;
}

/* The socket carries UTF-8. Without a valid name, the request would mean all exports. */
static bool is_utf8(const char *path)
{
	json_t *text = json_string(path);

	if (!text)
		ctl_warn("--export: the path is not UTF-8");
	json_decref(text);
	return text;
}

/* Returns -1 to go on, else the exit status. */
static int parse_command_line(
	struct options *options, const struct command **command, int argc, char **argv)
{
	unsigned int given;
	char name[32];
	int status = ctl_parse(&syntax, options, &given, argc, argv);

	if (status >= 0)
		return status;
	*command = find_command(argv[optind]);
	if (!*command || (options->export && !is_utf8(options->export)))
		return CTL_USAGE;
	snprintf(name, sizeof(name), "server %s", (*command)->name);
	if (!ctl_takes(&syntax, given, name, (*command)->taker))
		return CTL_USAGE;
	while (++optind < argc) {
		if ((*command)->run == run_scheduler && !options->policy) {
			options->policy = argv[optind];
			continue;
		}
		if ((*command)->run == run_who && !options->client) {
			options->client = argv[optind];
			continue;
		}
		if ((*command)->run != run_set) {
			ctl_warn(
				"server %s takes no argument '%s'", (*command)->name, argv[optind]);
			return CTL_USAGE;
		}
		if (!parse_setting(options, argv[optind]))
			return CTL_USAGE;
	}
	return -1;
}

int ctl_server(int argc, char **argv)
{
	struct options options = { .interval_sec = 1 };
	struct server server = { .options = &options };
	const struct command *command;
	int status;

	options.settings = json_pack("{s:s}", "command", "set");
	status = parse_command_line(&options, &command, argc, argv);
	if (status >= 0)
		goto out;
	server.peer = (struct ctl_peer) { .who = "server", .json = options.json };
	status = command->run ? command->run(&server)
			      : show(&server, ask_for(&server, command->name), command->show);
	ctl_hang_up(&server.peer);
	if (ctl_end_output(0) != CTL_OK)
		status = CTL_ERROR;
out:
	json_decref(options.settings);
	return status;
}
