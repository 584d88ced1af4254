/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The user's choices of what a page shows, and the keys for them. */
#ifndef CANFS_CANFSCTL_TOP_VIEW_H
#define CANFS_CANFSCTL_TOP_VIEW_H

#include <stdbool.h>
#include "canfsctl/top/page.h"

struct canfs_top_view {
	/* Set by keys; the layout clamps them. */
	int cursor;    /* selected row of the list of clients or mounts */
	int export_at; /* server top: the export shown */
	int sort;      /* index among the columns that can be sorted by */
	bool is_paused, is_helped;
	double interval_sec;
	/* Set by the layout. */
	int cursors, exports, sorts; /* the numbers of choices */
	int page_rows;               /* rows shown of the longest list */
};

enum canfs_key_result {
	CANFS_KEY_DRAW, /* draw the same answers again */
	CANFS_KEY_ASK,  /* ask again now */
	CANFS_KEY_QUIT,
};

/* key: from getch() of curses. */
enum canfs_key_result canfs_view_key(struct canfs_top_view *view, int key);

/* Clamps what keys have chosen to what the layout has. */
void canfs_view_bound(struct canfs_top_view *view);

/* The first row to show of the list, so that the cursor is among the `shown` rows. */
int canfs_view_first(const struct canfs_top_view *view, int shown);

/* Draws the most important keys in the last row of the page. */
void canfs_view_put_keys(struct canfs_page *page, const struct canfs_top_view *view);

/* Draws, from row on, all keys and then the lines that explain terms of the page. */
void canfs_view_put_help(struct canfs_page *page, int row, const char *const *lines, size_t count);

#endif
