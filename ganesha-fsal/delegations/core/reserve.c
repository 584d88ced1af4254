// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/core/reserve.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define uthash_nonfatal_oom(element) ((element)->is_lost = true)
#define HASH_NONFATAL_OOM            1
#include <uthash.h>

#define PAGE_BYTES 4096 /* of clients; clients with larger pages have fewer */

struct sum {
	struct canfs_account account; /* the hash key; it has no padding */
	UT_hash_handle hh;
	uint64_t promised_bytes;
	unsigned int charges;
	bool is_lost;
};

struct charge {
	const void *name;
	UT_hash_handle hh;
	uint64_t file;
	uint64_t need_bytes;
	unsigned int sums;
	struct sum *sum[CANFS_ACCOUNT_KINDS];
	bool is_lost;
};

struct canfs_reserve {
	pthread_mutex_t lock;
	struct sum *sums;
	struct charge *charges;
};

struct canfs_reserve *canfs_reserve_new(void)
{
	struct canfs_reserve *reserve = calloc(1, sizeof(*reserve));

	if (reserve)
		pthread_mutex_init(&reserve->lock, NULL);
	return reserve;
}

uint64_t canfs_reserve_need(uint64_t limit_bytes, uint64_t block_bytes)
{
	uint64_t pages = (limit_bytes + PAGE_BYTES - 1) / PAGE_BYTES;

	return 2 * pages * (block_bytes > PAGE_BYTES ? block_bytes : PAGE_BYTES);
}

static struct sum *find_sum(struct canfs_reserve *reserve, const struct canfs_account *account)
{
	struct sum *sum;

	HASH_FIND(hh, reserve->sums, account, sizeof(*account), sum);
	return sum;
}

static struct sum *find_or_add_sum(
	struct canfs_reserve *reserve, const struct canfs_account *account)
{
	struct sum *sum = find_sum(reserve, account);

	if (sum || HASH_COUNT(reserve->sums) >= CANFS_ACCOUNTS_MAX)
		return sum;
	sum = calloc(1, sizeof(*sum));
	if (!sum)
		return NULL;
	sum->account = *account;
	HASH_ADD(hh, reserve->sums, account, sizeof(sum->account), sum);
	if (!sum->is_lost)
		return sum;
	free(sum);
	return NULL;
}

static void free_charge(struct canfs_reserve *reserve, struct charge *charge)
{
	for (unsigned int i = 0; i < charge->sums; i++) {
		struct sum *sum = charge->sum[i];

		sum->promised_bytes -= charge->need_bytes;
		if (--sum->charges != 0)
			continue;
		HASH_DEL(reserve->sums, sum);
		free(sum);
	}
	free(charge);
}

static void discharge(struct canfs_reserve *reserve, const void *name)
{
	struct charge *charge;

	HASH_FIND_PTR(reserve->charges, &name, charge);
	if (!charge)
		return;
	HASH_DEL(reserve->charges, charge);
	free_charge(reserve, charge);
}

void canfs_reserve_free(struct canfs_reserve *reserve)
{
	struct charge *charge, *next;

	if (!reserve)
		return;
	HASH_ITER(hh, reserve->charges, charge, next)
	{
		HASH_DEL(reserve->charges, charge);
		free_charge(reserve, charge);
	}
	pthread_mutex_destroy(&reserve->lock);
	free(reserve);
}

static bool fits(uint64_t left_bytes, uint64_t promised_bytes, uint64_t more_bytes)
{
	return left_bytes == CANFS_UNLIMITED ||
	       (left_bytes >= promised_bytes && left_bytes - promised_bytes >= more_bytes);
}

static int check_all(struct canfs_reserve *reserve, const struct canfs_charge *wanted)
{
	for (unsigned int i = 0; i < wanted->accounts; i++) {
		const struct sum *sum = find_sum(reserve, &wanted->account[i]);

		if (!fits(wanted->left_bytes[i], sum ? sum->promised_bytes : 0,
			    wanted->need_bytes + CANFS_RESERVE_MARGIN_BYTES))
			return wanted->account[i].kind == CANFS_ACCOUNT_SPACE ? -ENOSPC : -EDQUOT;
	}
	return 0;
}

static int add_charge(struct canfs_reserve *reserve, const struct canfs_charge *wanted)
{
	struct charge *charge = calloc(1, sizeof(*charge));

	if (!charge)
		return -ENOMEM;
	charge->name = wanted->name;
	charge->file = wanted->file;
	charge->need_bytes = wanted->need_bytes;
	for (unsigned int i = 0; i < wanted->accounts; i++) {
		struct sum *sum = find_or_add_sum(reserve, &wanted->account[i]);

		if (!sum)
			goto fail;
		sum->promised_bytes += charge->need_bytes;
		sum->charges++;
		charge->sum[charge->sums++] = sum;
	}
	HASH_ADD_PTR(reserve->charges, name, charge);
	if (!charge->is_lost)
		return 0;
fail:
	free_charge(reserve, charge);
	return -ENOMEM;
}

int canfs_reserve_charge(struct canfs_reserve *reserve, const struct canfs_charge *charge)
{
	int ret;

	pthread_mutex_lock(&reserve->lock);
	discharge(reserve, charge->name);
	ret = check_all(reserve, charge);
	if (ret == 0)
		ret = add_charge(reserve, charge);
	pthread_mutex_unlock(&reserve->lock);
	return ret;
}

void canfs_reserve_discharge(struct canfs_reserve *reserve, const void *name)
{
	pthread_mutex_lock(&reserve->lock);
	discharge(reserve, name);
	pthread_mutex_unlock(&reserve->lock);
}

uint64_t canfs_reserve_promised(struct canfs_reserve *reserve, const struct canfs_account *account)
{
	const struct sum *sum;
	uint64_t bytes;

	pthread_mutex_lock(&reserve->lock);
	sum = find_sum(reserve, account);
	bytes = sum ? sum->promised_bytes : 0;
	pthread_mutex_unlock(&reserve->lock);
	return bytes;
}

size_t canfs_reserve_accounts(
	struct canfs_reserve *reserve, uint64_t fs, struct canfs_account *accounts, size_t max)
{
	struct sum *sum, *next;
	size_t count = 0;

	pthread_mutex_lock(&reserve->lock);
	HASH_ITER(hh, reserve->sums, sum, next)
	{
		if (sum->account.fs == fs && count < max)
			accounts[count++] = sum->account;
	}
	pthread_mutex_unlock(&reserve->lock);
	return count;
}

static bool is_charged_to(const struct charge *charge, const struct sum *sum)
{
	for (unsigned int i = 0; i < charge->sums; i++) {
		if (charge->sum[i] == sum)
			return true;
	}
	return false;
}

void canfs_reserve_check(struct canfs_reserve *reserve, const struct canfs_account *account,
	uint64_t left_bytes, void (*recall)(uint64_t file))
{
	const struct sum *sum;
	struct charge *charge, *next;

	pthread_mutex_lock(&reserve->lock);
	sum = find_sum(reserve, account);
	if (!sum || fits(left_bytes, sum->promised_bytes, CANFS_RESERVE_MARGIN_BYTES / 2))
		goto out;
	HASH_ITER(hh, reserve->charges, charge, next)
	{
		if (is_charged_to(charge, sum))
			recall(charge->file);
	}
out:
	pthread_mutex_unlock(&reserve->lock);
}
