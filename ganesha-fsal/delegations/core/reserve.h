/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The space that the server has promised to clients with write delegations (nfs_space_limit4, RFC
 * 8881 §18.16.3). Data that a client still has after close(2) must fit, because no program would
 * see an error. Pure, without I/O; from any thread.
 *
 *	account     a resource that can run out: the space of a file system, or the quota of a user,
 *	            group or project there
 *	charge      the space promised by one delegation, in each account that its file's blocks are
 *	            charged to
 *
 *	            promised to granted delegations    one more       margin
 *	left  |------------------------------------|--------------|------------|  or it is refused
 *	      |------------------------------------|---------|  or all of the account's are recalled
 *	                                             half the margin
 */
#ifndef CANFS_GANESHA_FSAL_DELEGATIONS_CORE_RESERVE_H
#define CANFS_GANESHA_FSAL_DELEGATIONS_CORE_RESERVE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Others may use half of the margin between two checks of an account, and until the recalled
 * clients have written.
 */
#define CANFS_RESERVE_MARGIN_BYTES (UINT64_C(32) << 20)
#define CANFS_UNLIMITED            UINT64_MAX
#define CANFS_ACCOUNTS_MAX         4096 /* further ones are refused */

enum canfs_account_kind {
	CANFS_ACCOUNT_SPACE, /* the file system's space; the others are quotas */
	CANFS_ACCOUNT_USER,
	CANFS_ACCOUNT_GROUP,
	CANFS_ACCOUNT_PROJECT,
	CANFS_ACCOUNT_KINDS
};

struct canfs_account {
	uint64_t fs; /* number of its device */
	uint32_t kind, id;
};

struct canfs_reserve;

/* NULL: no memory. */
struct canfs_reserve *canfs_reserve_new(void);
void canfs_reserve_free(struct canfs_reserve *reserve); /* NULL allowed */

/*
 * The space that a client may need for one file: limit_bytes in dirty pages. In a sparse file, each
 * page may need a block and an indirect block.
 */
uint64_t canfs_reserve_need(uint64_t limit_bytes, uint64_t block_bytes);

struct canfs_charge {
	const void *name; /* identifies the delegation */
	uint64_t file;
	uint64_t need_bytes;
	unsigned int accounts;
	struct canfs_account account[CANFS_ACCOUNT_KINDS];
	/* In each account, including the reserve; or CANFS_UNLIMITED. */
	uint64_t left_bytes[CANFS_ACCOUNT_KINDS];
};

/*
 * Replaces a charge of the same name. Returns 0, -ENOMEM, or -ENOSPC or -EDQUOT if the charge does
 * not fit into an account.
 */
int canfs_reserve_charge(struct canfs_reserve *reserve, const struct canfs_charge *charge);
/* Does nothing if there is no charge of this name. */
void canfs_reserve_discharge(struct canfs_reserve *reserve, const void *name);

uint64_t canfs_reserve_promised(struct canfs_reserve *reserve, const struct canfs_account *account);

/* Lists at most max accounts of a file system that have charges. Returns their number. */
size_t canfs_reserve_accounts(
	struct canfs_reserve *reserve, uint64_t fs, struct canfs_account *accounts, size_t max);

/*
 * If left_bytes is too little, calls recall() for each file that is charged to the account.
 * recall() runs under a lock: it must not block.
 */
void canfs_reserve_check(struct canfs_reserve *reserve, const struct canfs_account *account,
	uint64_t left_bytes, void (*recall)(uint64_t file));

#endif
