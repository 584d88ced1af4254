/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * DEFER (CA-NFS §3.3): raise the flushing point, so that what applications write stays here.
 *
 *	      stock                      deferring bound_bytes
 *	  |  hard limit (20 %)         |  hard limit = 1.15 x background     raised first
 *	  |                            |  (background + limit) / 2           writers throttled above
 *	  |                            |  background = bound / 0.9           raised second
 *	  |                            |  bound = 90 % of it, by min_ratio   per BDI, third
 *	  |  background (10 %)         |
 *	  |  share of this BDI         |
 *	  0                            0
 *
 * Two knobs are needed: with the global raise alone, a BDI that had no write-back lately has a
 * share near 0 of the background and is flushed at the first tick. Several BDIs split the 90 %
 * (their min_ratio must stay below 100 in sum). The age of an inode (30 s) flushes it all the same.
 *
 * The way back is staged, because lowering the limits below what is dirty blocks writers for
 * seconds: background -> (drain, paced) -> hard limit -> min_ratio.
 */
#ifndef CANFS_CLIENT_AGENT_ACTUATORS_DEFER_H
#define CANFS_CLIENT_AGENT_ACTUATORS_DEFER_H

#include "client-agent/kernel/procfs.h"
#include "client-agent/kernel/tuner.h"

/* min_ratio is shared out up to this; as many BDIs can be deferred at once. */
#define CANFS_DEFER_SHARE_PCT 90
#define CANFS_DEFER_BDIS_MAX  CANFS_DEFER_SHARE_PCT

struct canfs_defer;

/*
 * Takes over what the tuner's journal holds from a crashed process. 0, -ENOMEM. The tuner must
 * outlive it.
 */
int canfs_defer_new(struct canfs_defer **defer, struct canfs_tuner *tuner);
void canfs_defer_free(struct canfs_defer *defer); /* restores nothing; NULL allowed */

/*
 * What deferred data may take: a share of memory, but not what programs and huge pages have taken, nor the
 * used_bytes of the page cache (cache_worth.h), nor
 * more than the knobs' own bounds allow. In steps, so that the kernel's limits are not written anew at each tick.
 * > 0; pure.
 */
uint64_t canfs_defer_bound_bytes(
	const struct canfs_meminfo *meminfo, uint64_t used_bytes, unsigned int hold_pct);

/*
 * One step towards to_bytes, or for 0 an eighth of the kernel's own limits: writers then wait sooner for the server, as
 * one whose writes are accelerated does (CA-NFS §3.3), and take less from others. Lowers no faster than what is dirty
 * falls, so that no writer stops; neither limit is set above its original. In steps of a sixteenth, also up again when
 * memory comes back. Only while nothing is raised; back by the restore steps. -EAGAIN: more is dirty than that: call
 * again; else as canfs_defer_apply().
 */
int canfs_defer_squeeze(struct canfs_defer *defer, uint64_t to_bytes,
	const struct canfs_meminfo *meminfo, struct canfs_changes *changes);

/* The two limits for a bound; pure. */
uint64_t canfs_defer_background_bytes(uint64_t bound_bytes);

/*
 * Defers on exactly these mounts (one per BDI), which may hold bound_bytes together, in parts as their
 * shares (>= 1; NULL: all alike) have it. Call it again
 * when the bound or the set changes; it only writes what differs. A lower bound is not pushed below
 * what is dirty (call again later). n must be 1 ... CANFS_DEFER_BDIS_MAX (else -EINVAL); for none
 * use the restore steps. 0; -EROFS or -EACCES: not possible here (container), for good: see
 * canfs_defer_available(); -EPERM: a global knob is someone else's; else -errno. On an error the
 * kernel is left with whatever was raised: go on with the restore steps. A BDI whose min_ratio is
 * not ours is reported in changes and otherwise skipped.
 */
int canfs_defer_apply(struct canfs_defer *defer, uint64_t bound_bytes,
	const struct canfs_mount *const mounts[], const unsigned int shares[], size_t n,
	const struct canfs_meminfo *meminfo, struct canfs_changes *changes);

/* false once the kernel has refused (read-only /proc/sys) or someone else has taken the limits. */
bool canfs_defer_available(const struct canfs_defer *defer);

/* Is any knob of ours still raised? */
bool canfs_defer_active(const struct canfs_defer *defer);

/*
 * One step back towards the originals. meminfo is fresh. 0: all is as it was; -EAGAIN: more is
 * dirty than the original background allows: drain (accelerate) and call again, every 100 ms or
 * so. Lowers the background by no more than drain_bytes below what is dirty, so that the kernel's
 * own flusher drains that much even without accelerate; 0: it only follows the dirty bytes down.
 * Other -errno: a knob could not be put back; it stays in the journal, the others are done.
 */
int canfs_defer_restore_step(struct canfs_defer *defer, const struct canfs_meminfo *meminfo,
	uint64_t drain_bytes, struct canfs_changes *changes);

/* All back at once, in the right order, whatever is dirty. Writers may block until it is drained. */
int canfs_defer_restore_force(struct canfs_defer *defer, struct canfs_changes *changes);

/*
 * For canfs-agent --restore: steps every 100 ms until done or for wait_msec, then by force.
 * drain, if not NULL, is called before each further step to ask for that many bytes. Blocks.
 */
int canfs_defer_restore_wait(struct canfs_defer *defer, unsigned int wait_msec,
	uint64_t drain_bytes, void (*drain)(void *data, uint64_t bytes), void *data,
	struct canfs_changes *changes);

#endif
