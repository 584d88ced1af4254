/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A terminal on which canfsctl top draws its pages. */
#ifndef CANFS_CANFSCTL_SCREEN_H
#define CANFS_CANFSCTL_SCREEN_H

#include <stdbool.h>
#include "canfsctl/top/view.h"

struct ctl_program {
	/* Samples anew for a screen with this many columns. The page shows errors. */
	void (*ask)(void *data, const struct canfs_top_view *view, int columns);
	void (*layout)(void *data, struct canfs_top_view *view, struct canfs_page *page);
};

/*
 * Samples every interval_sec and draws, until q is pressed or count samples were taken (0: no
 * limit). Returns false if there is no terminal or it cannot place the cursor.
 */
bool ctl_screen(
	const struct ctl_program *program, void *data, double interval_sec, unsigned int count);

#endif
