/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The kernel's knobs that the agent may turn, one row each in knob.c, and how to read and write
 * one. Nothing outside tuner.c calls canfs_knob_write(): the tuner journals first.
 *
 * dirty_bytes and dirty_ratio zero each other, and so do the background pair. 0 cannot be written
 * to a *_bytes file (EINVAL): a pair is put back through the one of the two that was not 0.
 */
#ifndef CANFS_CLIENT_AGENT_KERNEL_KNOB_H
#define CANFS_CLIENT_AGENT_KERNEL_KNOB_H

#include "client-agent/kernel/mounts.h"

/* In the order in which they are put back: nobody flushes below a background that is still raised. */
enum canfs_knob {
	CANFS_KNOB_BACKGROUND_BYTES,
	CANFS_KNOB_BACKGROUND_RATIO,
	CANFS_KNOB_DIRTY_BYTES,
	CANFS_KNOB_DIRTY_RATIO,
	CANFS_KNOB_MIN_RATIO,
	CANFS_KNOB_READ_AHEAD,
	CANFS_KNOBS
};

struct canfs_knob_info {
	const char *name;     /* also in the journal and the log: "dirty_bytes" */
	const char *path;     /* below the root; per BDI: the file's name in /sys/class/bdi/M:N */
	const char *unit;     /* "bytes", "%", "KiB" */
	bool per_bdi;         /* else one for the whole system */
	bool holds_writes;    /* put back in stages, as what it holds back leaves (defer.h) */
	enum canfs_knob pair; /* the knob that it zeroes; itself if none */
	uint64_t lowest;      /* what we may set; putting an original back is not bound by it */
	uint64_t highest;
};

/* Never NULL for a knob below CANFS_KNOBS. */
const struct canfs_knob_info *canfs_knob_info(enum canfs_knob knob);

/* 0, or -ENOENT if there is no knob of that name. */
int canfs_knob_by_name(const char *name, enum canfs_knob *knob);

/*
 * bdi is not looked at for a knob of the whole system. 0; -EPROTO if the file holds no number;
 * -ENOENT (no such knob or BDI); -EROFS, -EACCES (containers); -EINVAL from the kernel; else -errno.
 * Done with read(2) and write(2), since shells and stdio hide EINVAL.
 */
int canfs_knob_read(const char *root, enum canfs_knob knob, struct canfs_bdi bdi, uint64_t *value);
int canfs_knob_write(const char *root, enum canfs_knob knob, struct canfs_bdi bdi, uint64_t value);

#endif
