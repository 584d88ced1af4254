/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The disk with its queue, apart from threads, clocks and FUSE: commands come in, and are done when
 * the model says so.
 *
 *	add --> waiting, by arrival --start--> started, by due time --take--> done
 *
 *	mode      commands that are started at once
 *	free      all, and each is done at once: for setting up
 *	hdd       one, the oldest (no tagged queueing)
 *	hdd-ncq   one, chosen by tags.h
 *	ssd       all
 *
 * Time is model time and never goes backwards. A caller that takes commands late does not delay the
 * model: the next one starts when the one before was due. Pure; the commands are the caller's.
 */
#ifndef CANFS_BENCH_DISK_DEVICE_H
#define CANFS_BENCH_DISK_DEVICE_H

#include "bench/disk/command.h"
#include "bench/disk/drive.h"
#include "bench/disk/ssd.h"

enum canfs_disk_mode {
	CANFS_DISK_FREE,
	CANFS_DISK_HDD,
	CANFS_DISK_HDD_NCQ,
	CANFS_DISK_SSD,
};
#define CANFS_DISK_MODES 4

extern const char *const canfs_disk_mode_names[CANFS_DISK_MODES];

struct canfs_device_stats {
	uint64_t commands[CANFS_COMMAND_KINDS];
	uint64_t bytes[CANFS_COMMAND_KINDS];
	uint64_t depth_sum; /* commands outstanding when one came, itself included */
	unsigned int depth_max;
	uint64_t reordered; /* commands that were started before an older one */
	double busy_usec;   /* with a command outstanding */
};

struct canfs_disk_model {
	enum canfs_disk_mode mode;
	struct canfs_drive drive;
	struct canfs_ssd ssd;
	struct canfs_command *waiting, **waiting_tail, *started;
	unsigned int outstanding;
	double busy_since_usec;
	struct canfs_device_stats stats;
};

/* In place: the structure must not be moved. */
void canfs_device_init(struct canfs_disk_model *device, uint64_t capacity_bytes);

/* What was started stays as it is; to mode free: it is done at once. */
void canfs_device_set_mode(struct canfs_disk_model *device, enum canfs_disk_mode mode);

/* Forget what the buffers hold (between two runs of an experiment). */
void canfs_device_drop_buffers(struct canfs_disk_model *device);

/* All counters to 0, the drive's too. */
void canfs_device_reset_stats(struct canfs_disk_model *device);

/* kind, offset, bytes and arrival_usec are set; it arrives after those before it. */
void canfs_device_add(struct canfs_disk_model *device, struct canfs_command *command);

/* When the next command is done; INFINITY if none is outstanding. */
double canfs_device_due_usec(const struct canfs_disk_model *device);

/* A command that is done at now_usec, the earliest first, or NULL. */
struct canfs_command *canfs_device_take(struct canfs_disk_model *device, double now_usec);

#endif
