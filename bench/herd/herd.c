// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-herd LAW CLIENTS LOAD_PCT PRICES SEED SECONDS: CLIENTS clients write to one server,
 * together at LOAD_PCT of its drain. With PRICES in ms, the server computes a price at this
 * interval, and clients ask for it as often. With push:PRICES, the server pushes the price to them.
 * SECONDS are measured, after 30 s that are not. Prints JSON to standard output. The same arguments
 * give the same output.
 *
 * canfs-herd --equals, with the same arguments: equal clients (equals.h).
 *
 * canfs-herd --reader LAW PRICES SEED: one client writes beside a reader (reader.h).
 *
 * canfs-herd --laws: prints the names of the laws.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/herd/equals.h"
#include "bench/herd/measure.h"
#include "bench/herd/model.h"
#include "bench/herd/reader.h"

#define CLIENTS_MAX  100000
#define PUSH         "push:"
#define SERIES_STEPS 10 /* steps per point of the series */

static void print_point(const struct herd *herd, bool first)
{
	double held = 0;

	for (unsigned int i = 0; i < herd->count; i++)
		held += herd_client_held(&herd->clients[i]);
	printf("%s[%.2f, %.3f, %.1f]", first ? "" : ", ", herd->server.backlog_bytes / 1e6,
		herd->server.price, held / 1e6);
}

static void warn(int ret)
{
	fprintf(stderr, "canfs-herd: %s\n",
		ret == -EUSERS ? "prices are pushed to 10000 clients at most" : strerror(-ret));
}

static int simulate(const struct herd_setup *setup, unsigned int seconds)
{
	unsigned int steps = HERD_STEPS(seconds);
	struct measure measure = { 0 };
	struct herd herd;
	int ret = herd_init(&herd, setup);

	if (!ret)
		ret = measure_begin(&measure, setup->clients, steps);
	if (ret) {
		warn(ret);
		goto out;
	}
	for (unsigned int i = 0; i < HERD_STEPS(HERD_WARM_UP_SEC); i++)
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

static bool parse_prices(const char *text, struct herd_setup *setup)
{
	setup->pushed = strncmp(text, PUSH, strlen(PUSH)) == 0;
	if (setup->pushed)
		text += strlen(PUSH);
	return parse(text, "PRICES", 20, 60000, &setup->price_age_msec);
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
	       parse_prices(words[3], setup) && parse_seed(words[4], setup) &&
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

	if (!parse_law(words[0], &setup) || !parse_prices(words[1], &setup) ||
		!parse_seed(words[2], &setup))
		return 2;
	printf("{\"series_sec\": 1, \"series\": [");
	ret = herd_beside_reader(&setup, &seen, print_second);
	if (ret) {
		warn(ret);
		return 1;
	}
	printf("[0, 0, 0]], \"peak_over_mean\": %.3f, \"expensive_pct\": %.2f, \"left_mb\": "
	       "%.3f}\n",
		seen.peak_over_mean, 100 * seen.expensive_share, seen.left_bytes / 1e6);
	return 0;
}

static int among_equals(const struct herd_setup *setup, unsigned int seconds)
{
	struct herd_equality seen;
	int ret = herd_among_equals(setup, seconds, &seen);

	if (ret) {
		warn(ret);
		return 1;
	}
	printf("{\"served_fairness\": %.4f", seen.served_fairness);
	if (setup->law->step)
		printf(", \"deferred_fairness\": %.4f, \"deferred_sec\": %.2f, "
		       "\"deferred_min_sec\": %.2f, \"deferred_max_sec\": %.2f",
			seen.deferred_fairness, seen.deferred_sec, seen.deferred_min_sec,
			seen.deferred_max_sec);
	printf("}\n");
	return 0;
}

int main(int argc, char **argv)
{
	bool equals = argc == 8 && !strcmp(argv[1], "--equals");
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
	if (argc != 7 && !equals) {
		fprintf(stderr,
			"usage: canfs-herd [--equals] LAW CLIENTS LOAD_PCT PRICES SEED SECONDS\n"
			"       canfs-herd --reader LAW PRICES SEED\n"
			"       canfs-herd --laws\n"
			"PRICES: made each so many ms, and asked for; or push:MS, and pushed\n");
		return 2;
	}
	if (!parse_all(argv + 1 + equals, &setup, &seconds))
		return 2;
	return equals ? among_equals(&setup, seconds) : simulate(&setup, seconds);
}
