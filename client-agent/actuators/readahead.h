/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * READ-AHEAD (CA-NFS §2.2): how far the client reads ahead on a BDI, by read_ahead_kb.
 *
 * A change reaches files that are opened after it. Never below 64 KiB: at 0 a sequential reader
 * behind 5 ms of delay falls from 45 to 0.7 MB/s. nfs-utils' udev rule (nfsrahead) sets the knob a
 * moment after a mount appears; the tuner takes that for someone else's if it comes after ours: let
 * a mount be some seconds old first.
 */
#ifndef CANFS_CLIENT_AGENT_ACTUATORS_READAHEAD_H
#define CANFS_CLIENT_AGENT_ACTUATORS_READAHEAD_H

#include "client-agent/kernel/tuner.h"

#define CANFS_READAHEAD_LOWEST_KIB 64

/*
 * The nearest allowed value: in [min_kib, max_kib], min_kib taken as at least 64, a multiple of 4
 * (rounded down). max_kib below min_kib counts as min_kib.
 */
unsigned int canfs_readahead_clamp(
	unsigned int want_kib, unsigned int min_kib, unsigned int max_kib);

/*
 * Sets want_kib, clamped. A change of less than a quarter of the present value is not made unless
 * it reaches min_kib or max_kib. The caller passes NFS mounts only. Errors: canfs_knob_set()'s.
 */
int canfs_readahead_set(struct canfs_tuner *tuner, const struct canfs_mount *mount,
	unsigned int want_kib, unsigned int min_kib, unsigned int max_kib,
	struct canfs_changes *changes);

/* The BDI's original back. Errors: canfs_knob_restore()'s. */
int canfs_readahead_restore(
	struct canfs_tuner *tuner, struct canfs_bdi bdi, struct canfs_changes *changes);

#endif
