/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The disk with its queue, without threads, clocks and FUSE. Commands are added and complete when
 * the model says so.
 *
 *	add --> waiting, by arrival --start--> started, by due time --take--> done
 *
 *	mode      commands started at once
 *	free      all; each completes immediately, for setting up
 *	hdd       one, the oldest (no tagged queueing)
 *	hdd-ncq   one, chosen by tags.h
 *	ssd       all
 *
 * Time is model time and never goes backwards. A caller that takes commands late does not delay the
 * model: the next command starts when the previous one was due. Pure; the caller owns the commands.
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
	uint64_t depth_sum; /* outstanding commands when a command arrived, including it */
	unsigned int depth_max;
	uint64_t reordered; /* commands started before an older one */
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

/* Initializes in place. The structure must not be moved. */
void canfs_device_init(struct canfs_disk_model *device, uint64_t capacity_bytes);

/* Sets the mode. Started commands keep their due times; in mode free they complete immediately. */
void canfs_device_set_mode(struct canfs_disk_model *device, enum canfs_disk_mode mode);

/* Empties the buffers, for use between two runs of an experiment. */
void canfs_device_drop_buffers(struct canfs_disk_model *device);

/* Sets all counters to 0, including the drive's. */
void canfs_device_reset_stats(struct canfs_disk_model *device);

/*
 * Adds a command with kind, offset, bytes and arrival_usec. Commands must be added in order of
 * arrival.
 */
void canfs_device_add(struct canfs_disk_model *device, struct canfs_command *command);

/* When the next command completes. INFINITY: none is outstanding. */
double canfs_device_due_usec(const struct canfs_disk_model *device);

/* Takes the earliest command that is done at now_usec. NULL: none is. */
struct canfs_command *canfs_device_take(struct canfs_disk_model *device, double now_usec);

#endif
