// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Counts what each client does, for the control socket. Counts how many operations are in flight,
 * for the price service and delegations.
 */
#include "ganesha-fsal/price/price.h"
#include "common/clock.h"
#include "server/monitors/monitors.h"
#include "server/monitors/responses.h"
#include "server/monitors/source.h"

#include <math.h>
#include <unistd.h>

void canfs_open_clients(void)
{
	canfs_pricing.clients = canfs_clients_new();
	canfs_pricing.waiting = canfs_waiting_new();
}

void canfs_measure_clients(void)
{
	if (canfs_pricing.clients)
		canfs_clients_measure(canfs_pricing.clients, canfs_now_usec());
}

double canfs_others_in_flight(void)
{
	const struct sockaddr *client = (const struct sockaddr *)op_ctx->caller_addr;

	if (!canfs_pricing.clients || !client)
		return 0;
	canfs_measure_clients();
	return canfs_clients_others(canfs_pricing.clients, client);
}

/*
 * exit(3) may unload the plugin while exports are still served. The table of clients then stays.
 * The sampler is freed first, because its thread reads the table.
 */
void canfs_close_clients(void)
{
	struct canfs_sampler_counters counters = { 0 };

	if (canfs_pricing.sampler)
		canfs_sampler_count(canfs_pricing.sampler, &counters);
	canfs_sampler_free(canfs_pricing.sampler);
	canfs_pricing.sampler = NULL;
	canfs_waiting_free(canfs_pricing.waiting);
	canfs_pricing.waiting = NULL;
	if (counters.exports != 0)
		return;
	canfs_clients_free(canfs_pricing.clients);
	canfs_pricing.clients = NULL;
}

/* Adds up the work of all disks below exports. */
static void add_disks(const struct canfs_price_table_view *view, void *arg)
{
	struct canfs_disk_sample *sample = arg;
	const struct canfs_disk_work *work = view->work;

	if (!work)
		return;
	sample->disks++;
	sample->reads += work->reads;
	sample->read_bytes += work->read_bytes;
	sample->writes += work->writes;
	sample->written_bytes += work->written_bytes;
	sample->flush_msec += work->flush_msec;
	sample->positioning_sec = fmax(sample->positioning_sec, view->disk->positioning_sec);
	sample->bytes_per_sec = fmax(sample->bytes_per_sec, view->disk->bytes_per_sec);
}

void canfs_step_waiting(uint64_t now_usec)
{
	struct canfs_disk_sample sample = { .dirty_bytes = (double)NAN };
	struct canfs_dirty_pages pages;
	char text[16384];

	if (!canfs_pricing.waiting || !canfs_pricing.clients)
		return;
	canfs_sampler_visit(canfs_pricing.sampler, now_usec, add_disks, &sample);
	if (sample.disks > 0 && canfs_read_source("", "/proc/vmstat", text, sizeof(text)) > 0 &&
		canfs_parse_vmstat(text, &pages) == 0)
		sample.dirty_bytes =
			(double)(pages.dirty + pages.writeback) * (double)sysconf(_SC_PAGESIZE);
	canfs_waiting_step(canfs_pricing.waiting, now_usec, canfs_pricing.clients, &sample);
}

/* Both enums have the same values. */
_Static_assert(CANFS_RESPONSE_READ == (int)CANFS_WAIT_READ &&
		       CANFS_RESPONSE_WRITE == (int)CANFS_WAIT_WRITE &&
		       CANFS_RESPONSE_STABLE_WRITE == (int)CANFS_WAIT_STABLE_WRITE,
	"a kind of wait is a kind of response");

/* This feature's part of a READ, WRITE or COMMIT. */
struct timer {
	struct canfs_client_load *load;    /* NULL: clients are not counted */
	struct canfs_responses *responses; /* NULL: the export publishes no prices */
	enum canfs_client_wait wait;
	unsigned int others; /* in flight when it began */
	uint64_t bytes;
	uint64_t begun_usec;
};

static struct timer *timer_of(struct canfs_op *op)
{
	return CANFS_OP_PART(op, CANFS_FEATURE_PRICE, struct timer);
}

static fsal_status_t begin(struct canfs_op *op, struct canfs_client_load *load,
	enum canfs_client_wait wait, uint64_t bytes)
{
	const struct canfs_export_prices *prices = canfs_prices_of(canfs_export_here());
	struct timer *timer = timer_of(op);

	*timer = (struct timer) { .load = load,
		.responses = prices ? prices->responses : NULL,
		.wait = wait,
		.bytes = bytes,
		.begun_usec = canfs_now_usec() };
	if (load)
		canfs_client_begin(load, wait, timer->begun_usec);
	if (timer->responses && wait == CANFS_WAIT_COMMIT)
		canfs_response_begin_commit(timer->responses);
	else if (timer->responses)
		timer->others = canfs_response_begin(timer->responses);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

/* The load of op_ctx's client. NULL: clients are not counted. */
static struct canfs_client_load *count(enum canfs_client_op op, uint64_t bytes)
{
	const struct sockaddr *client = (const struct sockaddr *)op_ctx->caller_addr;

	return canfs_pricing.clients && client
		       ? canfs_clients_count(canfs_pricing.clients, client, op, bytes)
		       : NULL;
}

/*
 * Counts the bytes that were requested. The result is known later and elsewhere, without the
 * caller's address.
 */
fsal_status_t canfs_begin_read(struct canfs_op *op)
{
	uint64_t bytes = canfs_bytes_of(op->io);

	return begin(op, count(CANFS_CLIENT_READ, bytes), CANFS_WAIT_READ, bytes);
}

fsal_status_t canfs_begin_write(struct canfs_op *op)
{
	uint64_t bytes = canfs_bytes_of(op->io);
	struct canfs_client_load *load = count(CANFS_CLIENT_WRITE, bytes);

	if (load && op->was_stable)
		canfs_client_note_stable(load, bytes);
	return begin(op, load, op->was_stable ? CANFS_WAIT_STABLE_WRITE : CANFS_WAIT_WRITE, bytes);
}

fsal_status_t canfs_begin_commit(struct canfs_op *op)
{
	const struct sockaddr *client = (const struct sockaddr *)op_ctx->caller_addr;
	struct canfs_client_load *load = NULL;

	if (canfs_pricing.clients && client) {
		load = canfs_clients_load(canfs_pricing.clients, client);
		canfs_client_note_commit(load);
	}
	return begin(op, load, CANFS_WAIT_COMMIT, 0);
}

/* Returns its duration in microseconds. */
static uint64_t end(const struct timer *timer)
{
	uint64_t now_usec = canfs_now_usec();
	uint64_t usec = now_usec - timer->begun_usec;

	if (timer->load)
		canfs_client_end(timer->load, timer->wait, now_usec);
	if (timer->responses && timer->wait == CANFS_WAIT_COMMIT)
		canfs_response_end_commit(timer->responses);
	else if (timer->responses)
		canfs_response_end(timer->responses, (enum canfs_response_kind)timer->wait,
			timer->bytes, timer->others, usec);
	return usec;
}

fsal_status_t canfs_end_write(struct canfs_op *op, fsal_status_t status)
{
	end(timer_of(op));
	return status;
}

fsal_status_t canfs_end_read(struct canfs_op *op, fsal_status_t status)
{
	const struct timer *timer = timer_of(op);
	uint64_t bytes = FSAL_IS_ERROR(status) ? 0 : op->io->io_amount;

	if (end(timer) >= CANFS_DISK_READ_USEC && timer->load)
		canfs_client_note_disk_read(timer->load, bytes);
	if (!FSAL_IS_ERROR(status))
		canfs_note_read(op);
	return status;
}

void canfs_note_fetched(struct canfs_op *op, uint64_t bytes)
{
	struct canfs_client_load *load = timer_of(op)->load;

	if (load)
		canfs_client_note_ahead(load, bytes);
}
