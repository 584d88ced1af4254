// SPDX-License-Identifier: LGPL-3.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/disk/control.h"

#define SCALE_MAX 1000.0

static int set_scale(struct canfs_disk_threads *q, const char *value)
{
	char *end;
	double scale = strtod(value, &end);

	if (*end || !(scale > 0 && scale <= SCALE_MAX))
		return -EINVAL;
	canfs_clock_set_scale(&q->clock, scale);
	return 0;
}

static int set_mode(struct canfs_disk_threads *q, const char *name)
{
	for (int i = 0; i < CANFS_DISK_MODES; i++) {
		if (strcmp(name, canfs_disk_mode_names[i]) != 0)
			continue;
		canfs_device_set_mode(&q->device, (enum canfs_disk_mode)i);
		return 0;
	}
	return -EINVAL;
}

static int power_cut(struct canfs_disk_threads *q, const char *value, bool again)
{
	char *end;
	unsigned long seed = strtoul(value, &end, 10);

	if (*value < '0' || *value > '9' || *end || seed > UINT32_MAX)
		return -EINVAL;
	if (again)
		return canfs_queue_power_recut(q, (uint32_t)seed);
	canfs_queue_power_cut(q, (uint32_t)seed);
	return 0;
}

static int fail(struct canfs_disk_threads *q, const char *value)
{
	int ret = 0;

	pthread_mutex_lock(&q->medium_lock);
	if (!strcmp(value, "none"))
		q->faults.n = 0;
	else
		ret = canfs_faults_add(&q->faults, value);
	pthread_mutex_unlock(&q->medium_lock);
	return ret;
}

static int obey(struct canfs_disk_threads *q, const char *word)
{
	if (!strncmp(word, "mode=", 5))
		return set_mode(q, word + 5);
	if (!strncmp(word, "scale=", 6))
		return set_scale(q, word + 6);
	if (!strncmp(word, "powercut=", 9))
		return power_cut(q, word + 9, false);
	if (!strncmp(word, "recut=", 6))
		return power_cut(q, word + 6, true);
	if (!strncmp(word, "fail=", 5))
		return fail(q, word + 5);
	if (!strcmp(word, "poweron")) {
		canfs_queue_power_on(q);
	} else if (!strcmp(word, "reset")) {
		canfs_device_reset_stats(&q->device);
		q->late = (struct canfs_lateness) { 0 };
	} else if (!strcmp(word, "flushcache")) {
		canfs_device_drop_buffers(&q->device);
	} else {
		return -EINVAL;
	}
	return 0;
}

int canfs_disk_control(struct canfs_disk_threads *q, const char *text, size_t bytes)
{
	char line[256], *rest = NULL;
	int ret = 0;

	if (bytes >= sizeof(line))
		return -EINVAL;
	memcpy(line, text, bytes);
	line[bytes] = '\0';
	pthread_mutex_lock(&q->lock);
	for (char *word = strtok_r(line, " \t\n", &rest); word && !ret;
		word = strtok_r(NULL, " \t\n", &rest))
		ret = obey(q, word);
	/* due times may have changed */
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
	return ret;
}

/* Returns 0 if n is 0. */
static double mean(double sum, uint64_t n)
{
	return n ? sum / (double)n : 0;
}

size_t canfs_disk_stat(struct canfs_disk_threads *q, char *text, size_t size)
{
	const struct canfs_device_stats *s = &q->device.stats;
	const struct canfs_drive *d = &q->device.drive;
	uint64_t commands = 0;
	int n;

	pthread_mutex_lock(&q->lock);
	pthread_mutex_lock(&q->medium_lock);
	for (int i = 0; i < CANFS_COMMAND_KINDS; i++)
		commands += s->commands[i];
	n = snprintf(text, size,
		"{\"mode\": \"%s\", \"scale\": %g, \"reads\": %llu, \"writes\": %llu, "
		"\"flushes\": %llu, \"read_bytes\": %llu, \"write_bytes\": %llu, "
		"\"buffer_hits\": %llu, \"lookahead_hits\": %llu, \"seeks\": %llu, "
		"\"slices\": %llu, \"cached_bytes\": %llu, \"busy_seconds\": %.3f, "
		"\"head_busy_seconds\": %.3f, \"flush_max_ms\": %.1f, \"depth_mean\": %.2f, "
		"\"depth_max\": %u, \"reordered\": %llu, \"late_mean_usec\": %.1f, "
		"\"late_max_usec\": %.1f, \"used_bytes\": %llu, \"volatile_bytes\": %llu, "
		"\"cut_sectors\": %llu, \"lost_sectors\": %llu, \"errors\": %llu}\n",
		canfs_disk_mode_names[q->device.mode], q->clock.scale,
		(unsigned long long)s->commands[CANFS_COMMAND_READ],
		(unsigned long long)s->commands[CANFS_COMMAND_WRITE],
		(unsigned long long)s->commands[CANFS_COMMAND_FLUSH],
		(unsigned long long)s->bytes[CANFS_COMMAND_READ],
		(unsigned long long)s->bytes[CANFS_COMMAND_WRITE],
		(unsigned long long)d->stats.buffer_hits,
		(unsigned long long)d->stats.lookahead_hits, (unsigned long long)d->stats.seeks,
		(unsigned long long)d->stats.slices, (unsigned long long)d->wcache.bytes,
		s->busy_usec / 1e6, d->stats.head_busy_usec / 1e6, d->stats.flush_max_usec / 1e3,
		mean((double)s->depth_sum, commands), s->depth_max,
		(unsigned long long)s->reordered, mean(q->late.sum_usec, q->late.commands),
		q->late.max_usec, (unsigned long long)q->store.used_bytes,
		(unsigned long long)q->written.unflushed.bytes, (unsigned long long)q->cut.sectors,
		(unsigned long long)q->cut.lost_sectors, (unsigned long long)q->errors);
	pthread_mutex_unlock(&q->medium_lock);
	pthread_mutex_unlock(&q->lock);
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}
