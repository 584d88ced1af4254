// SPDX-License-Identifier: LGPL-3.0-or-later
#include "common/control/request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Replaces bytes that are not printable ASCII, because not all can be in JSON. */
static void sanitize(char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < ' ' || (unsigned char)*text >= 127)
			*text = '?';
	}
}

json_t *canfs_control_text(const char *text)
{
	json_t *string = json_string(text);
	char *copy;

	if (string)
		return string;
	copy = strdup(text);
	if (!copy)
		return NULL;
	sanitize(copy);
	string = json_string(copy);
	free(copy);
	return string;
}

json_t *canfs_control_refuse(struct canfs_control_call *call, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(call->error, sizeof(call->error), format, args);
	va_end(args);
	sanitize(call->error);
	return NULL;
}

bool canfs_control_string(struct canfs_control_call *call, const char *member, const char **value)
{
	const json_t *given = json_object_get(call->request, member);

	*value = json_string_value(given);
	if (!given || *value)
		return true;
	canfs_control_refuse(call, "%s: must be a string", member);
	return false;
}

bool canfs_control_count(struct canfs_control_call *call, const char *member, unsigned int most,
	unsigned int fallback, unsigned int *value)
{
	const json_t *given = json_object_get(call->request, member);
	json_int_t number = json_integer_value(given);

	*value = fallback;
	if (!given)
		return true;
	if (!json_is_integer(given) || number < 1 || number > (json_int_t)most) {
		canfs_control_refuse(call, "%s: must be a whole number from 1 to %u", member, most);
		return false;
	}
	*value = (unsigned int)number;
	return true;
}

/* Appends a name to "...; allowed: a, b". */
static void list(struct canfs_control_call *call, const char *name)
{
	size_t used = strlen(call->error);
	bool is_first = used != 0 && call->error[used - 1] == ' ';

	snprintf(
		call->error + used, sizeof(call->error) - used, "%s%s", is_first ? "" : ", ", name);
}

/* Returns NULL if the command is not in this table. */
static const struct canfs_control_command *find_in(
	const struct canfs_control_command *command, const char *name)
{
	for (; name && command && command->name; command++) {
		if (strcmp(name, command->name) == 0)
			return command;
	}
	return NULL;
}

static void list_commands(
	struct canfs_control_call *call, const struct canfs_control_command *command)
{
	for (; command && command->name; command++)
		list(call, command->name);
}

static const struct canfs_control_command *find_command(
	struct canfs_control_call *call, const struct canfs_control_service *service)
{
	const char *name = json_string_value(json_object_get(call->request, "command"));
	const struct canfs_control_command *found = find_in(service->commands, name);

	if (!found)
		found = find_in(service->more, name);
	if (found)
		return found;
	if (!name)
		canfs_control_refuse(call, "\"command\" is missing or not a string; allowed: ");
	else
		canfs_control_refuse(call, "unknown command '%.32s'; allowed: ", name);
	list_commands(call, service->commands);
	list_commands(call, service->more);
	return NULL;
}

static bool knows_member(const struct canfs_control_command *command, const char *name)
{
	for (size_t i = 0; command->members[i]; i++) {
		if (strcmp(name, command->members[i]) == 0)
			return true;
	}
	return strcmp(name, "command") == 0;
}

/* Refuses unknown members. A misspelt member must not count as left out. */
static bool check_members(
	struct canfs_control_call *call, const struct canfs_control_command *command)
{
	/* Iteration changes nothing, but jansson takes no const pointer. */
	json_t *request = (json_t *)(uintptr_t)call->request;

	for (void *at = json_object_iter(request); at; at = json_object_iter_next(request, at)) {
		const char *name = json_object_iter_key(at);

		if (knows_member(command, name))
			continue;
		canfs_control_refuse(call, "%s: unknown member '%.32s'; allowed: %s", command->name,
			name, command->members[0] ? "" : "none");
		for (const char *const *member = command->members; *member; member++)
			list(call, *member);
		return false;
	}
	return true;
}

static json_t *run(struct canfs_control_call *call, const struct canfs_control_service *service)
{
	const struct canfs_control_command *command = find_command(call, service);
	json_t *members, *reply;

	if (!command || !check_members(call, command))
		return NULL;
	members = command->run(call);
	if (!members)
		return NULL;
	reply = json_pack(
		"{s:b, s:s, s:f}", "ok", 1, "command", command->name, "time", call->now.unix_sec);
	if (json_object_update_new(reply, members) != 0) {
		json_decref(reply);
		return NULL;
	}
	return reply;
}

char *canfs_control_print(const json_t *value, size_t flags)
{
	size_t length = value ? json_dumpb(value, NULL, 0, flags) : 0;
	char *text = length > 0 ? malloc(length + 2) : NULL;

	if (text && json_dumpb(value, text, length, flags) == length) {
		memcpy(text + length, "\n", 2);
		return text;
	}
	free(text); /* text may be incomplete */
	return NULL;
}

/* Consumes the reply. */
static char *print(json_t *reply)
{
	char *text = canfs_control_print(reply, JSON_COMPACT | JSON_REAL_PRECISION(15));

	json_decref(reply);
	return text;
}

char *canfs_control_refusal(const char *error)
{
	return print(json_pack("{s:b, s:s}", "ok", 0, "error", error));
}

/* Frees the reply. */
static char *too_long(const struct canfs_control_service *service, char *reply)
{
	char error[CANFS_CONTROL_ERROR_MAX];

	free(reply);
	snprintf(error, sizeof(error), "the reply is too long; ask for less: %s", service->less);
	return canfs_control_refusal(error);
}

char *canfs_control_respond(const struct canfs_control_service *service, const char *request,
	size_t length, struct canfs_control_time now)
{
	struct canfs_control_call call = { .subject = service->subject, .now = now };
	json_error_t error;
	json_t *parsed = json_loadb(request, length, JSON_REJECT_DUPLICATES, &error);
	json_t *reply = NULL;
	char *text;

	call.request = parsed;
	service->counters->requests++;
	if (!parsed)
		canfs_control_refuse(&call,
			"not JSON: %.80s (column %d); send one JSON object per line", error.text,
			error.column);
	else if (!json_is_object(parsed))
		canfs_control_refuse(&call, "must be a JSON object, such as {\"command\":\"%s\"}",
			service->commands[0].name);
	else
		reply = run(&call, service);
	if (call.error[0] != '\0')
		service->counters->requests_bad++;
	else if (!reply)
		canfs_control_refuse(&call, "out of memory");
	text = reply ? print(reply) : canfs_control_refusal(call.error);
	if (text && strlen(text) > CANFS_CONTROL_REPLY_MAX)
		text = too_long(service, text);
	json_decref(parsed);
	return text;
}
