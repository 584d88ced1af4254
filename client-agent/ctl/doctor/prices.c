// SPDX-License-Identifier: LGPL-3.0-or-later
/* Asks the servers of all mounts for their prices, side by side: a dead one costs its deadline once. */
#include "client-agent/ctl/doctor/facts.h"

#include <errno.h>
#include <linux/tcp.h> /* netinet/tcp.h's tcp_info ends before tcpi_min_rtt */
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "client-agent/auction/bidder.h"
#include "common/clock.h"

#define USEC_PER_SEC 1000000.0

#define ESTABLISHED 1 /* TCP_ESTABLISHED, which linux/tcp.h lacks */

struct question {
	struct canfs_mount_facts *facts;
	struct canfs_fsstat *fsstat; /* NULL: done */
	struct canfs_publisher publisher;
};

static void end(struct question *question, enum canfs_price_fact price, const char *why)
{
	question->facts->price = price;
	snprintf(question->facts->price_error, sizeof(question->facts->price_error), "%s", why);
	canfs_fsstat_free(question->fsstat);
	question->fsstat = NULL;
}

static void ask(struct question *question, uint64_t deadline_usec)
{
	int ret = canfs_fsstat_start(question->fsstat, deadline_usec);

	if (ret < 0)
		end(question, CANFS_PRICE_UNANSWERED, strerrordesc_np(-ret));
}

static void begin(struct question *question, uint64_t deadline_usec)
{
	const struct canfs_mount *mount = question->facts->mount;
	uint8_t handle[CANFS_MOUNT_HANDLE_MAX];
	struct canfs_fsstat_target target;
	int ret;

	if (strncmp(mount->sec, "krb5", 4) == 0)
		return;
	ret = canfs_bidder_target(mount, handle, &target);
	if (ret == 0)
		ret = canfs_fsstat_new(&question->fsstat, &target);
	if (ret < 0)
		end(question, CANFS_PRICE_UNANSWERED, strerrordesc_np(-ret));
	else
		ask(question, deadline_usec);
}

/*
 * The connection is like the kernel's own: the same route, the same peer. Its least round trip is the
 * link's; the others hold the server's queue and delayed acknowledgements, too.
 */
static void read_connection(const struct question *question)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (getsockopt(canfs_fsstat_fd(question->fsstat), IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ||
		info.tcpi_state != ESTABLISHED)
		return;
	question->facts->link.mss_bytes = info.tcpi_snd_mss;
	if (info.tcpi_min_rtt != UINT32_MAX) /* none measured yet */
		question->facts->link.rtt_usec = info.tcpi_min_rtt;
}

/* One valid tag may be chance: asks until the server is believed, or a reply has none. */
static void step(struct question *question, uint64_t now_usec, uint64_t deadline_usec)
{
	struct canfs_space space;
	struct canfs_tag tag;
	int ret;

	read_connection(question);
	ret = canfs_fsstat_step(question->fsstat, now_usec, &space);
	if (ret == -EINPROGRESS)
		return;
	if (ret < 0)
		end(question, CANFS_PRICE_UNANSWERED, canfs_fsstat_error(question->fsstat));
	else if (canfs_tag_decode(&space, &tag) < 0)
		end(question, CANFS_PRICE_NONE, "");
	else if (canfs_publisher_note(&question->publisher, true))
		end(question, CANFS_PRICE_PUBLISHED, "");
	else
		ask(question, deadline_usec);
}

/* Until one can go on, or the deadline. False: none is left. */
static bool wait_for_any(const struct question *questions, size_t n, uint64_t deadline_usec)
{
	struct pollfd polled[CANFS_MOUNTS_MAX];
	const uint64_t now_usec = canfs_now_usec();
	nfds_t open = 0;

	for (size_t i = 0; i < n; i++) {
		if (questions[i].fsstat)
			polled[open++] = (struct pollfd) { canfs_fsstat_fd(questions[i].fsstat),
				canfs_fsstat_events(questions[i].fsstat), 0 };
	}
	if (open > 0)
		poll(polled, open,
			deadline_usec > now_usec ? (int)((deadline_usec - now_usec) / 1000 + 1)
						 : 0);
	return open > 0;
}

void canfs_prices_gather(struct canfs_mount_facts *mounts, size_t n, double timeout_sec)
{
	const uint64_t deadline_usec = canfs_now_usec() + (uint64_t)(timeout_sec * USEC_PER_SEC);
	struct question *questions = calloc(n ? n : 1, sizeof(*questions));

	if (!questions)
		return; /* not asked */
	for (size_t i = 0; i < n; i++) {
		questions[i].facts = &mounts[i];
		begin(&questions[i], deadline_usec);
	}
	while (wait_for_any(questions, n, deadline_usec)) {
		for (size_t i = 0; i < n; i++) {
			if (questions[i].fsstat)
				step(&questions[i], canfs_now_usec(), deadline_usec);
		}
	}
	free(questions);
}
