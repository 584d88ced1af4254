// SPDX-License-Identifier: LGPL-3.0-or-later
#include "pricing/price.h"

#include <math.h>

double canfs_price(double utilization, double k)
{
	/* Written so that NaN fails the comparison: it counts as fully used. */
	if (!(utilization < 1.0))
		return CANFS_PRICE_MAX;
	if (utilization <= 0.0)
		return 0.0;

	/* fmax() drops a NaN, so that k without a value becomes the small one: expensive early. */
	k = fmin(fmax(k, CANFS_K_MIN), CANFS_K_MAX);

	/* expm1() is k^u - 1 without the cancellation near u = 0. */
	return CANFS_PRICE_MAX * expm1(utilization * log(k)) / (k - 1.0);
}
