// SPDX-License-Identifier: LGPL-3.0-or-later
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "bench/disk/device.h"
#include "bench/disk/tags.h"

const char *const canfs_disk_mode_names[CANFS_DISK_MODES] = {
	[CANFS_DISK_FREE] = "free",
	[CANFS_DISK_HDD] = "hdd",
	[CANFS_DISK_HDD_NCQ] = "hdd-ncq",
	[CANFS_DISK_SSD] = "ssd",
};

void canfs_device_init(struct canfs_disk_model *d, uint64_t capacity_bytes)
{
	memset(d, 0, sizeof(*d));
	canfs_drive_init(&d->drive, capacity_bytes);
	canfs_ssd_init(&d->ssd);
	d->waiting_tail = &d->waiting;
}

void canfs_device_drop_buffers(struct canfs_disk_model *d)
{
	canfs_drive_drop_buffers(&d->drive);
	canfs_ssd_init(&d->ssd);
}

void canfs_device_reset_stats(struct canfs_disk_model *d)
{
	memset(&d->stats, 0, sizeof(d->stats));
	memset(&d->drive.stats, 0, sizeof(d->drive.stats));
}

static bool has_one_head(const struct canfs_disk_model *d)
{
	return d->mode == CANFS_DISK_HDD || d->mode == CANFS_DISK_HDD_NCQ;
}

static double drive_due(struct canfs_drive *d, const struct canfs_command *c)
{
	switch (c->kind) {
	case CANFS_COMMAND_READ:
		return canfs_drive_read(d, c->offset, c->bytes, c->arrival_usec);
	case CANFS_COMMAND_WRITE:
		return canfs_drive_write(d, c->offset, c->bytes, c->arrival_usec);
	case CANFS_COMMAND_FLUSH:
		break;
	}
	return canfs_drive_flush(d, c->arrival_usec);
}

static double ssd_due(struct canfs_ssd *s, const struct canfs_command *c)
{
	switch (c->kind) {
	case CANFS_COMMAND_READ:
		return canfs_ssd_read(s, c->bytes, c->arrival_usec);
	case CANFS_COMMAND_WRITE:
		return canfs_ssd_write(s, c->bytes, c->arrival_usec);
	case CANFS_COMMAND_FLUSH:
		break;
	}
	return canfs_ssd_flush(s, c->arrival_usec);
}

static double due(struct canfs_disk_model *d, const struct canfs_command *c)
{
	if (has_one_head(d))
		return drive_due(&d->drive, c);
	return d->mode == CANFS_DISK_SSD ? ssd_due(&d->ssd, c) : c->arrival_usec;
}

static struct canfs_command *take_waiting(struct canfs_disk_model *d, struct canfs_command **link)
{
	struct canfs_command *c = *link;

	*link = c->next;
	if (d->waiting_tail == &c->next)
		d->waiting_tail = link;
	d->stats.reordered += link != &d->waiting;
	return c;
}

static void start(struct canfs_disk_model *d, struct canfs_command *c)
{
	struct canfs_command **link = &d->started;

	c->due_usec = due(d, c);
	while (*link && (*link)->due_usec <= c->due_usec)
		link = &(*link)->next;
	c->next = *link;
	*link = c;
}

static void start_waiting(struct canfs_disk_model *d)
{
	while (d->waiting && !(has_one_head(d) && d->started)) {
		struct canfs_command **next = &d->waiting;

		if (d->mode == CANFS_DISK_HDD_NCQ)
			next = canfs_tags_pick(&d->drive, next);
		start(d, take_waiting(d, next));
	}
}

void canfs_device_set_mode(struct canfs_disk_model *d, enum canfs_disk_mode mode)
{
	d->mode = mode;
	start_waiting(d);
}

void canfs_device_add(struct canfs_disk_model *d, struct canfs_command *c)
{
	c->next = NULL;
	*d->waiting_tail = c;
	d->waiting_tail = &c->next;
	if (d->outstanding++ == 0)
		d->busy_since_usec = c->arrival_usec;
	d->stats.commands[c->kind]++;
	d->stats.bytes[c->kind] += c->bytes;
	d->stats.depth_sum += d->outstanding;
	if (d->outstanding > d->stats.depth_max)
		d->stats.depth_max = d->outstanding;
	start_waiting(d);
}

double canfs_device_due_usec(const struct canfs_disk_model *d)
{
	if (!d->started)
		return INFINITY;
	return d->mode == CANFS_DISK_FREE ? -INFINITY : d->started->due_usec;
}

struct canfs_command *canfs_device_take(struct canfs_disk_model *d, double now_usec)
{
	struct canfs_command *c = d->started;

	if (canfs_device_due_usec(d) > now_usec)
		return NULL;
	d->started = c->next;
	c->due_usec = fmin(c->due_usec, now_usec);
	if (--d->outstanding == 0)
		d->stats.busy_usec += fmax(0, c->due_usec - d->busy_since_usec);
	start_waiting(d);
	return c;
}
