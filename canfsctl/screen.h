/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A terminal on which canfsctl top draws its pages. */
#ifndef CANFS_CANFSCTL_SCREEN_H
#define CANFS_CANFSCTL_SCREEN_H

#include <stdbool.h>
#include "canfsctl/top/view.h"

struct ctl_program {
	/* Anew, for a screen of so many columns. What fails is a matter of the page. */
	void (*ask)(void *data, const struct canfs_top_view *view, int columns);
	void (*layout)(void *data, struct canfs_top_view *view, struct canfs_page *page);
};

/*
 * Asks every interval_sec and draws, until q is pressed or it has asked count times (0: any number). False: the terminal
 * cannot do it, or there is none.
 */
bool ctl_screen(
	const struct ctl_program *program, void *data, double interval_sec, unsigned int count);

#endif
