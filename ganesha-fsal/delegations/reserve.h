/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The space that the server has promised to clients with write delegations (nfs_space_limit4, RFC 8881 §18.16.3): what they still have
 * after close(2) must find a place, since nobody hears of an error then. Pure, without I/O; from any thread.
 *
 *	account     what may run out: the space of a file system, the quota of a user, group or project there
 *	charge      of one delegation, to each account in which the blocks of its file count
 *
 *	            promised to those that are out     one more       margin
 *	left  |------------------------------------|--------------|------------|  or it is refused
 *	      |------------------------------------|---------|  or all of the account are recalled
 *	                                             half the margin
 */
#ifndef CANFS_GANESHA_FSAL_RESERVE_H
#define CANFS_GANESHA_FSAL_RESERVE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Others write meanwhile. What they write between two looks at an account, and until the recalled clients have written, must fit into half
 * of it.
 */
#define CANFS_RESERVE_MARGIN_BYTES (UINT64_C(32) << 20)
#define CANFS_UNLIMITED            UINT64_MAX
#define CANFS_ACCOUNTS_MAX         4096 /* more are refused */

enum canfs_account_kind {
	CANFS_ACCOUNT_SPACE, /* of the file system; the others are quotas */
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
 * What a client may have to store of one file: limit_bytes in dirty pages, each of them, if the file is sparse, in a block of its own, which may
 * need another one that points to it.
 */
uint64_t canfs_reserve_need(uint64_t limit_bytes, uint64_t block_bytes);

struct canfs_charge {
	const void *name; /* of the delegation, among all */
	uint64_t file;
	uint64_t need_bytes;
	unsigned int accounts;
	struct canfs_account account[CANFS_ACCOUNT_KINDS];
	uint64_t left_bytes
		[CANFS_ACCOUNT_KINDS]; /* of each, with what is reserved; or CANFS_UNLIMITED */
};

/* 0; -ENOSPC, -EDQUOT: it does not fit into one of the accounts; -ENOMEM. One of the same name ends. */
int canfs_reserve_charge(struct canfs_reserve *reserve, const struct canfs_charge *charge);
void canfs_reserve_discharge(
	struct canfs_reserve *reserve, const void *name); /* there may be none */

uint64_t canfs_reserve_promised(struct canfs_reserve *reserve, const struct canfs_account *account);

/* The accounts of a file system that are charged now, max at most. */
size_t canfs_reserve_accounts(
	struct canfs_reserve *reserve, uint64_t fs, struct canfs_account *accounts, size_t max);

/* This much is left. If that is too little, recall() is called of each file that is charged to it; with a lock: it may not wait. */
void canfs_reserve_check(struct canfs_reserve *reserve, const struct canfs_account *account,
	uint64_t left_bytes, void (*recall)(uint64_t file));

#endif
