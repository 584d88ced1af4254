// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/market/history.h"

#include <math.h>
#include <string.h>

#define UNKNOWN UINT16_MAX
#define FULL    (UINT16_MAX - 1)

static uint16_t pack(double share)
{
	return (uint16_t)lrint(fmin(fmax(share, 0), 1) * FULL);
}

static double unpack(uint16_t packed)
{
	return (double)packed / FULL;
}

/* Moves the means of the complete second into the ring. */
static void close_second(struct canfs_history *history)
{
	struct canfs_history_packed *row = &history->row[history->next];
	double steps = history->steps;

	*row = (struct canfs_history_packed) { .second = history->second,
		.write = pack(history->write / steps),
		.write_peak = pack(history->write_peak),
		.readahead = pack(history->readahead / steps),
		.bottleneck = (uint8_t)history->bottleneck };
	for (int i = 0; i < CANFS_RESOURCES; i++) {
		row->utilization[i] = UNKNOWN;
		if (history->known[i] != 0)
			row->utilization[i] = pack(history->utilization[i] / history->known[i]);
	}
	history->next = (history->next + 1) % CANFS_HISTORY_ROWS;
	if (history->count < CANFS_HISTORY_ROWS)
		history->count++;
}

static void open_second(struct canfs_history *history, uint32_t second)
{
	history->second = second;
	history->steps = 0;
	history->write = history->readahead = 0;
	history->write_peak = -1;
	memset(history->utilization, 0, sizeof(history->utilization));
	memset(history->known, 0, sizeof(history->known));
}

void canfs_history_add(struct canfs_history *history, uint64_t now_usec,
	const struct canfs_market *market, struct canfs_quote write, struct canfs_quote readahead)
{
	uint32_t second = (uint32_t)(now_usec / 1000000);

	if (history->steps == 0 || second != history->second) {
		if (history->steps != 0)
			close_second(history);
		open_second(history, second);
	}
	history->steps++;
	history->write += write.price;
	history->readahead += readahead.price;
	if (write.price > history->write_peak) {
		history->write_peak = write.price;
		history->bottleneck = write.bottleneck;
	}
	for (int i = 0; i < CANFS_RESOURCES; i++) {
		if (market->known[i]) {
			history->known[i]++;
			history->utilization[i] += market->utilization[i];
		}
	}
}

bool canfs_history_get(const struct canfs_history *history, uint64_t now_usec, size_t age,
	struct canfs_history_row *row)
{
	const struct canfs_history_packed *packed;

	if (age >= history->count)
		return false;
	packed = &history->row[(history->next + CANFS_HISTORY_ROWS - 1 - age) % CANFS_HISTORY_ROWS];
	if (now_usec / 1000000 > (uint64_t)packed->second + CANFS_HISTORY_SEC)
		return false;
	*row = (struct canfs_history_row) { .second = packed->second,
		.write = unpack(packed->write),
		.write_peak = unpack(packed->write_peak),
		.readahead = unpack(packed->readahead),
		.bottleneck = (enum canfs_resource)packed->bottleneck };
	for (int i = 0; i < CANFS_RESOURCES; i++) {
		row->known[i] = packed->utilization[i] != UNKNOWN;
		row->utilization[i] = row->known[i] ? unpack(packed->utilization[i]) : 0;
	}
	return true;
}
