/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * READ-AHEAD (CA-NFS §2.2): how far the client reads ahead on a BDI, by read_ahead_kb.
 *
 * A change reaches only files that are opened after it. The value is never below 64 KiB: at 0 a
 * sequential reader behind 5 ms of delay falls from 45 to 0.7 MB/s. nfs-utils' udev rule
 * (nfsrahead) sets the knob a moment after a mount appears. If that happens after our write, the
 * tuner yields the knob. So wait until a mount is some seconds old.
 */
#ifndef CANFS_CLIENT_AGENT_ACTUATORS_READAHEAD_H
#define CANFS_CLIENT_AGENT_ACTUATORS_READAHEAD_H

#include "client-agent/kernel/tuner.h"

#define CANFS_READAHEAD_LOWEST_KIB 64

/*
 * Returns the nearest allowed value: in [min_kib, max_kib] and a multiple of 4 (rounded down). A
 * min_kib below 64 counts as 64, and a max_kib below min_kib counts as min_kib.
 */
unsigned int canfs_readahead_clamp(
	unsigned int want_kib, unsigned int min_kib, unsigned int max_kib);

/*
 * Sets want_kib, clamped. A change of less than a quarter of the present value is not made, unless
 * it reaches min_kib or max_kib. mount must be an NFS mount. Returns 0 or an error of
 * canfs_knob_set().
 */
int canfs_readahead_set(struct canfs_tuner *tuner, const struct canfs_mount *mount,
	unsigned int want_kib, unsigned int min_kib, unsigned int max_kib,
	struct canfs_changes *changes);

/* Restores the BDI's original. Returns 0 or an error of canfs_knob_restore(). */
int canfs_readahead_restore(
	struct canfs_tuner *tuner, struct canfs_bdi bdi, struct canfs_changes *changes);

#endif
