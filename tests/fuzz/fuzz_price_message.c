// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * The datagrams of the price service, as a server and as a client takes them: whatever is accepted is within its bounds, and
 * means the same when it is encoded again.
 */
#include <string.h>
#include "protocol/price_message.h"
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_prices(const struct canfs_prices *prices)
{
	for (int i = 0; i < CANFS_OPERATIONS; i++)
		FUZZ_CHECK(prices->quote[i].price >= 0 && prices->quote[i].price <= 1);
}

static void try_call(const uint8_t *data, size_t size)
{
	struct canfs_price_result result = { .status = CANFS_STATUS_COOKIE };
	uint8_t datagram[CANFS_DATAGRAM_MAX];
	struct canfs_price_call call, again;

	if (canfs_price_decode_call(data, size, &call) != 0)
		return;
	FUZZ_CHECK(canfs_price_encode_reply(datagram, &call, &result) <= sizeof(datagram));
	if (call.refused != 0 || call.procedure == CANFS_PRICE_NULL)
		return;
	FUZZ_CHECK(strlen(call.request.export_name) <= CANFS_EXPORT_NAME_MAX);
	FUZZ_CHECK(call.request.threshold >= 0 && call.request.threshold <= 1);
	size = canfs_price_encode_call(
		datagram, call.xid, (enum canfs_price_procedure)call.procedure, &call.request);
	FUZZ_CHECK(canfs_price_decode_call(datagram, size, &again) == 0 && again.refused == 0);
	FUZZ_CHECK(strcmp(again.request.export_name, call.request.export_name) == 0);
}

static void try_datagram(const uint8_t *data, size_t size)
{
	struct canfs_price_datagram decoded;

	if (canfs_price_decode_datagram(data, size, &decoded) != 0)
		return;
	if (decoded.kind == CANFS_PRICE_IS_PUSH)
		check_prices(&decoded.push.prices);
	else if (decoded.result.status == CANFS_STATUS_OK)
		check_prices(&decoded.result.prices);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > CANFS_DATAGRAM_MAX)
		return 0;
	try_call(data, size);
	try_datagram(data, size);
	return 0;
}
