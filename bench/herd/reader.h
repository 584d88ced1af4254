/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One writer beside a reader, a miniature of `bench/run writeback-cdf`. There are good and bad
 * times to send, and no other client sends. Does the deferred data leave smoothly?
 *
 *	reader   ########______########______#####       at work it keeps the price of the disk at 0.8
 *	writer   --------------------------.       |     5 MB/s for 45 s; the file is closed after 60 s
 */
#ifndef CANFS_BENCH_HERD_READER_H
#define CANFS_BENCH_HERD_READER_H

#include "bench/herd/model.h"

struct herd_smoothness {
	double peak_over_mean;  /* of the bytes that reach the disk within a second */
	double expensive_share; /* of these bytes: those drained while the reader was at work */
	double left_bytes;      /* held until the file was closed */
};

/*
 * Called once per simulated second with the bytes that reached the disk in that second, for
 * printing.
 */
typedef void herd_say(const struct herd *herd, double drained_bytes);

/*
 * Ignores clients and load_pct of setup. Seed 1 uses the phases and the rate of the experiment;
 * other seeds vary them by up to a half. say may be NULL. Returns 0 or -ENOMEM.
 */
int herd_beside_reader(const struct herd_setup *setup, struct herd_smoothness *seen, herd_say *say);

#endif
