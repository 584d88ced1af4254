// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/auction/give_way.h"
#include "client-agent/auction/arithmetic.h"

#include <math.h>

void canfs_give_way_init(struct canfs_give_way *give_way)
{
	*give_way = (struct canfs_give_way) { .price = NAN };
}

static void begin(struct canfs_give_way *give_way, const struct canfs_give_way_view *view)
{
	bool is_first = give_way->quiet_usec && isnan(give_way->price);

	if (is_first && view->price_usec > give_way->quiet_usec &&
		canfs_growth(view->sent_bytes, give_way->sent_bytes) < CANFS_GIVE_WAY_SENT_BYTES)
		give_way->price = view->commits_wait ? view->price : 0;
	if (view->is_too_fast && give_way->price >= CANFS_GIVE_WAY_PRICE) {
		give_way->active = true;
		give_way->busy_usec = view->now_usec;
	}
}

/* Ignores how fast the writer is: while it is made to wait, it writes less. */
static void go_on(struct canfs_give_way *give_way, const struct canfs_give_way_view *view)
{
	if (!(view->price < CANFS_GIVE_WAY_LOW))
		give_way->busy_usec = view->now_usec;
	if (view->now_usec - give_way->busy_usec < CANFS_GIVE_WAY_LOW_USEC)
		return;
	give_way->active = false;
	give_way->price = view->price;
}

bool canfs_give_way_update(struct canfs_give_way *give_way, const struct canfs_give_way_view *view)
{
	if (view->is_quiet)
		*give_way = (struct canfs_give_way) {
			.quiet_usec = view->now_usec, .sent_bytes = view->sent_bytes, .price = NAN
		};
	else if (give_way->active)
		go_on(give_way, view);
	else
		begin(give_way, view);
	return give_way->active;
}
