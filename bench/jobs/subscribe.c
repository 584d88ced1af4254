// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-job-subscribe: many subscribers to a price service, running the agent's own code. For each
 * price that the first subscriber receives, prints a line: seconds of the monotonic clock, and the
 * write price. At the end prints a JSON result.
 *
 * With --exports N, the subscribers take the exports "0", "1" ... below EXPORT in turn.
 *
 * The server limits the subscribers of one address. Therefore the subscribers use several
 * consecutive addresses of the server. On the same host, a datagram's source address equals its
 * destination.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/jobs/job.h"
#include "common/clock.h"
#include "protocol/subscription.h"

#define EXIT_BAD_USE 2
#define TICK_USEC    200000

struct crowd {
	size_t count, addresses, exports;
	double seconds;
	uint16_t port;
	struct sockaddr_storage server;
	const char *export_name; /* with several exports: their directory */
	struct canfs_subscription *subscription;
	struct pollfd *polled;
};

static void usage(void)
{
	fprintf(stderr, "usage: canfs-job-subscribe [--count N] [--addresses N] [--exports N] "
			"[--seconds S] [--port N] IPV4-ADDRESS EXPORT\n");
	exit(EXIT_BAD_USE);
}

static void parse_options(struct crowd *crowd, int argc, char **argv)
{
	static const struct option options[] = { { "count", required_argument, NULL, 'c' },
		{ "addresses", required_argument, NULL, 'a' },
		{ "exports", required_argument, NULL, 'e' },
		{ "seconds", required_argument, NULL, 's' },
		{ "port", required_argument, NULL, 'p' }, { 0 } };
	struct sockaddr_in *server = (struct sockaddr_in *)&crowd->server;
	int option;

	*crowd = (struct crowd) {
		.count = 1, .addresses = 1, .seconds = 10, .port = CANFS_PRICE_PORT
	};
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			crowd->count = (size_t)canfs_job_number("count", optarg, 1, 20000);
		else if (option == 'a')
			crowd->addresses = (size_t)canfs_job_number("addresses", optarg, 1, 200);
		else if (option == 'e')
			crowd->exports = (size_t)canfs_job_number("exports", optarg, 1, 20000);
		else if (option == 's')
			crowd->seconds = canfs_job_number("seconds", optarg, 0, 86400);
		else if (option == 'p')
			crowd->port = (uint16_t)canfs_job_number("port", optarg, 1, 65535);
		else
			usage();
	}
	if (optind != argc - 2 || inet_pton(AF_INET, argv[optind], &server->sin_addr) != 1)
		usage();
	server->sin_family = AF_INET;
	crowd->export_name = argv[optind + 1];
}

static struct sockaddr_storage address_of(const struct crowd *crowd, size_t i)
{
	struct sockaddr_storage address = crowd->server;
	struct in_addr *ipv4 = &((struct sockaddr_in *)&address)->sin_addr;

	ipv4->s_addr = htonl(ntohl(ipv4->s_addr) + (uint32_t)(i % crowd->addresses));
	return address;
}

/* The only export, or "0", "1" ... in its directory. */
static void export_of(const struct crowd *crowd, size_t i, char name[PATH_MAX])
{
	if (crowd->exports == 0)
		snprintf(name, PATH_MAX, "%s", crowd->export_name);
	else
		snprintf(name, PATH_MAX, "%s/%zu", crowd->export_name, i % crowd->exports);
}

static void open_all(struct crowd *crowd)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	crowd->subscription = calloc(crowd->count, sizeof(*crowd->subscription));
	crowd->polled = calloc(crowd->count, sizeof(*crowd->polled));
	if (!crowd->subscription || !crowd->polled)
		abort();
	for (size_t i = 0; i < crowd->count; i++) {
		struct sockaddr_storage server = address_of(crowd, i);
		char name[PATH_MAX];
		int ret;

		export_of(crowd, i, name);
		ret = canfs_subscription_open(&crowd->subscription[i], &server, crowd->port, 3,
			name, false, (unsigned int)i + 1);
		if (ret != 0) {
			fprintf(stderr, "subscriber %zu: %s\n", i, strerrordesc_np(-ret));
			exit(1);
		}
		crowd->polled[i] =
			(struct pollfd) { .fd = crowd->subscription[i].fd, .events = POLLIN };
	}
}

static void tick(struct crowd *crowd, size_t i, uint64_t now_usec)
{
	const struct canfs_subscription *subscription = &crowd->subscription[i];

	if (canfs_subscription_tick(&crowd->subscription[i], now_usec) && i == 0) {
		printf("%.6f %.6f\n", (double)now_usec / 1e6,
			subscription->prices.quote[CANFS_WRITE].price);
		fflush(stdout);
	}
}

static void serve(struct crowd *crowd)
{
	uint64_t end_usec = canfs_now_usec() + (uint64_t)(crowd->seconds * 1e6), ticked_usec = 0;

	for (uint64_t now_usec; (now_usec = canfs_now_usec()) < end_usec;) {
		bool is_due = now_usec - ticked_usec >= TICK_USEC;

		for (size_t i = 0; i < crowd->count; i++) {
			if (is_due || crowd->polled[i].revents != 0)
				tick(crowd, i, now_usec);
		}
		if (is_due)
			ticked_usec = now_usec;
		if (poll(crowd->polled, crowd->count, TICK_USEC / 1000) < 0)
			break;
	}
}

static void report(struct crowd *crowd)
{
	uint64_t calls = 0, pushes = 0, lost = 0, late = 0, forged = 0, malformed = 0;
	size_t current = 0;

	for (size_t i = 0; i < crowd->count; i++) {
		struct canfs_subscription *subscription = &crowd->subscription[i];

		current += canfs_subscription_is_current(subscription, canfs_now_usec());
		calls += subscription->calls;
		pushes += subscription->pushes;
		lost += subscription->lost;
		late += subscription->late;
		forged += subscription->forged;
		malformed += subscription->malformed;
		canfs_subscription_close(subscription);
	}
	printf("{\"current\": %zu, \"calls\": %lu, \"pushes\": %lu, \"lost\": %lu, \"late\": %lu, "
	       "\"forged\": %lu, "
	       "\"malformed\": %lu}\n",
		current, calls, pushes, lost, late, forged, malformed);
	free(crowd->subscription);
	free(crowd->polled);
}

int main(int argc, char **argv)
{
	struct crowd crowd;

	parse_options(&crowd, argc, argv);
	open_all(&crowd);
	serve(&crowd);
	report(&crowd);
	return 0;
}
