// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Classes of clients in Ganesha: which are in force, and the prices that a request's client gets.
 */
#include "ganesha-fsal/price/price.h"

void canfs_set_classes(const struct canfs_classes *classes)
{
	int ret = canfs_shared_classes_set(&canfs_pricing.classes, classes);

	if (ret < 0)
		LogCrit(COMPONENT_FSAL, "CANFS: out of memory: keeping the old classes of clients");
	else if (ret > 0)
		LogEvent(COMPONENT_FSAL,
			"CANFS: classes of clients: %zu, of %zu addresses and networks",
			classes->count, classes->network_count);
}

static int premium_pct_here(void)
{
	const struct sockaddr *client = (const struct sockaddr *)op_ctx->caller_addr;

	return client ? canfs_shared_classes_premium(&canfs_pricing.classes, client) : 0;
}

bool canfs_client_steps_aside(void)
{
	return premium_pct_here() > 0;
}

void canfs_add_premium(struct canfs_price_table *table, struct canfs_tag *tag)
{
	int premium_pct = premium_pct_here();

	if (premium_pct != 0)
		canfs_premium_to_tag(
			canfs_premium_now(premium_pct, canfs_price_table_drains(table)), tag);
}
