/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * canfs-herd LAW CLIENTS LOAD_PCT PRICE_AGE_MSEC SEED SECONDS: CLIENTS write to one server, all together at
 * LOAD_PCT of its drain; it makes a price every PRICE_AGE_MSEC, and they ask for it as often. SECONDS are
 * measured, after 30 that are not. JSON on standard output: the same arguments, the same output.
 *
 * canfs-herd --laws: the names of the laws.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/herd/client.h"
#include "bench/herd/measure.h"
#include "bench/herd/server.h"

#define STEP_USEC    20000
#define STEP_SEC     (STEP_USEC / 1e6)
#define WARM_UP_SEC  30
#define STEPS(sec)   ((sec) * (1000000 / STEP_USEC))
#define CLIENTS_MAX  100000
#define SERIES_STEPS 10 /* a point of the series is of so many */

struct setup {
	const struct herd_law *law;
	unsigned int clients, load_pct, price_age_msec, seed, seconds;
};

/* Network and disk. Returns what the disk took. */
static double move_data(struct herd *herd, uint64_t now_usec)
{
	struct herd_client *end = herd->clients + herd->count, *client;
	double offered = 0, taken, share, drained, queued, clean;

	for (client = herd->clients; client < end; client++)
		offered += herd_client_offers(client, STEP_SEC);
	taken = herd_server_accepts(&herd->server, offered, STEP_SEC);
	share = offered > 0 ? taken / offered : 0;
	drained = herd_server_step(&herd->server, taken, now_usec, STEP_SEC);
	/* The disk serves all that is queued alike. */
	queued = herd->server.backlog_bytes + drained;
	clean = queued > 0 ? drained / queued : 0;
	for (client = herd->clients; client < end; client++) {
		struct herd_kernel *kernel = &client->kernel;
		double bytes = herd_client_offers(client, STEP_SEC) * share;

		kernel->leaving_bytes -= bytes;
		kernel->sent_bytes += bytes;
		kernel->uncommitted_bytes = (kernel->uncommitted_bytes + bytes) * (1 - clean);
		if (kernel->uncommitted_bytes < 1)
			kernel->uncommitted_bytes = 0;
	}
	return drained;
}

static double step(struct herd *herd)
{
	herd->now_usec += STEP_USEC;
	for (unsigned int i = 0; i < herd->count; i++) {
		herd_client_write(&herd->clients[i], herd->now_usec, STEP_SEC);
		herd_client_tick(&herd->clients[i], herd->server.price, herd->now_usec);
	}
	return move_data(herd, herd->now_usec);
}

static void print_point(const struct herd *herd, bool first)
{
	double held = 0;

	for (unsigned int i = 0; i < herd->count; i++)
		held += herd_client_held(&herd->clients[i]);
	printf("%s[%.2f, %.3f, %.1f]", first ? "" : ", ", herd->server.backlog_bytes / 1e6,
		herd->server.price, held / 1e6);
}

static int simulate(struct herd *herd, const struct setup *setup)
{
	unsigned int steps = STEPS(setup->seconds);
	uint64_t price_age_usec = setup->price_age_msec * 1000ull;
	double rate = setup->load_pct / 100.0 * HERD_DRAIN_BYTES_PER_SEC / setup->clients;
	struct measure measure;

	herd->clients = calloc(setup->clients, sizeof(*herd->clients));
	if (!herd->clients || measure_begin(&measure, setup->clients, steps, STEP_SEC)) {
		fprintf(stderr, "canfs-herd: out of memory\n");
		return 1;
	}
	herd->count = setup->clients;
	herd->now_usec = HERD_START_USEC;
	herd_server_init(&herd->server, price_age_usec);
	for (unsigned int i = 0; i < herd->count; i++)
		herd_client_init(
			&herd->clients[i], i, rate, setup->law, price_age_usec, setup->seed);
	for (unsigned int i = 0; i < STEPS(WARM_UP_SEC); i++)
		step(herd);
	measure_start(&measure, herd);
	printf("{\"series_sec\": %.2f, \"series\": [", SERIES_STEPS * STEP_SEC);
	for (unsigned int i = 0; i < steps; i++) {
		measure_step(&measure, herd, step(herd));
		if (i % SERIES_STEPS == 0)
			print_point(herd, i == 0);
	}
	printf("], ");
	measure_print(&measure, herd);
	printf("}\n");
	measure_end(&measure);
	free(herd->clients);
	return 0;
}

static bool parse(const char *text, const char *name, unsigned int low, unsigned int high,
	unsigned int *value)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || number < low || number > high) {
		fprintf(stderr, "canfs-herd: %s = %s: not in %u ... %u\n", name, text, low, high);
		return false;
	}
	*value = (unsigned int)number;
	return true;
}

static bool parse_all(char **words, struct setup *setup)
{
	setup->law = herd_law_find(words[0]);
	if (!setup->law) {
		fprintf(stderr, "canfs-herd: no law '%s'; see canfs-herd --laws\n", words[0]);
		return false;
	}
	return parse(words[1], "CLIENTS", 1, CLIENTS_MAX, &setup->clients) &&
	       parse(words[2], "LOAD_PCT", 1, 1000, &setup->load_pct) &&
	       parse(words[3], "PRICE_AGE_MSEC", 20, 60000, &setup->price_age_msec) &&
	       parse(words[4], "SEED", 0, 65535, &setup->seed) &&
	       parse(words[5], "SECONDS", 10, 3600, &setup->seconds);
}

int main(int argc, char **argv)
{
	struct herd herd = { 0 };
	struct setup setup;
	const struct herd_law *law;

	if (argc == 2 && !strcmp(argv[1], "--laws")) {
		for (unsigned int i = 0; (law = herd_law_at(i)); i++)
			printf("%-10s %s\n", law->name, law->help);
		return 0;
	}
	if (argc != 7) {
		fprintf(stderr,
			"usage: canfs-herd LAW CLIENTS LOAD_PCT PRICE_AGE_MSEC SEED SECONDS\n"
			"       canfs-herd --laws\n");
		return 2;
	}
	return parse_all(argv + 1, &setup) ? simulate(&herd, &setup) : 2;
}
