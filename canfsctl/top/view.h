/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the user has chosen to see of a top, and the keys to choose it with. */
#ifndef CANFS_CANFSCTL_TOP_VIEW_H
#define CANFS_CANFSCTL_TOP_VIEW_H

#include <stdbool.h>
#include "canfsctl/top/page.h"

struct canfs_top_view {
	/* Set by keys; the layout brings them back into its bounds. */
	int cursor;    /* row of the longest list: a client, a mount */
	int export_at; /* server: whose resources */
	int sort;      /* by which of the columns that sort */
	bool is_paused, is_helped;
	double interval_sec;
	/* Set by the layout. */
	int cursors, exports, sorts; /* how many there are */
	int page_rows;               /* of that list, that are shown */
};

enum canfs_key_result {
	CANFS_KEY_DRAW, /* the same answers once more */
	CANFS_KEY_ASK,  /* anew, now */
	CANFS_KEY_QUIT,
};

/* key: as of curses, getch(). */
enum canfs_key_result canfs_view_key(struct canfs_top_view *view, int key);

/* The bounds of what keys have set, from the layout's counts. */
void canfs_view_bound(struct canfs_top_view *view);

/* The first row that a list of so many rows shows, with the cursor's among them. */
int canfs_view_first(const struct canfs_top_view *view, int shown);

/* The last row of a page: the keys that matter most. */
void canfs_view_put_keys(struct canfs_page *page, const struct canfs_top_view *view);

/* Below row: all keys, and then the lines about words of the page. */
void canfs_view_put_help(struct canfs_page *page, int row, const char *const *lines, size_t count);

#endif
