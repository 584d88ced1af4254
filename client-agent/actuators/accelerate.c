// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/actuators/accelerate.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "client-agent/actuators/flush.h"
#include "client-agent/kernel/writers.h"
#include "common/clock.h"
#include "common/thread.h"

#define IDLE_USEC    (CANFS_ACCELERATE_IDLE_MSEC * UINT64_C(1000))
#define PARTIAL_USEC 100000u          /* a scan that met its bound continues after this */
#define LET_GO_USEC  (10 * IDLE_USEC) /* not asked for so long: the files are closed */
#define STOP_SEC     1
#define STACK_BYTES  (256u << 10) /* small, as there may be many; a scan needs some 30 KiB */

enum helper_state { NO_HELPER, HELPER_RUNS, HELPER_ENDED /* must be joined; does not block */ };

/*
 * State of one BDI. The loop sets what the helper needs, and the helper reads it, both under the
 * lock.
 */
struct slot {
	struct canfs_accelerator *accelerator;
	pthread_t thread;
	enum helper_state helper;
	pthread_cond_t wake; /* a request, or stop */
	struct canfs_bdi bdi;
	bool used;
	bool fresh; /* the slot is new for this BDI: the helper's part is another BDI's */
	bool pending;
	uint64_t asked_usec;
	uint64_t chunk_bytes;
	bool hurries;
	struct canfs_accelerate_status status;

	/* Used by the helper only, without the lock. */
	struct canfs_writers writers;
	uint64_t scanned_usec; /* 0: not yet */
	uint64_t rechecked_usec;
	uint64_t dropped_usec;
	uint64_t scan_cost_usec;
	bool sent; /* the last request sent something */
};

struct canfs_accelerator {
	char *root;
	bool exact;
	bool drop_behind;
	pthread_mutex_t lock;
	pthread_cond_t gone; /* a helper has exited */
	bool stop;
	bool left_behind; /* the last helper to end frees it */
	struct slot slot[CANFS_ACCELERATE_BDIS_MAX];
};

static struct timespec after_usec(uint64_t usec)
{
	uint64_t at = canfs_now_usec() + usec;

	return (struct timespec) { (time_t)(at / 1000000), (long)(at % 1000000) * 1000 };
}

static unsigned int slots_in_use(const struct canfs_accelerator *accelerator, uint64_t now)
{
	unsigned int n = 0;

	for (size_t i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++) {
		const struct slot *slot = &accelerator->slot[i];
		n += slot->used && now - slot->asked_usec < IDLE_USEC;
	}
	return n;
}

/*
 * Looks for writers if a scan is due. With thousands of processes a scan is expensive, so the next
 * one comes later. Returns 0, or -errno if /proc cannot be read.
 */
static int scan_if_due(struct slot *slot, const char *root, unsigned int in_use, uint64_t now_usec)
{
	uint64_t pause_usec = slot->writers.next_pid ? PARTIAL_USEC : IDLE_USEC;
	uint64_t pause_min_usec =
		in_use * canfs_writers_rest_usec(&slot->writers, slot->scan_cost_usec, slot->sent);
	uint64_t began_usec;
	int ret;

	if (pause_min_usec > pause_usec)
		pause_usec = pause_min_usec;
	if (slot->scanned_usec && now_usec - slot->scanned_usec < pause_usec) {
		/* An open file whose writer is gone makes umount fail, and rm leaves .nfs files. */
		if (now_usec - slot->rechecked_usec >= IDLE_USEC) {
			canfs_writers_recheck(&slot->writers, root);
			slot->rechecked_usec = now_usec;
		}
		return 0;
	}
	began_usec = canfs_cpu_usec();
	ret = canfs_writers_scan(&slot->writers, root);
	slot->scan_cost_usec = canfs_cpu_usec() - began_usec;
	slot->scanned_usec = slot->rechecked_usec = now_usec;
	return ret;
}

/*
 * Runs only from time to time, because data is safe on the server and may be dropped only a while
 * after it was sent.
 */
static void drop_if_due(struct slot *slot, uint64_t now_usec)
{
	if (!slot->writers.drop_behind || now_usec - slot->dropped_usec < IDLE_USEC / 4)
		return;
	for (size_t i = 0; i < slot->writers.n; i++)
		canfs_writer_drop_behind(&slot->writers.writer[i]);
	slot->dropped_usec = now_usec;
}

static bool any_grows(const struct canfs_writers *writers)
{
	for (size_t i = 0; i < writers->n; i++) {
		if (writers->writer[i].has_grown)
			return true;
	}
	return false;
}

static bool all_rewrite(const struct canfs_writers *writers)
{
	for (size_t i = 0; i < writers->n; i++) {
		if (writers->writer[i].looks < 2 || writers->writer[i].has_grown)
			return false;
	}
	return writers->n > 0;
}

/* Called with the lock held. Releases the lock for everything that may block. */
static void serve(struct slot *slot)
{
	struct canfs_accelerator *accelerator = slot->accelerator;
	uint64_t chunk = slot->chunk_bytes, now = canfs_now_usec(), asked;
	struct canfs_flush_terms terms = { .exact = accelerator->exact, .hurries = slot->hurries };
	unsigned int errors = 0, in_use = slots_in_use(accelerator, now);
	struct canfs_bdi bdi = slot->bdi;
	bool fresh = slot->fresh;
	struct canfs_writers *writers = &slot->writers;
	bool drop_behind = accelerator->drop_behind;

	slot->fresh = false;
	slot->status.busy_since_usec = now;
	pthread_mutex_unlock(&accelerator->lock);
	if (fresh) {
		canfs_writers_close(writers);
		canfs_writers_init(writers, bdi);
		slot->scanned_usec = 0;
		slot->sent = false;
	}
	writers->drop_behind = drop_behind;
	errors += scan_if_due(slot, accelerator->root, in_use, now) != 0;
	asked = canfs_flush(writers, chunk, &terms, &errors);
	slot->sent = asked > 0;
	drop_if_due(slot, now);
	pthread_mutex_lock(&accelerator->lock);
	slot->status.busy_since_usec = 0;
	slot->pending = false;
	slot->status.requests++;
	slot->status.asked_bytes += asked;
	slot->status.sends = asked > 0;
	slot->status.grows = any_grows(writers);
	slot->status.rewrites = all_rewrite(writers);
	slot->status.files = (unsigned int)writers->n;
	slot->status.errors += errors + writers->errors;
	writers->errors = 0;
}

static bool is_unasked(const struct slot *slot)
{
	return canfs_now_usec() - slot->asked_usec >= LET_GO_USEC;
}

/* Closes files whose writers are gone, so that no mount is kept busy. The lock is as in serve(). */
static void release_gone_writers(struct slot *slot)
{
	uint64_t now = canfs_now_usec();
	bool let_go = is_unasked(slot), drop_behind = slot->accelerator->drop_behind;

	if (slot->writers.n == 0 || now - slot->scanned_usec < IDLE_USEC)
		return;
	slot->status.busy_since_usec = now;
	pthread_mutex_unlock(&slot->accelerator->lock);
	slot->writers.drop_behind = drop_behind;
	if (drop_behind && slot->accelerator->exact)
		canfs_flush_pass_sent(&slot->writers);
	drop_if_due(slot, now);
	if (let_go)
		canfs_writers_close(&slot->writers);
	else
		canfs_writers_recheck(&slot->writers, slot->accelerator->root);
	pthread_mutex_lock(&slot->accelerator->lock);
	slot->status.busy_since_usec = 0;
	slot->status.files = (unsigned int)slot->writers.n;
}

static unsigned int helpers(const struct canfs_accelerator *accelerator)
{
	unsigned int n = 0;

	for (size_t i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++)
		n += accelerator->slot[i].helper == HELPER_RUNS;
	return n;
}

static void destroy(struct canfs_accelerator *accelerator)
{
	for (size_t i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++) {
		if (accelerator->slot[i].used)
			pthread_cond_destroy(&accelerator->slot[i].wake);
	}
	pthread_cond_destroy(&accelerator->gone);
	pthread_mutex_destroy(&accelerator->lock);
	free(accelerator->root);
	free(accelerator);
}

/* Exits when told to, or when there is no request and no open file for a while. */
static void *help(void *data)
{
	struct slot *slot = data;
	struct canfs_accelerator *accelerator = slot->accelerator;
	bool last;

	pthread_mutex_lock(&accelerator->lock);
	while (!accelerator->stop && (slot->pending || slot->writers.n > 0 || !is_unasked(slot))) {
		struct timespec until = after_usec(IDLE_USEC);
		if (slot->pending)
			serve(slot);
		else if (pthread_cond_timedwait(&slot->wake, &accelerator->lock, &until) != 0)
			release_gone_writers(slot);
	}
	if (accelerator->stop) {
		pthread_mutex_unlock(&accelerator->lock);
		canfs_writers_close(&slot->writers);
		pthread_mutex_lock(&accelerator->lock);
	}
	slot->helper = HELPER_ENDED;
	pthread_cond_signal(&accelerator->gone);
	last = accelerator->left_behind && !helpers(accelerator);
	pthread_mutex_unlock(&accelerator->lock);
	if (last)
		destroy(accelerator);
	return NULL;
}

/* Makes sure that the slot has a helper. Returns 0 or -EAGAIN. */
static int start_helper(struct slot *slot)
{
	int ret;

	if (slot->helper == HELPER_RUNS)
		return 0;
	if (slot->helper == HELPER_ENDED)
		pthread_join(slot->thread, NULL);
	ret = canfs_thread_start(&slot->thread, STACK_BYTES, help, slot);
	slot->helper = ret ? NO_HELPER : HELPER_RUNS;
	return ret;
}

/* Does not touch the slots: pages of unused slots take no memory. */
int canfs_accelerator_new(struct canfs_accelerator **accelerator, const char *root)
{
	struct canfs_accelerator *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	pthread_mutex_init(&made->lock, NULL);
	canfs_steady_cond_init(&made->gone);
	made->exact = canfs_flush_exact();
	made->root = strdup(root);
	if (!made->root) {
		destroy(made);
		return -ENOMEM;
	}
	*accelerator = made;
	return 0;
}

void canfs_accelerator_free(struct canfs_accelerator *accelerator)
{
	if (!accelerator)
		return;
	struct timespec until = after_usec(STOP_SEC * UINT64_C(1000000));
	int late = 0;

	pthread_mutex_lock(&accelerator->lock);
	accelerator->stop = true;
	for (size_t i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++) {
		if (accelerator->slot[i].used)
			pthread_cond_signal(&accelerator->slot[i].wake);
	}
	while (helpers(accelerator) && !late)
		late = pthread_cond_timedwait(&accelerator->gone, &accelerator->lock, &until);
	for (size_t i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++) {
		struct slot *slot = &accelerator->slot[i];
		if (slot->helper == HELPER_ENDED)
			pthread_join(slot->thread, NULL);
		else if (slot->helper == HELPER_RUNS)
			pthread_detach(slot->thread);
	}
	bool left_behind = accelerator->left_behind = helpers(accelerator) > 0;
	pthread_mutex_unlock(&accelerator->lock);
	if (!left_behind)
		destroy(accelerator);
}

static struct slot *find_slot(struct canfs_accelerator *accelerator, struct canfs_bdi bdi)
{
	for (size_t i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++) {
		struct slot *slot = &accelerator->slot[i];
		if (slot->used && canfs_bdi_equal(slot->bdi, bdi))
			return slot;
	}
	return NULL;
}

/*
 * Returns an unused slot, or the one whose last request is oldest, or NULL if all are in use. A BDI
 * that loses its slot must scan for all its writers when it returns. That must not happen at each
 * request.
 */
static struct slot *take_slot(struct canfs_accelerator *accelerator, struct canfs_bdi bdi)
{
	uint64_t now = canfs_now_usec();
	struct slot *oldest = NULL;

	for (size_t i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++) {
		struct slot *slot = &accelerator->slot[i];
		bool is_busy = slot->pending || slot->status.busy_since_usec;
		bool in_use = slot->used && now - slot->asked_usec < IDLE_USEC;
		if (!is_busy && !in_use && (!oldest || slot->asked_usec < oldest->asked_usec))
			oldest = slot;
	}
	if (!oldest)
		return NULL;
	if (!oldest->used) {
		oldest->accelerator = accelerator;
		canfs_steady_cond_init(&oldest->wake);
	}
	oldest->bdi = bdi;
	oldest->used = true;
	oldest->fresh = true;
	oldest->status = (struct canfs_accelerate_status) { 0 };
	return oldest;
}

int canfs_accelerate(struct canfs_accelerator *accelerator, struct canfs_bdi bdi,
	uint64_t chunk_bytes, bool hurries)
{
	int ret = 0;

	pthread_mutex_lock(&accelerator->lock);
	struct slot *slot = find_slot(accelerator, bdi);
	if (slot && slot->pending) {
		ret = -EBUSY;
		goto out;
	}
	if (!slot)
		slot = take_slot(accelerator, bdi);
	if (!slot) {
		ret = -ENOBUFS;
		goto out;
	}
	slot->chunk_bytes = chunk_bytes;
	slot->hurries = hurries;
	slot->asked_usec = canfs_now_usec();
	ret = start_helper(slot);
	slot->pending = !ret;
	pthread_cond_signal(&slot->wake);
out:
	pthread_mutex_unlock(&accelerator->lock);
	return ret;
}

void canfs_accelerate_drop_behind(struct canfs_accelerator *accelerator, bool drop)
{
	pthread_mutex_lock(&accelerator->lock);
	accelerator->drop_behind = drop;
	pthread_mutex_unlock(&accelerator->lock);
}

void canfs_accelerate_status(struct canfs_accelerator *accelerator, struct canfs_bdi bdi,
	struct canfs_accelerate_status *status)
{
	memset(status, 0, sizeof(*status));
	pthread_mutex_lock(&accelerator->lock);
	const struct slot *slot = find_slot(accelerator, bdi);
	if (slot) {
		bool fresh = canfs_now_usec() - slot->asked_usec < IDLE_USEC;

		*status = slot->status;
		status->sends = slot->status.sends && fresh;
		status->grows = slot->status.grows && fresh;
		status->busy = slot->pending;
	}
	pthread_mutex_unlock(&accelerator->lock);
}
