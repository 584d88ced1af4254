/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The kernel's knobs that the agent may turn. knob.c has one row for each. Only tuner.c may call
 * canfs_knob_write(), because the tuner writes the journal first.
 *
 * dirty_bytes and dirty_ratio zero each other, and so do the two background knobs. The kernel
 * refuses 0 for a *_bytes file with EINVAL. Restore a pair through the knob whose original was not
 * 0.
 */
#ifndef CANFS_CLIENT_AGENT_KERNEL_KNOB_H
#define CANFS_CLIENT_AGENT_KERNEL_KNOB_H

#include "client-agent/kernel/mounts.h"

/*
 * In restore order. The background limits come first, because the kernel does not flush dirty data below a raised one.
 */
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
	bool per_bdi;         /* false: one for the whole system */
	bool holds_writes;    /* restored in stages, as held data drains (defer.h) */
	enum canfs_knob pair; /* the knob that this one zeroes; itself if none */
	uint64_t lowest;      /* bounds for our own values; an original may lie outside */
	uint64_t highest;
};

/* Never NULL for a knob below CANFS_KNOBS. */
const struct canfs_knob_info *canfs_knob_info(enum canfs_knob knob);

/* Returns 0, or -ENOENT if there is no knob with that name. */
int canfs_knob_by_name(const char *name, enum canfs_knob *knob);

/*
 * bdi is ignored for a system-wide knob. Both use read(2) and write(2), because stdio would hide
 * EINVAL. Returns 0, or
 * - -EPROTO if the file holds no number,
 * - -ENOENT if there is no such knob or BDI,
 * - -EROFS or -EACCES in containers,
 * - -EINVAL if the kernel refuses the value,
 * - another -errno.
 */
int canfs_knob_read(const char *root, enum canfs_knob knob, struct canfs_bdi bdi, uint64_t *value);
int canfs_knob_write(const char *root, enum canfs_knob knob, struct canfs_bdi bdi, uint64_t value);

#endif
