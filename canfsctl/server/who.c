// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Prints how clients delay each other: tables on a screen of 80 columns, or sentences about one
 * client.
 */
#include "canfsctl/server/server.h"
#include "canfsctl/socket.h"
#include "canfsctl/top/waits.h"

#include <stdio.h>
#include <string.h>

#define SHOWN_MAX 6 /* rows of each table; a screen has 24 lines */

static double of(const json_t *row, const char *group, const char *name)
{
	return ctl_number(json_object_get(row, group), name);
}

/* The longest address, but at least `width` (15 for "255.255.255.255"). */
static int width_of(const json_t *rows, const char *name, int width)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		int length = (int)strlen(ctl_text(json_array_get(rows, i), name));

		width = length > width ? length : width;
	}
	return width;
}

static void show_bullies(const json_t *rows)
{
	int width = width_of(rows, "bully", 15);

	printf("\n%-*s%10s   with%11s%10s%8s%12s\n", width, "made wait", "seconds", "write-back",
		"commits", "reads", "read-ahead");
	for (size_t i = 0; i < json_array_size(rows) && i < SHOWN_MAX; i++) {
		const json_t *row = json_array_get(rows, i);

		printf("%-*s%10.2f%18.2f%10.2f%8.2f%12.2f\n", width, ctl_text(row, "bully"),
			ctl_number(row, "waited"), of(row, "cause", "write_back"),
			of(row, "cause", "sync"), of(row, "cause", "read"),
			of(row, "cause", "read_ahead"));
	}
}

static void show_victims(const json_t *rows)
{
	int width = width_of(rows, "victim", 15);

	printf("\n%-*s%10s   in%13s%10s%8s\n", width, "waited", "seconds", "writes", "commits",
		"reads");
	for (size_t i = 0; i < json_array_size(rows) && i < SHOWN_MAX; i++) {
		const json_t *row = json_array_get(rows, i);

		printf("%-*s%10.2f%18.2f%10.2f%8.2f\n", width, ctl_text(row, "victim"),
			ctl_number(row, "waited"), of(row, "waiting", "write"),
			of(row, "waiting", "commit"), of(row, "waiting", "read"));
	}
}

static void show_pairs(const json_t *rows)
{
	int bully = width_of(rows, "bully", 15), victim = width_of(rows, "victim", 15);

	printf("\n%-*s  %-*s%10s%14s\n", bully, "made wait", victim, "waited", "seconds",
		"nobody waits");
	for (size_t i = 0; i < json_array_size(rows) && i < SHOWN_MAX; i++) {
		const json_t *row = json_array_get(rows, i);
		double waited = ctl_number(row, "waited");

		printf("%-*s  %-*s%10.2f%12.0f %%\n", bully, ctl_text(row, "bully"), victim,
			ctl_text(row, "victim"), waited,
			waited > 0 ? 100 * ctl_number(row, "nobody_waits") / waited : 0);
	}
}

/* Returns false if there is nothing more to print. */
static bool show_head(const json_t *reply)
{
	const json_t *pairs = json_object_get(reply, "pairs");

	if (json_is_null(pairs)) {
		puts("who makes whom wait: not known to this server");
		return false;
	}
	printf("clients waited %.2f s for each other in the last %.0f s\n",
		ctl_number(reply, "waited"), ctl_number(reply, "seconds"));
	return json_array_size(pairs) != 0;
}

void ctl_show_who(const json_t *reply)
{
	if (!show_head(reply))
		return;
	show_bullies(json_object_get(reply, "bullies"));
	show_victims(json_object_get(reply, "victims"));
	show_pairs(json_object_get(reply, "pairs"));
}

/* A line for each cause, unless it is less than a hundredth of the pair's waiting. */
static void say_pair(const json_t *row, double seconds)
{
	double waited = ctl_number(row, "waited");
	const char *what = canfs_wait_most(canfs_wait_operations, json_object_get(row, "waiting"));

	for (const struct canfs_wait_word *cause = canfs_wait_causes; cause->name; cause++) {
		double sec = of(row, "cause", cause->name);

		if (sec >= 0.005 && sec >= waited / 100)
			printf("the %s of %s cost %s %.2f s of the last %.0f s, mostly in %s\n",
				cause->words, ctl_text(row, "bully"), ctl_text(row, "victim"), sec,
				seconds, what ? what : "operations");
	}
}

void ctl_show_who_of(const json_t *reply)
{
	const json_t *pairs = json_object_get(reply, "pairs");

	if (!show_head(reply))
		return;
	for (size_t i = 0; i < json_array_size(pairs); i++)
		say_pair(json_array_get(pairs, i), ctl_number(reply, "seconds"));
}
