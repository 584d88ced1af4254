// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/top/head.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAY_SEC 86400

static const char *print_time(double unix_sec, char text[16])
{
	time_t seconds = isnan(unix_sec) ? 0 : (time_t)unix_sec;
	struct tm local;

	strftime(text, 16, "%T", localtime_r(&seconds, &local));
	return text;
}

static void print_uptime(double sec, char *text, size_t size)
{
	const long long up = isnan(sec) ? -1 : (long long)sec;

	if (up < 0)
		text[0] = '\0';
	else if (up < DAY_SEC)
		snprintf(text, size, ", up %lld:%02lld:%02lld", up / 3600, up / 60 % 60, up % 60);
	else
		snprintf(text, size, ", up %lld days %lld:%02lld", up / DAY_SEC, up / 3600 % 24,
			up / 60 % 60);
}

void canfs_head_put(struct canfs_page *page, const struct canfs_top_view *view, const char *what,
	const char *version, double uptime_sec, double time)
{
	char right[64], clock[16], uptime[48];

	print_uptime(uptime_sec, uptime, sizeof(uptime));
	canfs_page_print(page, 0, 1, CANFS_TITLE, "%s%s%s%s", what, version ? ", release " : "",
		version ? version : "", uptime);
	if (view->is_paused)
		snprintf(right, sizeof(right), "  PAUSED  %s ", print_time(time, clock));
	else
		snprintf(right, sizeof(right), "  every %g s  %s ", view->interval_sec,
			print_time(time, clock));
	canfs_page_put_right(page, 0, CANFS_TITLE, right);
	canfs_page_fill(page, 0, CANFS_TITLE);
}

void canfs_head_put_error(
	struct canfs_page *page, int row, const char *error, double silent_sec, double time)
{
	char clock[16];
	int column;

	column = canfs_page_print(page, row, 0, CANFS_BAD, "NO ANSWER for %.0f s", silent_sec);
	if (!isnan(time))
		column = canfs_page_print(
			page, row, column, CANFS_BAD, ", below: of %s", print_time(time, clock));
	canfs_page_print(page, row, column, CANFS_BAD, ": %s", error);
}
