// SPDX-License-Identifier: LGPL-3.0-or-later
#include "pricing/price.h"

#include <math.h>

/* fmax() ignores a NaN, so a NaN k becomes the smallest k: expensive early. */
static double allowed(double k)
{
	return fmin(fmax(k, CANFS_K_MIN), CANFS_K_MAX);
}

double canfs_price(double utilization, double k)
{
	/* A NaN fails this comparison and counts as fully used. */
	if (!(utilization < 1.0))
		return CANFS_PRICE_MAX;
	if (utilization <= 0.0)
		return 0.0;

	k = allowed(k);
	/* expm1() is k^u - 1 without the cancellation near u = 0. */
	return CANFS_PRICE_MAX * expm1(utilization * log(k)) / (k - 1.0);
}

double canfs_utilization(double price, double k)
{
	/* NaN counts as fully used, as above. */
	if (!(price < CANFS_PRICE_MAX))
		return 1.0;
	if (price <= 0.0)
		return 0.0;
	k = allowed(k);
	return log1p(price / CANFS_PRICE_MAX * (k - 1.0)) / log(k);
}
