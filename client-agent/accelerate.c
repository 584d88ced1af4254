/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "client-agent/accelerate.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "client-agent/flush.h"
#include "client-agent/writers.h"
#include "protocol/clock.h"

#define IDLE_USEC    (CANFS_ACCELERATE_IDLE_MSEC * UINT64_C(1000))
#define PARTIAL_USEC 100000u          /* a scan that met its bound goes on after this */
#define LET_GO_USEC  (10 * IDLE_USEC) /* not asked for so long: the files are closed */
#define STOP_SEC     1

/*
 * Scans of all slots together take at most 1/10 of a CPU, until all processes have been looked at once: data is
 * to be sent now. Then 1/500, since most that write go on writing.
 */
#define FIRST_SCANS_SHARE 10
#define SCANS_SHARE       500

/* One BDI. What the helper needs is set by the loop under the lock and read by it likewise. */
struct slot {
	struct canfs_bdi bdi;
	bool used;
	bool fresh; /* the loop gave the slot to this BDI: the helper's part is another's */
	bool pending;
	uint64_t number; /* of the request: the lowest is served first */
	uint64_t asked_usec;
	uint64_t chunk_bytes;
	struct canfs_accelerate_status status;

	/* The helper's own, without the lock. */
	struct canfs_writers writers;
	uint64_t scanned_usec; /* 0: not yet */
	uint64_t rechecked_usec;
	uint64_t scan_cost_usec;
};

struct canfs_accelerator {
	char *root;
	bool exact;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake; /* a request, or stop */
	pthread_cond_t gone; /* the helper has ended */
	bool stop;
	bool ended;
	uint64_t requests;
	uint64_t busy_since_usec;
	struct slot slot[CANFS_ACCELERATE_BDIS_MAX];
};

static struct timespec after_usec(uint64_t usec)
{
	uint64_t at = canfs_now_usec() + usec;

	return (struct timespec) { (time_t)(at / 1000000), (long)(at % 1000000) * 1000 };
}

static struct slot *next_request(struct canfs_accelerator *accelerator)
{
	struct slot *next = NULL;

	for (size_t i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++) {
		struct slot *slot = &accelerator->slot[i];
		if (slot->pending && (!next || slot->number < next->number))
			next = slot;
	}
	return next;
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
 * Looks for writers if it is time. With thousands of processes a scan is dear, and so the next one comes
 * later. -errno if /proc cannot be read.
 */
static int scan_if_due(struct slot *slot, const char *root, unsigned int in_use, uint64_t now_usec)
{
	uint64_t pause_usec = slot->writers.next_pid ? PARTIAL_USEC : IDLE_USEC;
	unsigned int share = slot->writers.swept ? SCANS_SHARE : FIRST_SCANS_SHARE;
	uint64_t dear_usec = slot->scan_cost_usec * share * in_use, began_usec;
	int ret;

	if (dear_usec > pause_usec)
		pause_usec = dear_usec;
	if (slot->scanned_usec && now_usec - slot->scanned_usec < pause_usec) {
		/* A file that we keep open after its writer makes umount fail, and rm leave .nfs files. */
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

/* Called with the lock, which is let go for all that may block. */
static void serve(struct canfs_accelerator *accelerator, struct slot *slot)
{
	uint64_t chunk = slot->chunk_bytes, now = canfs_now_usec(), asked;
	unsigned int errors = 0, in_use = slots_in_use(accelerator, now);
	struct canfs_bdi bdi = slot->bdi;
	bool fresh = slot->fresh;
	struct canfs_writers *writers = &slot->writers;

	slot->fresh = false;
	accelerator->busy_since_usec = now;
	pthread_mutex_unlock(&accelerator->lock);
	if (fresh) {
		canfs_writers_close(writers);
		canfs_writers_init(writers, bdi);
		slot->scanned_usec = 0;
	}
	errors += scan_if_due(slot, accelerator->root, in_use, now) != 0;
	asked = canfs_flush(writers, chunk, accelerator->exact, &errors);
	pthread_mutex_lock(&accelerator->lock);
	accelerator->busy_since_usec = 0;
	slot->pending = false;
	slot->status.requests++;
	slot->status.asked_bytes += asked;
	slot->status.files = (unsigned int)writers->n;
	slot->status.errors += errors + writers->errors;
	slot->status.truncated += writers->truncated;
	writers->errors = writers->truncated = 0;
}

/* Lets go of files whose writers are gone, so that we keep nothing busy. Lock as in serve(). */
static void tidy(struct canfs_accelerator *accelerator)
{
	for (size_t i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++) {
		struct slot *slot = &accelerator->slot[i];
		uint64_t now = canfs_now_usec();
		bool let_go = now - slot->asked_usec >= LET_GO_USEC;
		if (slot->writers.n == 0 || slot->pending || now - slot->scanned_usec < IDLE_USEC)
			continue;
		accelerator->busy_since_usec = now;
		pthread_mutex_unlock(&accelerator->lock);
		if (let_go)
			canfs_writers_close(&slot->writers);
		else
			canfs_writers_recheck(&slot->writers, accelerator->root);
		pthread_mutex_lock(&accelerator->lock);
		accelerator->busy_since_usec = 0;
		if (!slot->fresh)
			slot->status.files = (unsigned int)slot->writers.n;
	}
}

static bool keeps_files(const struct canfs_accelerator *accelerator)
{
	for (size_t i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++) {
		if (accelerator->slot[i].writers.n > 0)
			return true;
	}
	return false;
}

static void *helper(void *data)
{
	struct canfs_accelerator *accelerator = data;

	pthread_mutex_lock(&accelerator->lock);
	while (!accelerator->stop) {
		struct slot *slot = next_request(accelerator);
		if (slot) {
			serve(accelerator, slot);
		} else if (keeps_files(accelerator)) {
			struct timespec until = after_usec(IDLE_USEC);
			pthread_cond_timedwait(&accelerator->wake, &accelerator->lock, &until);
			tidy(accelerator);
		} else {
			pthread_cond_wait(&accelerator->wake, &accelerator->lock);
		}
	}
	pthread_mutex_unlock(&accelerator->lock);
	for (size_t i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++)
		canfs_writers_close(&accelerator->slot[i].writers);
	pthread_mutex_lock(&accelerator->lock);
	accelerator->ended = true;
	pthread_cond_signal(&accelerator->gone);
	pthread_mutex_unlock(&accelerator->lock);
	return NULL;
}

static void destroy(struct canfs_accelerator *accelerator)
{
	pthread_cond_destroy(&accelerator->wake);
	pthread_cond_destroy(&accelerator->gone);
	pthread_mutex_destroy(&accelerator->lock);
	free(accelerator->root);
	free(accelerator);
}

int canfs_accelerator_new(struct canfs_accelerator **accelerator, const char *root)
{
	struct canfs_accelerator *made = calloc(1, sizeof(*made));
	pthread_condattr_t attr;

	if (!made)
		return -ENOMEM;
	pthread_mutex_init(&made->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&made->wake, &attr);
	pthread_cond_init(&made->gone, &attr);
	pthread_condattr_destroy(&attr);
	made->exact = canfs_flush_exact();
	made->root = strdup(root);
	int err = made->root ? -pthread_create(&made->thread, NULL, helper, made) : -ENOMEM;
	if (err)
		destroy(made);
	else
		*accelerator = made;
	return err;
}

void canfs_accelerator_free(struct canfs_accelerator *accelerator)
{
	if (!accelerator)
		return;
	struct timespec until = after_usec(STOP_SEC * UINT64_C(1000000));
	int late = 0;

	pthread_mutex_lock(&accelerator->lock);
	accelerator->stop = true;
	pthread_cond_signal(&accelerator->wake);
	while (!accelerator->ended && !late)
		late = pthread_cond_timedwait(&accelerator->gone, &accelerator->lock, &until);
	bool ended = accelerator->ended;
	pthread_mutex_unlock(&accelerator->lock);
	if (!ended) {
		pthread_detach(accelerator->thread);
		return; /* it still uses the memory */
	}
	pthread_join(accelerator->thread, NULL);
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

/* An unused slot, or the one that was not asked for longest; NULL if all have a request. */
static struct slot *take_slot(struct canfs_accelerator *accelerator, struct canfs_bdi bdi)
{
	struct slot *oldest = NULL;

	for (size_t i = 0; i < CANFS_ACCELERATE_BDIS_MAX; i++) {
		struct slot *slot = &accelerator->slot[i];
		if (!slot->pending && (!oldest || slot->asked_usec < oldest->asked_usec))
			oldest = slot;
	}
	if (oldest) {
		oldest->bdi = bdi;
		oldest->used = true;
		oldest->fresh = true;
		oldest->status = (struct canfs_accelerate_status) { 0 };
	}
	return oldest;
}

int canfs_accelerate(
	struct canfs_accelerator *accelerator, struct canfs_bdi bdi, uint64_t chunk_bytes)
{
	int err = 0;

	if (chunk_bytes == 0)
		return -EINVAL;
	pthread_mutex_lock(&accelerator->lock);
	struct slot *slot = find_slot(accelerator, bdi);
	if (slot && slot->pending) {
		err = -EBUSY;
		goto out;
	}
	if (!slot)
		slot = take_slot(accelerator, bdi);
	if (!slot) {
		err = -ENOBUFS;
		goto out;
	}
	slot->chunk_bytes = chunk_bytes;
	slot->number = accelerator->requests++;
	slot->asked_usec = canfs_now_usec();
	slot->pending = true;
	pthread_cond_signal(&accelerator->wake);
out:
	pthread_mutex_unlock(&accelerator->lock);
	return err;
}

void canfs_accelerate_status(struct canfs_accelerator *accelerator, struct canfs_bdi bdi,
	struct canfs_accelerate_status *status)
{
	memset(status, 0, sizeof(*status));
	pthread_mutex_lock(&accelerator->lock);
	const struct slot *slot = find_slot(accelerator, bdi);
	if (slot) {
		*status = slot->status;
		status->busy = slot->pending;
	}
	status->busy_since_usec = accelerator->busy_since_usec;
	pthread_mutex_unlock(&accelerator->lock);
}

bool canfs_accelerate_exact(const struct canfs_accelerator *accelerator)
{
	return accelerator->exact;
}
