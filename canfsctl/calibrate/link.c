// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/calibrate/measure.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "canfsctl/calibrate/child.h"

/*
 * Time for a run besides the run itself: name look-up, connecting (5 s), TCP's start (1 s),
 * exchange of results.
 */
#define AROUND_SEC 20

/*
 * After each run, an iperf3 server takes a moment to listen again, and refuses connections until
 * then.
 */
#define TRIES_BACK 5
#define TRY_SEC    1

static int run_iperf(const char *host, bool reverse, const struct canfs_measure_setup *setup,
	struct canfs_iperf *run, char *error)
{
	char port[16], seconds[16], why[CANFS_RESULT_ERROR_MAX];
	/* Four streams, since one may be limited by its window. --omit leaves out slow start. */
	const char *argv[] = { "iperf3", "--json", "--client", host, "--port", port, "--time",
		seconds, "--omit", "1", "--parallel", "4", "--connect-timeout", "5000",
		reverse ? "--reverse" : NULL, NULL };
	char *output, *errors;
	int ret;

	snprintf(port, sizeof(port), "%u", setup->port);
	snprintf(seconds, sizeof(seconds), "%u", setup->seconds);
	ret = canfs_child_run(argv, setup->seconds + AROUND_SEC, &output, &errors);
	if (ret < 0) {
		snprintf(error, CANFS_MEASURE_ERROR_MAX, "iperf3: %s",
			ret == -ENOENT      ? "is not installed"
			: ret == -ETIMEDOUT ? "did not finish in time"
					    : strerrordesc_np(-ret));
		return ret;
	}
	ret = canfs_iperf_parse(output, run, why);
	if (ret < 0)
		snprintf(error, CANFS_MEASURE_ERROR_MAX, "iperf3 to %s, port %u: %s", host,
			setup->port, why);
	free(output);
	free(errors);
	return ret;
}

/* Finds the interface with this address. "": none. */
static void find_interface(const char *address, char interface[IF_NAMESIZE])
{
	struct ifaddrs *list;
	char name[NI_MAXHOST];

	interface[0] = '\0';
	if (getifaddrs(&list) < 0)
		return;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		const int family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;
		const socklen_t size = family == AF_INET    ? sizeof(struct sockaddr_in)
				       : family == AF_INET6 ? sizeof(struct sockaddr_in6)
							    : 0;

		if (size == 0 || getnameinfo(i->ifa_addr, size, name, sizeof(name), NULL, 0,
					 NI_NUMERICHOST) != 0)
			continue;
		name[strcspn(name, "%")] = '\0'; /* strip the interface from a link-local address */
		if (strcmp(name, address) == 0) {
			snprintf(interface, IF_NAMESIZE, "%s", i->ifa_name);
			break;
		}
	}
	freeifaddrs(list);
}

int canfs_measure_link(const char *host, const struct canfs_measure_setup *setup,
	struct canfs_link_result *result, char error[CANFS_MEASURE_ERROR_MAX])
{
	struct canfs_iperf to, from;
	int ret;

	setup->progress("sending", 0, 2);
	ret = run_iperf(host, false, setup, &to, error);
	if (ret < 0)
		return ret;
	setup->progress("receiving", 1, 2);
	for (int i = 0; (ret = run_iperf(host, true, setup, &from, error)) < 0; i++) {
		if (i == TRIES_BACK)
			return ret;
		sleep(TRY_SEC);
	}
	result->sent_bits_per_sec = to.bits_per_sec;
	result->received_bits_per_sec = from.bits_per_sec;
	find_interface(to.local_address, result->interface);
	return 0;
}
