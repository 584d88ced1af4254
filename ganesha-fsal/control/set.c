// SPDX-License-Identifier: LGPL-3.0-or-later
/* The command that changes something. All of a request is done, or nothing of it. */
#include "ganesha-fsal/control/request.h"

#include <stdio.h>
#include "pricing/price.h"

/* Names, kinds and places of what can be set; canfs_control_set_members[] in the same order. */
enum kind { INTERVAL, SWITCH, K };

static const struct setting {
	const char *name;
	enum kind kind;
	size_t offset; /* in struct canfs_settings */
} settings_table[] = {
	{ "interval_ms", INTERVAL, offsetof(struct canfs_settings, interval_ms) },
	{ "publish", SWITCH, offsetof(struct canfs_settings, publish) },
	{ "drain", SWITCH, offsetof(struct canfs_settings, drain) },
	{ "k_cpu", K, offsetof(struct canfs_settings, k[CANFS_CPU]) },
	{ "k_network", K, offsetof(struct canfs_settings, k[CANFS_NETWORK]) },
	{ "k_disk", K, offsetof(struct canfs_settings, k[CANFS_DISK]) },
	{ "k_memory", K, offsetof(struct canfs_settings, k[CANFS_MEMORY]) },
};

#define SETTINGS (sizeof(settings_table) / sizeof(settings_table[0]))

const char *const canfs_control_set_members[] = { "interval_ms", "publish", "drain", "k_cpu",
	"k_network", "k_disk", "k_memory", NULL };

_Static_assert(
	sizeof(canfs_control_set_members) / sizeof(canfs_control_set_members[0]) == SETTINGS + 1,
	"one name for each setting");

static void *place(struct canfs_settings *settings, const struct setting *setting)
{
	return (char *)settings + setting->offset;
}

/* null: nobody has said it, and each export has that of its disks' type. */
static bool may_be_null(const struct setting *setting)
{
	return setting->offset == offsetof(struct canfs_settings, k[CANFS_DISK]);
}

/* False: refused, with what is allowed. */
static bool take(struct canfs_control_call *call, const struct setting *setting,
	const json_t *given, struct canfs_settings *settings)
{
	const char *name = setting->name;
	double number = json_number_value(given);

	if (json_is_null(given) && may_be_null(setting)) {
		*(double *)place(settings, setting) = 0;
		return true;
	}
	switch (setting->kind) {
	case INTERVAL:
		if (!json_is_integer(given) || number < CANFS_INTERVAL_MS_MIN ||
			number > CANFS_INTERVAL_MS_MAX) {
			canfs_control_refuse(call, "%s: allowed is a whole number from %d to %d",
				name, CANFS_INTERVAL_MS_MIN, CANFS_INTERVAL_MS_MAX);
			return false;
		}
		*(unsigned int *)place(settings, setting) = (unsigned int)number;
		return true;
	case SWITCH:
		if (!json_is_boolean(given)) {
			canfs_control_refuse(call, "%s: allowed is true or false", name);
			return false;
		}
		*(bool *)place(settings, setting) = json_is_true(given);
		return true;
	case K:
		if (!json_is_number(given) || !(number >= CANFS_K_MIN && number <= CANFS_K_MAX)) {
			canfs_control_refuse(call, "%s: allowed is a number from %g to %.0f", name,
				CANFS_K_MIN, CANFS_K_MAX);
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
	case INTERVAL:
		return json_integer(*(const unsigned int *)at);
	case SWITCH:
		return json_boolean(*(const bool *)at);
	case K:
		return json_real(*(const double *)at);
	}
	return NULL;
}

/* For the server's log: what an administrator did, and will want to know tomorrow. */
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

	canfs_exchange_settings(call->subject->exchange, &before);
	after = before;
	for (size_t i = 0; i < SETTINGS; i++) {
		const json_t *given = json_object_get(call->request, settings_table[i].name);

		if (given != NULL && !take(call, &settings_table[i], given, &after))
			return NULL;
	}
	if (canfs_exchange_set(call->subject->exchange, &after) != 0)
		return canfs_control_refuse(call, "set: out of range");
	shown = json_object();
	for (size_t i = 0; i < SETTINGS; i++) {
		say_change(call->subject, &settings_table[i], &before, &after);
		json_object_set_new(
			shown, settings_table[i].name, show(&after, &settings_table[i]));
	}
	return shown;
}
