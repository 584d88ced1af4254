/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/disk/control.h"

#define SCALE_MAX 1000.0

static int set_scale(struct canfs_queue *q, const char *value)
{
	char *end;
	double scale = strtod(value, &end);

	if (*end || !(scale > 0 && scale <= SCALE_MAX))
		return -EINVAL;
	canfs_clock_set_scale(&q->clock, scale);
	return 0;
}

static int obey(struct canfs_queue *q, const char *word)
{
	if (!strcmp(word, "mode=free")) {
		q->mode = CANFS_DISK_FREE;
	} else if (!strcmp(word, "mode=hdd")) {
		q->mode = CANFS_DISK_HDD;
	} else if (!strcmp(word, "reset")) {
		memset(&q->stats, 0, sizeof(q->stats));
		memset(&q->drive.stats, 0, sizeof(q->drive.stats));
	} else if (!strcmp(word, "flushcache")) {
		canfs_drive_drop_buffers(&q->drive);
	} else if (!strncmp(word, "scale=", 6)) {
		return set_scale(q, word + 6);
	} else {
		return -EINVAL;
	}
	return 0;
}

int canfs_disk_control(struct canfs_queue *q, const char *text, size_t bytes)
{
	char line[256], *rest = NULL;
	int err = 0;

	if (bytes >= sizeof(line))
		return -EINVAL;
	memcpy(line, text, bytes);
	line[bytes] = '\0';
	pthread_mutex_lock(&q->lock);
	for (char *word = strtok_r(line, " \t\n", &rest); word && !err;
		word = strtok_r(NULL, " \t\n", &rest))
		err = obey(q, word);
	pthread_mutex_unlock(&q->lock);
	return err;
}

size_t canfs_disk_stat(struct canfs_queue *q, char *text, size_t size)
{
	const struct canfs_queue_stats *s = &q->stats;
	const struct canfs_drive *d = &q->drive;
	double requests;
	int n;

	pthread_mutex_lock(&q->lock);
	requests = (double)(s->requests[CANFS_REQUEST_READ] + s->requests[CANFS_REQUEST_WRITE] +
			    s->requests[CANFS_REQUEST_FLUSH]);
	if (requests == 0)
		requests = 1;
	n = snprintf(text, size,
		"{\"mode\": \"%s\", \"scale\": %g, \"reads\": %llu, \"writes\": %llu, "
		"\"flushes\": %llu, \"read_bytes\": %llu, \"write_bytes\": %llu, "
		"\"buffer_hits\": %llu, \"seeks\": %llu, \"slices\": %llu, \"cached_bytes\": %llu, "
		"\"head_busy_seconds\": %.3f, \"flush_max_ms\": %.1f, \"depth_mean\": %.2f, "
		"\"depth_max\": %u, \"late_mean_usec\": %.1f, \"late_max_usec\": %.1f, "
		"\"used_bytes\": %llu}\n",
		q->mode == CANFS_DISK_HDD ? "hdd" : "free", q->clock.scale,
		(unsigned long long)s->requests[CANFS_REQUEST_READ],
		(unsigned long long)s->requests[CANFS_REQUEST_WRITE],
		(unsigned long long)s->requests[CANFS_REQUEST_FLUSH],
		(unsigned long long)s->bytes[CANFS_REQUEST_READ],
		(unsigned long long)s->bytes[CANFS_REQUEST_WRITE],
		(unsigned long long)d->stats.buffer_hits, (unsigned long long)d->stats.seeks,
		(unsigned long long)d->stats.slices, (unsigned long long)d->wcache.bytes,
		d->stats.head_busy_usec / 1e6, d->stats.flush_max_usec / 1e3,
		(double)s->depth_sum / requests, s->depth_max, s->late_sum_usec / requests,
		s->late_max_usec, (unsigned long long)q->store.used_bytes);
	pthread_mutex_unlock(&q->lock);
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}
