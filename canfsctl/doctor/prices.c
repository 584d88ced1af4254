// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Asks the servers of all mounts for their prices, in parallel, so that all dead servers together
 * cost one deadline.
 */
#include "canfsctl/doctor/facts.h"

#include <errno.h>
#include <linux/tcp.h> /* tcp_info in netinet/tcp.h ends before tcpi_min_rtt */
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "client-agent/auction/bidder.h"
#include "common/clock.h"

#define USEC_PER_SEC 1000000.0

#define ESTABLISHED 1 /* TCP_ESTABLISHED, which linux/tcp.h lacks */

/*
 * NFS first, as the agent does: some price services know only clients that have sent an NFS
 * request.
 *
 *	FSSTAT ... until the server is believed --> price
 *	    --> SUBSCRIBE ... until the server pushes prices, or refuses --> service
 */
struct question {
	struct canfs_mount_facts *facts;
	uint64_t deadline_usec;
	struct canfs_fsstat *fsstat; /* NULL: done */
	struct canfs_publisher publisher;
	uint16_t service_port;
	struct canfs_subscription subscription; /* closed: not started yet, or done */
};

/* The service's answers other than prices and cookies. */
static const enum canfs_service_fact refusals[CANFS_STATUSES] = {
	[CANFS_STATUS_ACCESS] = CANFS_SERVICE_DENIED,
	[CANFS_STATUS_NONE] = CANFS_SERVICE_NO_PRICES,
	[CANFS_STATUS_FULL] = CANFS_SERVICE_FULL,
};

static void end_service(struct question *question, enum canfs_service_fact service)
{
	question->facts->service = service;
	canfs_subscription_close(&question->subscription);
}

static void step_service(struct question *question, uint64_t now_usec)
{
	struct canfs_subscription *subscription = &question->subscription;

	canfs_subscription_tick(subscription, now_usec);
	if (canfs_subscription_is_current(subscription, now_usec))
		end_service(question, CANFS_SERVICE_SERVED);
	else if (refusals[subscription->status] != CANFS_SERVICE_NOT_ASKED)
		end_service(question, refusals[subscription->status]);
	else if (subscription->network_error == ECONNREFUSED)
		end_service(question, CANFS_SERVICE_CLOSED);
	else if (subscription->network_error || now_usec >= question->deadline_usec)
		end_service(question, CANFS_SERVICE_UNANSWERED);
}

static void begin_service(struct question *question)
{
	const struct canfs_mount *mount = question->facts->mount;
	const uint64_t now_usec = canfs_now_usec();

	if (now_usec < question->deadline_usec &&
		canfs_subscription_open(&question->subscription, &mount->address,
			question->service_port, mount->version == 4 ? 4 : 3, mount->export_path,
			false, (unsigned int)now_usec) == 0 &&
		canfs_subscription_has_service(&question->subscription)) {
		question->subscription.bind = canfs_bind_reserved;
		step_service(question, now_usec);
	}
}

static void end(struct question *question, enum canfs_price_fact price, const char *why)
{
	question->facts->price = price;
	snprintf(question->facts->price_error, sizeof(question->facts->price_error), "%s", why);
	canfs_fsstat_free(question->fsstat);
	question->fsstat = NULL;
	begin_service(question);
}

static void ask(struct question *question)
{
	int ret = canfs_fsstat_start(question->fsstat, question->deadline_usec);

	if (ret < 0)
		end(question, CANFS_PRICE_UNANSWERED, strerrordesc_np(-ret));
}

static void begin(struct question *question)
{
	const struct canfs_mount *mount = question->facts->mount;
	uint8_t handle[CANFS_MOUNT_HANDLE_MAX];
	struct canfs_fsstat_target target;
	int ret;

	if (canfs_mount_is_private(mount))
		return;
	ret = canfs_bidder_target(mount, handle, &target);
	if (ret == 0)
		ret = canfs_fsstat_new(&question->fsstat, &target);
	if (ret < 0)
		end(question, CANFS_PRICE_UNANSWERED, strerrordesc_np(-ret));
	else
		ask(question);
}

/*
 * This connection has the route and peer of the kernel's own. Its minimum round trip is that of the
 * link. Other samples include the server's queue and delayed acknowledgements.
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
	if (info.tcpi_min_rtt != UINT32_MAX) /* else none was measured yet */
		question->facts->link.rtt_usec = info.tcpi_min_rtt;
}

/* A valid tag may be a coincidence. Asks until that is ruled out. */
static void step(struct question *question, uint64_t now_usec)
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
	else if (canfs_publisher_note(&question->publisher, &space))
		end(question, CANFS_PRICE_PUBLISHED, "");
	else if (canfs_publisher_is_settling(&question->publisher))
		ask(question);
	else
		end(question, CANFS_PRICE_NONE, "");
}

/*
 * Waits until a question can proceed, or for the deadline that all share. False: no question is
 * left.
 */
static bool wait_for_any(const struct question *questions, size_t n)
{
	struct pollfd polled[CANFS_MOUNTS_MAX];
	const uint64_t now_usec = canfs_now_usec();
	uint64_t until_usec = UINT64_MAX;
	nfds_t open = 0;

	for (size_t i = 0; i < n; i++) {
		const struct question *question = &questions[i];
		const struct canfs_subscription *subscription = &question->subscription;
		uint64_t due_usec = question->deadline_usec;

		if (question->fsstat) {
			polled[open++] = (struct pollfd) { canfs_fsstat_fd(question->fsstat),
				canfs_fsstat_events(question->fsstat), 0 };
		} else if (canfs_subscription_has_service(subscription)) {
			polled[open++] = (struct pollfd) { subscription->fd, POLLIN, 0 };
			if (subscription->ask_usec < due_usec)
				due_usec = subscription->ask_usec;
		} else {
			continue;
		}
		if (due_usec < until_usec)
			until_usec = due_usec;
	}
	if (open > 0)
		poll(polled, open,
			until_usec > now_usec ? (int)((until_usec - now_usec) / 1000 + 1) : 0);
	return open > 0;
}

void canfs_prices_gather(
	struct canfs_mount_facts *mounts, size_t n, uint16_t service_port, double timeout_sec)
{
	const uint64_t deadline_usec = canfs_now_usec() + (uint64_t)(timeout_sec * USEC_PER_SEC);
	struct question *questions = calloc(n ? n : 1, sizeof(*questions));

	if (!questions)
		return; /* all stay CANFS_PRICE_NOT_ASKED */
	for (size_t i = 0; i < n; i++) {
		questions[i] = (struct question) { .facts = &mounts[i],
			.deadline_usec = deadline_usec,
			.service_port = service_port,
			.subscription.fd = -1 };
		begin(&questions[i]);
	}
	while (wait_for_any(questions, n)) {
		for (size_t i = 0; i < n; i++) {
			if (questions[i].fsstat)
				step(&questions[i], canfs_now_usec());
			else if (canfs_subscription_has_service(&questions[i].subscription))
				step_service(&questions[i], canfs_now_usec());
		}
	}
	free(questions);
}
