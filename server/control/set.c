// SPDX-License-Identifier: LGPL-3.0-or-later
/* The command "set". A request takes effect completely or not at all. */
#include "server/control/request.h"

#include <stdio.h>
#include "pricing/price.h"

/* The settings: names, types and offsets. canfs_control_set_members[] has the same order. */
enum kind { SWITCH, NUMBER }; /* bool, double */

/* To add a setting, add a row, a member to struct canfs_settings, and a line in control.md. */
static const struct setting {
	const char *name;
	enum kind kind;
	double least, most; /* unused for a SWITCH */
	size_t offset;      /* in struct canfs_settings */
} settings_table[] = {
#define SETTING(name, kind, least, most, member)                                                   \
	{                                                                                          \
		name, kind, least, most, offsetof(struct canfs_settings, member)                   \
	}
	SETTING("publish", SWITCH, 0, 0, publish), SETTING("drain", SWITCH, 0, 0, drain),
	SETTING("pmax", NUMBER, 0, CANFS_PRICE_MAX, pmax),
#define SETTING_K(NAME, name)                                                                      \
	SETTING("k_" #name, NUMBER, CANFS_K_MIN, CANFS_K_MAX, k[CANFS_##NAME]),
	CANFS_RESOURCE_ROWS(SETTING_K)
};

#define SETTINGS (sizeof(settings_table) / sizeof(settings_table[0]))

#define NAME_OF_K(NAME, name) "k_" #name,
const char *const canfs_control_set_members[] = { "publish", "drain", "pmax",
	CANFS_RESOURCE_ROWS(NAME_OF_K) NULL };

_Static_assert(
	sizeof(canfs_control_set_members) / sizeof(canfs_control_set_members[0]) == SETTINGS + 1,
	"one name for each setting");

static void *place(struct canfs_settings *settings, const struct setting *setting)
{
	return (char *)settings + setting->offset;
}

/* k_disk may be null (not set): each export then uses the k of its disk's type. */
static bool may_be_null(const struct setting *setting)
{
	return setting->offset == offsetof(struct canfs_settings, k[CANFS_DISK]);
}

/* Returns false if the value is refused. The error message says what is allowed. */
static bool take(struct canfs_control_call *call, const struct setting *setting,
	const json_t *given, struct canfs_settings *settings)
{
	const char *name = setting->name;
	double number = json_number_value(given);
	const bool allowed = number >= setting->least && number <= setting->most;

	if (json_is_null(given) && may_be_null(setting)) {
		*(double *)place(settings, setting) = 0;
		return true;
	}
	switch (setting->kind) {
	case SWITCH:
		if (!json_is_boolean(given)) {
			canfs_control_refuse(call, "%s: must be true or false", name);
			return false;
		}
		*(bool *)place(settings, setting) = json_is_true(given);
		return true;
	case NUMBER:
		if (!json_is_number(given) || !allowed) {
			canfs_control_refuse(call, "%s: must be a number from %g to %.0f%s", name,
				setting->least, setting->most,
				may_be_null(setting)
					? ", or null (default): by the type of the disk"
					: "");
			return false;
		}
		*(double *)place(settings, setting) = number;
		return true;
	}
	return false;
}

static json_t *show(struct canfs_settings *settings, const struct setting *setting)
{
	const void *at = place(settings, setting);

	if (may_be_null(setting) && *(const double *)at == 0)
		return json_null();
	switch (setting->kind) {
	case SWITCH:
		return json_boolean(*(const bool *)at);
	case NUMBER:
		return json_real(*(const double *)at);
	}
	return NULL;
}

/* Logs a change of a setting by an administrator. */
static void say_change(const struct canfs_control_subject *subject, const struct setting *setting,
	struct canfs_settings *before, struct canfs_settings *after)
{
	json_t *was = show(before, setting), *is = show(after, setting);
	char message[128], old[32] = "", new[32] = "";

	if (!json_equal(was, is)) {
		json_dumpb(was, old, sizeof(old) - 1, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
		json_dumpb(is, new, sizeof(new) - 1, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
		snprintf(message, sizeof(message), "set over the control socket: %s %s -> %s",
			setting->name, old, new);
		subject->say(message);
	}
	json_decref(was);
	json_decref(is);
}

json_t *canfs_control_set(struct canfs_control_call *call)
{
	struct canfs_settings before, after;
	json_t *shown;

	canfs_sampler_settings(canfs_control_subject_of(call)->sampler, &before);
	after = before;
	for (size_t i = 0; i < SETTINGS; i++) {
		const json_t *given = json_object_get(call->request, settings_table[i].name);

		if (given && !take(call, &settings_table[i], given, &after))
			return NULL;
	}
	if (canfs_sampler_set(canfs_control_subject_of(call)->sampler, &before, &after) != 0)
		return canfs_control_refuse(call, "set: out of range");
	shown = json_object();
	for (size_t i = 0; i < SETTINGS; i++) {
		say_change(canfs_control_subject_of(call), &settings_table[i], &before, &after);
		json_object_set_new(
			shown, settings_table[i].name, show(&after, &settings_table[i]));
	}
	return shown;
}
