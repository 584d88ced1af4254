// SPDX-License-Identifier: LGPL-3.0-or-later
/* What each client does, as the control socket shows it; and how many operations are in flight, for the price service and delegations. */
#include "ganesha-fsal/canfs_methods.h"
#include "server/monitors/monitors.h"
#include "server/monitors/responses.h"
#include "server/monitors/source.h"

#include <math.h>
#include <unistd.h>

void canfs_open_clients(void)
{
	CANFS.clients = canfs_clients_new();
	CANFS.waiting = canfs_waiting_new();
}

void canfs_measure_clients(void)
{
	if (CANFS.clients)
		canfs_clients_measure(CANFS.clients, canfs_now_usec());
}

double canfs_others_in_flight(void)
{
	const struct sockaddr *client = (const struct sockaddr *)op_ctx->caller_addr;

	if (!CANFS.clients || !client)
		return 0;
	canfs_measure_clients();
	return canfs_clients_others(CANFS.clients, client);
}

/*
 * A server that ends in a hurry (exit(3) in the middle of its work) unloads us while exports are
 * served: then the table stays. The sampler's thread looks at it, so that this ends first.
 */
void canfs_close_clients(void)
{
	struct canfs_sampler_counters counters = { 0 };

	if (CANFS.sampler)
		canfs_sampler_count(CANFS.sampler, &counters);
	canfs_sampler_free(CANFS.sampler);
	CANFS.sampler = NULL;
	canfs_waiting_free(CANFS.waiting);
	CANFS.waiting = NULL;
	if (counters.exports != 0)
		return;
	canfs_clients_free(CANFS.clients);
	CANFS.clients = NULL;
}

/* What all disks below exports have done. */
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

	if (!CANFS.waiting || !CANFS.clients)
		return;
	canfs_sampler_visit(CANFS.sampler, now_usec, add_disks, &sample);
	if (sample.disks > 0 && canfs_read_source("", "/proc/vmstat", text, sizeof(text)) > 0 &&
		canfs_parse_vmstat(text, &pages) == 0)
		sample.dirty_bytes =
			(double)(pages.dirty + pages.writeback) * (double)sysconf(_SC_PAGESIZE);
	canfs_waiting_step(CANFS.waiting, now_usec, CANFS.clients, &sample);
}

/* The numbers of both are the same. */
_Static_assert(CANFS_RESPONSE_READ == (int)CANFS_WAIT_READ &&
		       CANFS_RESPONSE_WRITE == (int)CANFS_WAIT_WRITE &&
		       CANFS_RESPONSE_STABLE_WRITE == (int)CANFS_WAIT_STABLE_WRITE,
	"a kind of wait is a kind of response");

static struct canfs_timer begin(
	struct canfs_client_load *load, enum canfs_client_wait wait, uint64_t bytes)
{
	const struct canfs_export *export =
		container_of(op_ctx->fsal_export, struct canfs_export, export);
	struct canfs_timer timer = { .load = load,
		.responses = export->responses,
		.wait = wait,
		.bytes = bytes,
		.begun_usec = canfs_now_usec() };

	if (load)
		canfs_client_begin(load, wait, timer.begun_usec);
	if (timer.responses && wait == CANFS_WAIT_COMMIT)
		canfs_response_begin_commit(timer.responses);
	else if (timer.responses)
		timer.others = canfs_response_begin(timer.responses);
	return timer;
}

/* Of the client of op_ctx; NULL: nobody counts them. */
static struct canfs_client_load *count(enum canfs_client_op op, uint64_t bytes)
{
	const struct sockaddr *client = (const struct sockaddr *)op_ctx->caller_addr;

	return CANFS.clients && client ? canfs_clients_count(CANFS.clients, client, op, bytes)
				       : NULL;
}

/* What was asked for: what comes of it is known elsewhere and later, without the caller. */
struct canfs_timer canfs_begin_read(const struct fsal_io_arg *io)
{
	uint64_t bytes = canfs_bytes_of(io);

	return begin(count(CANFS_CLIENT_READ, bytes), CANFS_WAIT_READ, bytes);
}

struct canfs_timer canfs_begin_write_of(const struct fsal_io_arg *io)
{
	uint64_t bytes = canfs_bytes_of(io);
	struct canfs_client_load *load = count(CANFS_CLIENT_WRITE, bytes);

	if (load && io->fsal_stable)
		canfs_client_note_stable(load, bytes);
	return begin(load, io->fsal_stable ? CANFS_WAIT_STABLE_WRITE : CANFS_WAIT_WRITE, bytes);
}

struct canfs_timer canfs_begin_commit(void)
{
	const struct sockaddr *client = (const struct sockaddr *)op_ctx->caller_addr;
	struct canfs_client_load *load = NULL;

	if (CANFS.clients && client) {
		load = canfs_clients_load(CANFS.clients, client);
		canfs_client_note_commit(load);
	}
	return begin(load, CANFS_WAIT_COMMIT, 0);
}

/* Returns how long it took. */
static uint64_t end(const struct canfs_timer *timer)
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

void canfs_end_timer(const struct canfs_timer *timer)
{
	end(timer);
}

void canfs_end_read(const struct canfs_timer *timer, uint64_t bytes)
{
	if (end(timer) >= CANFS_DISK_READ_USEC && timer->load)
		canfs_client_note_disk_read(timer->load, bytes);
}
