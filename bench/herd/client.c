// SPDX-License-Identifier: LGPL-3.0-or-later
#include "bench/herd/client.h"

#include <math.h>
#include <stdlib.h>

#include "client-agent/auction/bidder.h"

/*
 * Mixed burstiness: clients take these rhythms in turn. A burst lasts burst_sec at times_mean times
 * the client's mean rate. If burst_sec is 0, a burst has burst_bytes at bytes_per_sec, so that
 * bursts do not shrink when there are many clients. Pauses produce the mean rate. Bursts and pauses
 * vary by half.
 */
struct herd_rhythm {
	double burst_sec, times_mean;
	double burst_bytes, bytes_per_sec;
};

static const struct herd_rhythm rhythms[HERD_RHYTHMS] = {
	[HERD_BURSTS] = { .burst_sec = 2, .times_mean = 4 },
	[HERD_RARE_BURSTS] = { .burst_bytes = 32e6, .bytes_per_sec = 200e6 },
	[HERD_STEADY] = { .burst_sec = 60, .times_mean = 1 },
};

/* The kernel's defaults, and the agent's values (client-agent/actuators/defer.h). */
static const double stock_background = 0.10, stock_limit = 0.20;
static const double bound_bytes = 0.35 * HERD_RAM_BYTES;
static const double background_of_bound = 1 / 0.9, limit_of_background = 1.15;
/* 30 s, and a flusher that runs every 5 s. */
static const uint64_t expire_usec = 32500000;

/* The agent's values, from loop.c, bidder.c and config.c. */
static const uint64_t busy_tick_usec = 100000, idle_tick_usec = 200000;
static const double fill_tau_sec = 0.5, k_memory = 32;
static const double wsize_bytes = 1 << 20;

static double around(struct herd_client *client, double mean)
{
	return mean * (0.5 + erand48(client->random));
}

static void begin_burst(struct herd_client *client)
{
	struct herd_writer *writer = &client->writer;
	const struct herd_rhythm *rhythm = writer->rhythm;
	double mean = rhythm->burst_sec > 0 ? rhythm->burst_sec * writer->rate_bytes_per_sec
					    : rhythm->burst_bytes;

	writer->to_write_bytes = around(client, mean);
	writer->pause_sec = around(client, writer->mean_pause_sec);
}

static void init_writer(
	struct herd_client *client, const struct herd_rhythm *rhythm, double mean_rate)
{
	struct herd_writer *writer = &client->writer;
	double burst_sec = rhythm->burst_sec, period_sec;

	writer->rhythm = rhythm;
	writer->rate_bytes_per_sec = rhythm->times_mean * mean_rate;
	if (!(burst_sec > 0)) {
		writer->rate_bytes_per_sec = rhythm->bytes_per_sec;
		burst_sec = rhythm->burst_bytes / rhythm->bytes_per_sec;
	}
	period_sec = burst_sec * writer->rate_bytes_per_sec / mean_rate;
	writer->mean_pause_sec = fmax(period_sec - burst_sec, 0);
	begin_burst(client);
	/* Starts anywhere in its period. */
	if (erand48(client->random) < writer->mean_pause_sec / period_sec) {
		writer->to_write_bytes = 0;
		writer->pause_sec = writer->mean_pause_sec * erand48(client->random);
	}
}

static void init_agent(struct herd_client *client, const struct herd_setup *setup)
{
	struct herd_agent *agent = &client->agent;
	struct canfs_poller *poller = &agent->poller;
	uint64_t price_age_usec = setup->price_age_msec * 1000ull;

	poller->terms = canfs_poller_defaults;
	poller->terms.min_usec = price_age_usec;
	if (poller->terms.hold_usec < price_age_usec)
		poller->terms.hold_usec = price_age_usec;
	poller->publisher.valid = poller->publisher.believed = true;
	poller->phase = 1;
	if (setup->pushed) { /* without a socket, for ever */
		poller->source = CANFS_SOURCE_SERVICE;
		poller->subscription.lease_end_usec = UINT64_MAX;
		herd_client_hear(client, 0, HERD_START_USEC);
	}
	canfs_auction_init(&agent->auction, &canfs_auction_defaults);
	canfs_average_init(&agent->fill, fill_tau_sec);
	agent->tick_usec =
		HERD_START_USEC + (uint64_t)(erand48(client->random) * (double)idle_tick_usec);
	agent->law->init(&agent->state);
}

void herd_client_init(struct herd_client *client, unsigned int number, enum herd_rhythm_kind kind,
	double rate_bytes_per_sec, const struct herd_setup *setup)
{
	struct herd_kernel *kernel = &client->kernel;

	*client = (struct herd_client) {
		.random = { (unsigned short)number, (unsigned short)(number >> 16),
			(unsigned short)setup->seed },
		.agent.law = setup->law,
	};
	for (int i = 0; i < 8; i++)
		erand48(client->random); /* seeds that differ in one bit start alike */
	init_writer(client, &rhythms[kind], rate_bytes_per_sec);
	kernel->head_start_usec = (uint64_t)(erand48(client->random) * (double)expire_usec);
	kernel->flush_point_bytes = stock_background * HERD_RAM_BYTES;
	kernel->limit_bytes = stock_limit * HERD_RAM_BYTES;
	if (setup->law->step) {
		kernel->flush_point_bytes = bound_bytes * background_of_bound;
		kernel->limit_bytes = kernel->flush_point_bytes * limit_of_background;
		init_agent(client, setup);
	}
}

static double wants(struct herd_client *client, double dt_sec)
{
	struct herd_writer *writer = &client->writer;

	if (!(writer->to_write_bytes > 0)) {
		writer->pause_sec -= dt_sec;
		if (writer->pause_sec > 0)
			return 0;
		begin_burst(client);
	}
	return fmin(writer->to_write_bytes, writer->rate_bytes_per_sec * dt_sec);
}

static void flush(struct herd_kernel *kernel, uint64_t now_usec, double dt_sec)
{
	double headroom = fmax(HERD_LINK_BYTES_PER_SEC * dt_sec - kernel->leaving_bytes, 0);
	double due, bytes;

	if (!kernel->dirtied_usec) {
		kernel->dirtied_usec = now_usec - kernel->head_start_usec;
		kernel->head_start_usec = 0;
	}
	if (now_usec - kernel->dirtied_usec > expire_usec) {
		kernel->due_bytes = kernel->dirty_bytes;
		kernel->dirtied_usec = now_usec;
	}
	due = fmax(kernel->due_bytes, kernel->dirty_bytes - kernel->flush_point_bytes);
	bytes = fmin(fmax(due, 0), fmin(headroom, kernel->dirty_bytes));
	kernel->dirty_bytes -= bytes;
	kernel->leaving_bytes += bytes;
	kernel->due_bytes = fmin(fmax(kernel->due_bytes - bytes, 0), kernel->dirty_bytes);
}

void herd_client_write(struct herd_client *client, uint64_t now_usec, double dt_sec)
{
	struct herd_writer *writer = &client->writer;
	struct herd_kernel *kernel = &client->kernel;
	double wanted = wants(client, dt_sec);

	if (wanted > 0) {
		double headroom = kernel->limit_bytes - kernel->dirty_bytes -
				  kernel->leaving_bytes - kernel->uncommitted_bytes;
		double bytes = fmin(wanted, fmax(headroom, 0));

		kernel->dirty_bytes += bytes;
		writer->written_bytes += bytes;
		writer->to_write_bytes -= bytes;
		if (writer->to_write_bytes < 1)
			writer->to_write_bytes = 0;
		writer->blocked_sec += dt_sec * (1 - bytes / wanted);
	}
	if (kernel->dirty_bytes > 0)
		flush(kernel, now_usec, dt_sec);
	else
		kernel->dirtied_usec = 0;
}

static double on_its_way(const struct herd_kernel *kernel)
{
	return kernel->leaving_bytes + kernel->uncommitted_bytes;
}

static bool fills(const struct herd_client *client)
{
	return client->agent.fill.value >= CANFS_FILL_SMALL_BYTES_PER_SEC;
}

/* The bytes that were held at the last tick. */
static double backlog(const struct herd_client *client)
{
	return client->agent.seen_dirty_bytes + client->agent.seen_on_its_way_bytes;
}

/* Like canfs_bidder_holds(). */
static bool holds(const struct herd_client *client)
{
	bool rest = client->agent.has_rest && !fills(client);

	return backlog(client) >= (rest ? CANFS_BACKLOG_REST_BYTES : CANFS_BACKLOG_SMALL_BYTES);
}

/* Like canfs_poller_tick(), but the answer arrives at once. */
static void ask(struct herd_client *client, double server_price, uint64_t now_usec)
{
	struct herd_agent *agent = &client->agent;
	struct canfs_poller *poller = &agent->poller;
	uint64_t rpcs = (uint64_t)(client->kernel.sent_bytes / wsize_bytes);

	if (now_usec < canfs_poller_due_usec(
			       poller, rpcs, holds(client) ? CANFS_STAKE_LARGE : CANFS_STAKE_NONE))
		return;
	poller->questions++;
	poller->asked_usec = poller->tag_usec = now_usec;
	poller->asked_rpcs = rpcs;
	poller->phase = 0.8 + 0.4 * erand48(client->random);
	agent->server_price = server_price;
}

/* Like canfs_bidder_observe(). */
static void observe(struct herd_client *client, uint64_t now_usec)
{
	struct herd_agent *agent = &client->agent;
	double written = client->writer.written_bytes - agent->seen_written_bytes;
	double elapsed_sec = (double)(now_usec - agent->ticked_usec) / 1e6;
	double unsent = client->kernel.dirty_bytes;
	uint64_t dirtied_usec = client->kernel.dirtied_usec;

	if (!agent->ticked_usec) /* older data may be there, or all clients would be of one age */
		agent->clean_usec = dirtied_usec ? dirtied_usec : now_usec;
	else
		canfs_average_add(&agent->fill, written / elapsed_sec, elapsed_sec);
	if (unsent >= CANFS_BACKLOG_SMALL_BYTES)
		agent->has_rest = true;
	else if (unsent < CANFS_BACKLOG_REST_BYTES)
		agent->has_rest = false;
	if (agent->ticked_usec && ((unsent < CANFS_BACKLOG_SMALL_BYTES && !fills(client)) ||
					  now_usec - agent->clean_usec >= CANFS_KERNEL_FLUSH_USEC))
		agent->clean_usec = now_usec;
	agent->seen_written_bytes = client->writer.written_bytes;
	agent->seen_dirty_bytes = unsent;
	agent->seen_on_its_way_bytes = on_its_way(&client->kernel);
	agent->ticked_usec = now_usec;
}

/* Like canfs_bidder_bid(), for the client's only mount. */
static void bid(struct herd_client *client, uint64_t now_usec)
{
	struct herd_agent *agent = &client->agent;
	struct herd_kernel *kernel = &client->kernel;
	double held = backlog(client), bytes;
	double coming = agent->fill.value * CANFS_FILL_HORIZON_SEC;
	struct herd_view view = { .pace = {
					  .own_price = canfs_own_price(&agent->auction.terms,
						  (held + coming) / bound_bytes, k_memory),
					  .server_price = agent->server_price,
					  .held_usec = now_usec - agent->clean_usec,
					  .held_bytes = (uint64_t)agent->seen_dirty_bytes,
					  .headroom_bytes = (uint64_t)fmax(bound_bytes - held, 0),
					  .fill_bytes_per_sec = agent->fill.value,
					  .in_flight_bytes = (uint64_t)agent->seen_on_its_way_bytes,
					  .elapsed_usec = agent->stepped_usec
								  ? now_usec - agent->stepped_usec
								  : 0,
				  } };

	view.verdict = canfs_auction_hold(
		&agent->auction, view.pace.own_price, agent->server_price, now_usec);
	if (!holds(client) || !canfs_poller_is_current(&agent->poller, now_usec))
		return;
	agent->stepped_usec = now_usec;
	bytes = fmin((double)agent->law->step(&agent->state, &view), kernel->dirty_bytes);
	kernel->dirty_bytes -= bytes;
	kernel->leaving_bytes += bytes;
}

void herd_client_hear(struct herd_client *client, double price, uint64_t now_usec)
{
	client->agent.has_heard = true;
	client->agent.heard_price = price;
	client->agent.poller.subscription.answered_usec = now_usec;
}

/* Takes a pushed price as canfs_poller_tick() does. Returns true if there was one. */
static bool take_heard(struct herd_agent *agent, uint64_t now_usec)
{
	bool is_new = agent->has_heard;

	agent->has_heard = false;
	if (is_new) {
		agent->server_price = agent->heard_price;
		agent->poller.tag_usec = now_usec;
	}
	return is_new;
}

static void tick(struct herd_client *client, double server_price, uint64_t now_usec)
{
	struct herd_agent *agent = &client->agent;

	if (agent->defers)
		agent->deferred_sec += (double)(now_usec - agent->ticked_usec) / 1e6;
	observe(client, now_usec);
	if (agent->poller.source != CANFS_SOURCE_SERVICE)
		ask(client, server_price, now_usec);
	bid(client, now_usec);
	agent->defers = holds(client) && agent->auction.verdict == CANFS_DEFER;
	agent->tick_usec += holds(client) ? busy_tick_usec : idle_tick_usec;
}

void herd_client_tick(struct herd_client *client, double server_price, uint64_t now_usec)
{
	struct herd_agent *agent = &client->agent;
	bool has_heard;

	if (!agent->law->step)
		return;
	has_heard = take_heard(agent, now_usec);
	if (now_usec >= agent->tick_usec)
		tick(client, server_price, now_usec);
	else if (has_heard)
		bid(client, now_usec);
}

double herd_client_offers(const struct herd_client *client, double dt_sec)
{
	return fmin(client->kernel.leaving_bytes, HERD_LINK_BYTES_PER_SEC * dt_sec);
}

double herd_client_held(const struct herd_client *client)
{
	return client->kernel.dirty_bytes + client->kernel.leaving_bytes;
}

double herd_client_work(const struct herd_client *client)
{
	double held = herd_client_held(client);

	return held < CANFS_PACE_WORTH_BYTES
		       ? 0
		       : floor(held / CANFS_PACE_CHUNK_BYTES) * CANFS_PACE_CHUNK_BYTES;
}
