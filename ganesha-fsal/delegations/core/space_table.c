// SPDX-License-Identifier: LGPL-3.0-or-later
#include "ganesha-fsal/delegations/core/space_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/clock.h"
#include "ganesha-fsal/delegations/core/reserve.h"
#include "ganesha-fsal/delegations/core/fs_space.h"
#include "ganesha-fsal/delegations/core/within.h"

#define LOOK_MSEC    100
#define LOCK_MSEC    20      /* after that, the file system is frozen or its disk hangs */
#define LINGER_LOOKS 50      /* the last WRITEs may arrive after the return (holders.h) */
#define CLOSED_USEC  300000  /* no grants for this time after the recall, until access changes */
#define LATE_USEC    1000000 /* wait for the last WRITEs */
#define NOTHING_LEFT 0

struct fs {
	uint64_t dev;
	pthread_mutex_t lock; /* protects the members below */
	struct canfs_fs_space space;
	unsigned int idle_looks;
};

struct canfs_space_table {
	struct canfs_space_table_config config;
	struct canfs_reserve *reserve;
	_Atomic uint64_t closed_until_usec;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool stop, is_open;             /* is_open: the thread has delegations to check */
	struct fs fs[CANFS_SPACES_MAX]; /* entries are never removed */
	_Atomic unsigned int count;
	struct canfs_account accounts[CANFS_ACCOUNTS_MAX]; /* used by the thread only */
};

static struct fs *find(struct canfs_space_table *table, dev_t dev)
{
	unsigned int count = atomic_load(&table->count);

	for (unsigned int i = 0; i < count; i++) {
		if (table->fs[i].dev == dev)
			return &table->fs[i];
	}
	return NULL;
}

/* Returns NULL if there are too many file systems. */
static struct fs *find_or_add(struct canfs_space_table *table, dev_t dev)
{
	struct fs *fs = find(table, dev);
	unsigned int count;

	if (fs)
		return fs;
	pthread_mutex_lock(&table->lock);
	fs = find(table, dev);
	count = atomic_load(&table->count);
	if (!fs && count < CANFS_SPACES_MAX) {
		fs = &table->fs[count];
		fs->dev = dev;
		fs->space.fd = -1;
		pthread_mutex_init(&fs->lock, NULL);
		atomic_store(&table->count, count + 1);
	}
	pthread_mutex_unlock(&table->lock);
	return fs;
}

static void wake(struct canfs_space_table *table)
{
	pthread_mutex_lock(&table->lock);
	table->is_open = true;
	pthread_cond_signal(&table->wake);
	pthread_mutex_unlock(&table->lock);
}

static uint64_t promised(struct canfs_space_table *table, const struct fs *fs)
{
	const struct canfs_account account = { .fs = fs->dev, .kind = CANFS_ACCOUNT_SPACE };

	return canfs_reserve_promised(table->reserve, &account);
}

/* Call it with the lock of fs held. */
static int charge(
	struct canfs_space_table *table, struct fs *fs, const struct canfs_space_user *user)
{
	struct canfs_charge wanted = { .name = user->name, .file = user->file };
	int ret = 0;

	if (fs->space.fd < 0) {
		ret = canfs_fs_space_open(&fs->space, user->dir);
		wake(table);
	}
	if (ret != 0)
		return ret;
	wanted.need_bytes = canfs_reserve_need(
		table->config.limit_bytes, canfs_fs_space_block_bytes(&fs->space));
	ret = canfs_fs_space_accounts(&fs->space, user->fd, fs->dev, &wanted);
	if (ret == 0)
		ret = canfs_reserve_charge(table->reserve, &wanted);
	if (ret != 0)
		return ret;
	ret = canfs_fs_space_reserve(&fs->space, promised(table, fs));
	if (ret != 0)
		canfs_reserve_discharge(table->reserve, user->name);
	return ret;
}

static bool is_closed(struct canfs_space_table *table)
{
	return canfs_now_usec() < atomic_load(&table->closed_until_usec);
}

/*
 * pthread_mutex_timedlock() uses a clock that may be set. ThreadSanitizer does not know
 * pthread_mutex_clocklock().
 */
static bool lock_soon(struct fs *fs)
{
	for (int msec = 0; msec < LOCK_MSEC; msec++) {
		if (pthread_mutex_trylock(&fs->lock) == 0)
			return true;
		usleep(1000);
	}
	return false;
}

int canfs_space_table_charge(struct canfs_space_table *table, const struct canfs_space_user *user)
{
	struct fs *fs = find_or_add(table, user->dev);
	int ret;

	if (!fs)
		return -ENOSPC;
	if (is_closed(table) || !lock_soon(fs))
		return -EBUSY;
	ret = charge(table, fs, user);
	pthread_mutex_unlock(&fs->lock);
	return ret;
}

void canfs_space_table_discharge(struct canfs_space_table *table, const void *name)
{
	canfs_reserve_discharge(table->reserve, name);
}

bool canfs_space_table_spend(struct canfs_space_table *table, dev_t dev, uint64_t bytes)
{
	struct fs *fs = find(table, dev);
	bool is_spent;

	if (!fs)
		return false;
	pthread_mutex_lock(&fs->lock);
	is_spent = canfs_fs_space_spend(&fs->space, bytes);
	pthread_mutex_unlock(&fs->lock);
	return is_spent;
}

/* Call it with the lock of fs held. Returns true if the reserve is still open. */
static bool look(struct canfs_space_table *table, struct fs *fs)
{
	size_t count;

	if (fs->space.fd < 0)
		return false;
	count = canfs_reserve_accounts(
		table->reserve, fs->dev, table->accounts, CANFS_ACCOUNTS_MAX);
	for (size_t i = 0; i < count; i++) {
		const struct canfs_account *account = &table->accounts[i];

		canfs_reserve_check(table->reserve, account,
			canfs_fs_space_left(&fs->space, account->kind, account->id),
			table->config.recall);
	}
	if (promised(table, fs) < fs->space.reserved_bytes)
		(void)canfs_fs_space_reserve(&fs->space, promised(table, fs));
	fs->idle_looks = count == 0 ? fs->idle_looks + 1 : 0;
	if (fs->idle_looks >= LINGER_LOOKS)
		canfs_fs_space_close(&fs->space);
	return fs->space.fd >= 0;
}

static bool look_at_all(struct canfs_space_table *table)
{
	unsigned int count = atomic_load(&table->count);
	bool any_open = false;

	for (unsigned int i = 0; i < count; i++) {
		struct fs *fs = &table->fs[i];

		pthread_mutex_lock(&fs->lock);
		any_open |= look(table, fs);
		pthread_mutex_unlock(&fs->lock);
	}
	return any_open;
}

static void *run(void *arg)
{
	struct canfs_space_table *table = arg;
	struct timespec until;

	if (table->config.thread_begins)
		table->config.thread_begins("canfs_space");
	pthread_mutex_lock(&table->lock);
	while (!table->stop) {
		bool any_open;

		if (!table->is_open) {
			pthread_cond_wait(&table->wake, &table->lock);
			continue;
		}
		table->is_open = false;
		pthread_mutex_unlock(&table->lock);
		any_open = look_at_all(table);
		pthread_mutex_lock(&table->lock);
		table->is_open |= any_open;
		until = canfs_in_msec(LOOK_MSEC);
		while (!table->stop &&
			pthread_cond_timedwait(&table->wake, &table->lock, &until) == 0)
			;
	}
	pthread_mutex_unlock(&table->lock);
	return NULL;
}

int canfs_space_table_new(
	struct canfs_space_table **table, const struct canfs_space_table_config *config)
{
	struct canfs_space_table *new = calloc(1, sizeof(*new));
	int ret = -ENOMEM;

	if (!new)
		return ret;
	new->config = *config;
	new->reserve = canfs_reserve_new();
	pthread_mutex_init(&new->lock, NULL);
	canfs_steady_cond_init(&new->wake);
	if (new->reserve)
		ret = -pthread_create(&new->thread, NULL, run, new);
	if (ret == 0) {
		*table = new;
		return 0;
	}
	canfs_reserve_free(new->reserve);
	free(new);
	return ret;
}

void canfs_space_table_free(struct canfs_space_table *table)
{
	if (!table)
		return;
	pthread_mutex_lock(&table->lock);
	table->stop = true;
	pthread_cond_signal(&table->wake);
	pthread_mutex_unlock(&table->lock);
	pthread_join(table->thread, NULL);
	for (unsigned int i = 0; i < atomic_load(&table->count); i++) {
		canfs_fs_space_close(&table->fs[i].space);
		pthread_mutex_destroy(&table->fs[i].lock);
	}
	canfs_reserve_free(table->reserve);
	pthread_cond_destroy(&table->wake);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

static bool recall_all(struct canfs_space_table *table)
{
	unsigned int count = atomic_load(&table->count);
	bool any = false;

	for (unsigned int i = 0; i < count; i++) {
		const struct canfs_account account = { .fs = table->fs[i].dev };

		canfs_reserve_check(table->reserve, &account, NOTHING_LEFT, table->config.recall);
		any |= promised(table, &table->fs[i]) != 0;
	}
	return any;
}

void canfs_space_table_recall(struct canfs_space_table *table, unsigned int wait_msec)
{
	uint64_t end_usec = canfs_now_usec() + wait_msec * UINT64_C(1000);

	if (is_closed(table))
		return; /* another export has just done this */
	atomic_store(&table->closed_until_usec, end_usec + LATE_USEC);
	if (recall_all(table)) {
		while (recall_all(table) && canfs_now_usec() < end_usec)
			usleep(LOOK_MSEC * 1000);
		usleep(LATE_USEC);
	}
	atomic_store(&table->closed_until_usec, canfs_now_usec() + CLOSED_USEC);
}
