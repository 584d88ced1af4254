// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/control/request.h"

static const char *const prices_members[] = { "export", "limit", NULL };
static const char *const history_members[] = { "export", "seconds", NULL };
static const char *const clients_members[] = { "top", NULL };
static const char *const who_members[] = { "seconds", "client", "top", NULL };
static const char *const no_members[] = { NULL };

/* To add a command, add a row, a function in show.c, and a section in control.md. */
static const struct canfs_control_command commands[] = {
	{ "prices", prices_members, canfs_control_prices },
	{ "history", history_members, canfs_control_history },
	{ "clients", clients_members, canfs_control_clients },
	{ "who", who_members, canfs_control_who },
	{ "counters", no_members, canfs_control_show_counters },
	{ "config", no_members, canfs_control_show_config },
	{ "set", canfs_control_set_members, canfs_control_set },
	{ NULL, NULL, NULL },
};

struct canfs_control_service canfs_control_service(const struct canfs_control_subject *subject)
{
	return (struct canfs_control_service) { .commands = commands,
		.more = subject->more,
		.less = "one \"export\", a \"limit\"",
		.subject = subject,
		.counters = subject->counters };
}
