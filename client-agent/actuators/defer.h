/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * DEFER (CA-NFS §3.3): raises the flushing point, so that written data stays in this client's
 * memory.
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
 * Two knobs are needed. With the global raise alone, a BDI without recent write-back has a share
 * near 0 of the background, and is flushed at the first tick. Several BDIs split the 90 %, because
 * the sum of all min_ratio must stay below 100. An inode is still flushed once it has been dirty for 30 s.
 *
 * The way back is staged, because lowering the limits below what is dirty blocks writers for
 * seconds: background -> (drain, paced) -> hard limit -> min_ratio.
 */
#ifndef CANFS_CLIENT_AGENT_ACTUATORS_DEFER_H
#define CANFS_CLIENT_AGENT_ACTUATORS_DEFER_H

#include "client-agent/kernel/procfs.h"
#include "client-agent/kernel/tuner.h"

/*
 * Limit of the sum of min_ratio, in %. Each BDI needs at least 1, so this is also the number of
 * deferred BDIs.
 */
#define CANFS_DEFER_SHARE_PCT 90
#define CANFS_DEFER_BDIS_MAX  CANFS_DEFER_SHARE_PCT

struct canfs_defer;

/*
 * Takes over entries of a crashed process in the tuner's journal. The tuner must outlive *defer.
 * Returns 0 or -ENOMEM.
 */
int canfs_defer_new(struct canfs_defer **defer, struct canfs_tuner *tuner);
void canfs_defer_free(struct canfs_defer *defer); /* restores nothing; NULL allowed */

/*
 * Returns how many bytes deferred data may take, > 0: the smaller of hold_pct of all memory, and
 * 55 % of the available memory without the used_bytes of the page cache (cache_worth.h), but at
 * least 10 % of the available memory. Never more than 1 TiB. The result moves in steps, so that the kernel's limits are
 * not rewritten at each tick. Pure.
 */
uint64_t canfs_defer_bound_bytes(
	const struct canfs_meminfo *meminfo, uint64_t used_bytes, unsigned int hold_pct);

/*
 * Lowers the limits one step towards to_bytes; 0 means an eighth of the kernel's own limits.
 * Writers then wait for the server sooner, as a client whose writes are accelerated does (CA-NFS
 * §3.3), and take less from others.
 *
 * The limits are lowered no faster than the dirty memory shrinks, so that no writer stops. Neither
 * limit is set above its original. Steps are at least a sixteenth of a limit. If memory becomes available
 * again, the limits also rise again. Call this only while nothing is raised, and undo it by the
 * restore steps.
 *
 * Returns 0, -EAGAIN while the limit is above its target (call again), or an error of
 * canfs_defer_apply().
 */
int canfs_defer_squeeze(struct canfs_defer *defer, uint64_t to_bytes,
	const struct canfs_meminfo *meminfo, struct canfs_changes *changes);

/* Returns the background limit for a bound. Pure. */
uint64_t canfs_defer_background_bytes(uint64_t bound_bytes);

/*
 * Defers on exactly these mounts, one per BDI. Together they may hold bound_bytes, in equal
 * parts. Call this again when the bound or the set changes; only
 * differing values are written. If the bound shrinks, the limits do not go below what is dirty, so call this again
 * later. n must be 1 ... CANFS_DEFER_BDIS_MAX. To defer on no mount, use the restore steps.
 *
 * Returns 0, or
 * - -EINVAL if n is out of range,
 * - -EROFS or -EACCES if this is not possible here (container), permanently; see
 *   canfs_defer_available(),
 * - -EPERM if a global knob is someone else's,
 * - another -errno.
 *
 * After an error the kernel keeps what was raised, so continue with the restore steps. A BDI whose
 * min_ratio is not ours is reported in changes and otherwise skipped.
 */
int canfs_defer_apply(struct canfs_defer *defer, uint64_t bound_bytes,
	const struct canfs_mount *const mounts[], size_t n, const struct canfs_meminfo *meminfo,
	struct canfs_changes *changes);

/*
 * Returns false once the kernel has refused (read-only /proc/sys), or someone else has changed the
 * limits.
 */
bool canfs_defer_available(const struct canfs_defer *defer);

/* Returns true if any knob of ours is still raised. */
bool canfs_defer_active(const struct canfs_defer *defer);

/*
 * One step back towards the originals. meminfo must be fresh. Lowers the background at most
 * drain_bytes below what is dirty, so that the kernel's own flusher drains that much even without
 * accelerate. If drain_bytes is 0, the background only follows the dirty bytes down.
 *
 * Returns 0 if all knobs are restored. Returns -EAGAIN if more is dirty than the original
 * background allows: drain (accelerate) and call again, about every 100 ms. On another -errno a
 * knob could not be restored; it stays in the journal, and the others are restored.
 */
int canfs_defer_restore_step(struct canfs_defer *defer, const struct canfs_meminfo *meminfo,
	uint64_t drain_bytes, struct canfs_changes *changes);

/*
 * Restores all knobs at once, in the right order, whatever is dirty. Writers may block until the
 * data is drained.
 */
int canfs_defer_restore_force(struct canfs_defer *defer, struct canfs_changes *changes);

/*
 * For canfs-agent --restore: makes restore steps every 100 ms until done or for wait_msec, then
 * restores by force. drain may be NULL. It is called before each further step to ask for that many
 * bytes. Blocks.
 */
int canfs_defer_restore_wait(struct canfs_defer *defer, unsigned int wait_msec,
	uint64_t drain_bytes, void (*drain)(void *data, uint64_t bytes), void *data,
	struct canfs_changes *changes);

#endif
