// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-herd LAW CLIENTS LOAD_PCT PRICE_AGE_MSEC SEED SECONDS: CLIENTS write to one server, all together at
 * LOAD_PCT of its drain; it makes a price every PRICE_AGE_MSEC, and they ask for it as often. SECONDS are
 * measured, after 30 that are not. JSON on standard output: the same arguments, the same output.
 *
 * canfs-herd --reader LAW PRICE_AGE_MSEC SEED: one writes beside a reader (reader.h).
 *
 * canfs-herd --laws: the names of the laws.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/herd/measure.h"
#include "bench/herd/model.h"
#include "bench/herd/reader.h"

#define WARM_UP_SEC  30
#define STEPS(sec)   ((sec) * (1000000u / HERD_STEP_USEC))
#define CLIENTS_MAX  100000
#define SERIES_STEPS 10 /* a point of the series is of so many */

static void print_point(const struct herd *herd, bool first)
{
	double held = 0;

	for (unsigned int i = 0; i < herd->count; i++)
		held += herd_client_held(&herd->clients[i]);
	printf("%s[%.2f, %.3f, %.1f]", first ? "" : ", ", herd->server.backlog_bytes / 1e6,
		herd->server.price, held / 1e6);
}

static int simulate(const struct herd_setup *setup, unsigned int seconds)
{
	unsigned int steps = STEPS(seconds);
	struct measure measure = { 0 };
	struct herd herd;
	int ret = herd_init(&herd, setup);

	if (!ret)
		ret = measure_begin(&measure, setup->clients, steps);
	if (ret) {
		fprintf(stderr, "canfs-herd: %s\n", strerror(-ret));
		goto out;
	}
	for (unsigned int i = 0; i < STEPS(WARM_UP_SEC); i++)
		herd_step(&herd);
	measure_start(&measure, &herd);
	printf("{\"series_sec\": %.2f, \"series\": [", SERIES_STEPS * HERD_STEP_SEC);
	for (unsigned int i = 0; i < steps; i++) {
		measure_step(&measure, &herd, herd_step(&herd));
		if (i % SERIES_STEPS == 0)
			print_point(&herd, i == 0);
	}
	printf("], ");
	measure_print(&measure, &herd);
	printf("}\n");
out:
	measure_end(&measure);
	herd_fini(&herd);
	return ret ? 1 : 0;
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

static bool parse_law(const char *name, struct herd_setup *setup)
{
	setup->law = herd_law_find(name);
	if (!setup->law)
		fprintf(stderr, "canfs-herd: no law '%s'; see canfs-herd --laws\n", name);
	return setup->law;
}

static bool parse_age(const char *text, struct herd_setup *setup)
{
	return parse(text, "PRICE_AGE_MSEC", 20, 60000, &setup->price_age_msec);
}

static bool parse_seed(const char *text, struct herd_setup *setup)
{
	return parse(text, "SEED", 0, 65535, &setup->seed);
}

static bool parse_all(char **words, struct herd_setup *setup, unsigned int *seconds)
{
	return parse_law(words[0], setup) &&
	       parse(words[1], "CLIENTS", 1, CLIENTS_MAX, &setup->clients) &&
	       parse(words[2], "LOAD_PCT", 1, 1000, &setup->load_pct) &&
	       parse_age(words[3], setup) && parse_seed(words[4], setup) &&
	       parse(words[5], "SECONDS", 10, 3600, seconds);
}

static void print_second(const struct herd *herd, double drained_bytes)
{
	printf("[%.2f, %.3f, %.1f], ", drained_bytes / 1e6, herd->server.price,
		herd_client_held(herd->clients) / 1e6);
}

static int beside_reader(char **words)
{
	struct herd_setup setup;
	struct herd_smoothness seen;
	int ret;

	if (!parse_law(words[0], &setup) || !parse_age(words[1], &setup) ||
		!parse_seed(words[2], &setup))
		return 2;
	printf("{\"series_sec\": 1, \"series\": [");
	ret = herd_beside_reader(&setup, &seen, print_second);
	if (ret) {
		fprintf(stderr, "canfs-herd: %s\n", strerror(-ret));
		return 1;
	}
	printf("[0, 0, 0]], \"peak_over_mean\": %.3f, \"expensive_pct\": %.2f, \"left_mb\": "
	       "%.3f}\n",
		seen.peak_over_mean, 100 * seen.expensive_share, seen.left_bytes / 1e6);
	return 0;
}

int main(int argc, char **argv)
{
	struct herd_setup setup;
	unsigned int seconds;
	const struct herd_law *law;

	if (argc == 2 && !strcmp(argv[1], "--laws")) {
		for (unsigned int i = 0; (law = herd_law_at(i)); i++)
			printf("%-10s %s\n", law->name, law->help);
		return 0;
	}
	if (argc == 5 && !strcmp(argv[1], "--reader"))
		return beside_reader(argv + 2);
	if (argc != 7) {
		fprintf(stderr,
			"usage: canfs-herd LAW CLIENTS LOAD_PCT PRICE_AGE_MSEC SEED SECONDS\n"
			"       canfs-herd --reader LAW PRICE_AGE_MSEC SEED\n"
			"       canfs-herd --laws\n");
		return 2;
	}
	return parse_all(argv + 1, &setup, &seconds) ? simulate(&setup, seconds) : 2;
}
