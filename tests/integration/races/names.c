// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Files: made, renamed, replaced and deleted while the lanes read and write them. One change of a name at a time, each
 * waited for; so what a name means is known whenever it is asked for.
 */
#include "tests/integration/races/races.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILL_BLOCKS_MIN ((uint64_t)512)
#define READ_BACK_BYTES (OP_BLOCKS * BLOCK_BYTES)

static bool failed(struct races *races, const struct client *client, const char *what,
	const char *name, int error)
{
	return races_warn(races, "client %u (NFSv%d): %s %s: %d (%s)", client->number,
		client->version, what, name, error, nfs_get_error(client->nfs));
}

static struct client *any_client(struct races *races)
{
	return &races->clients[races_random(&races->chance, CLIENTS)];
}

static void new_name(struct races *races, struct shared_file *file)
{
	snprintf(file->name, sizeof(file->name), "/%llu-%llu", (unsigned long long)races->seed,
		(unsigned long long)++races->names);
}

/* From its beginning to somewhere, by a client that may write much at once. */
static bool fill(struct races *races, struct shared_file *file)
{
	uint64_t end = FILL_BLOCKS_MIN + races_random(&races->chance, BLOCKS - FILL_BLOCKS_MIN + 1);
	static uint64_t words[WRITE_BLOCKS * BLOCK_WORDS];
	struct client *client = &races->clients[0];
	uint64_t count;

	for (uint64_t at = 0; at < end && !races->failed; at += count) {
		uint32_t number = ++file->changes;
		int done;

		count = end - at < WRITE_BLOCKS ? end - at : WRITE_BLOCKS;
		races->now++;
		for (uint64_t i = 0; i < count; i++)
			past_begins(&file->pasts[at + i], number, number, races->now);
		races_fill(file, at, count, number, words);
		done = nfs_pwrite(client->nfs, file->handles[0], at * BLOCK_BYTES,
			count * BLOCK_BYTES, words);
		if (done != (int)(count * BLOCK_BYTES))
			return failed(races, client, "cannot fill", file->name, done);
		races->now++;
		for (uint64_t i = 0; i < count; i++)
			past_ends(&file->pasts[at + i], number, true, races->now);
		races_turn(races, 0);
	}
	return !races->failed;
}

/* Made by one client, opened by all. */
static struct shared_file *make(struct races *races)
{
	struct shared_file *file = calloc(1, sizeof(*file));
	struct client *maker = any_client(races);
	int ret;

	if (!file)
		abort();
	file->id = ++races->files;
	for (uint64_t i = 0; i < BLOCKS; i++)
		past_init(&file->pasts[i]);
	new_name(races, file);
	ret = nfs_open2(
		maker->nfs, file->name, O_CREAT | O_RDWR, 0644, &file->handles[maker->number]);
	if (ret != 0)
		failed(races, maker, "cannot make", file->name, ret);
	for (struct client *client = races->clients;
		!races->failed && client < races->clients + CLIENTS; client++) {
		if (client == maker)
			continue;
		ret = nfs_open(client->nfs, file->name, O_RDWR, &file->handles[client->number]);
		if (ret != 0)
			failed(races, client, "cannot open", file->name, ret);
	}
	if (!races->failed)
		fill(races, file);
	return file;
}

bool races_make_files(struct races *races)
{
	for (int i = 0; i < SLOTS && !races->failed; i++)
		races->slots[i] = make(races);
	return !races->failed;
}

/* Has the name become that of this file, and the other nobody's? As another client sees it. */
static bool check_names(struct races *races, struct shared_file *file, const char *gone)
{
	struct client *client = any_client(races);
	struct nfs_stat_64 named, held;
	int ret = nfs_stat64(client->nfs, gone, &named);

	if (ret != -ENOENT)
		return failed(races, client, "has not gone:", gone, ret);
	ret = nfs_stat64(client->nfs, file->name, &named);
	if (ret != 0)
		return failed(races, client, "cannot stat", file->name, ret);
	ret = nfs_fstat64(client->nfs, file->handles[client->number], &held);
	if (ret != 0 || named.nfs_ino != held.nfs_ino)
		return failed(races, client, "is another file now:", file->name, ret);
	return true;
}

static bool rename_it(struct races *races, struct shared_file *file)
{
	struct client *client = any_client(races);
	char old[sizeof(file->name)];
	int ret;

	memcpy(old, file->name, sizeof(old));
	new_name(races, file);
	ret = nfs_rename(client->nfs, old, file->name);
	if (ret != 0)
		return failed(races, client, "cannot rename", old, ret);
	return check_names(races, file, old);
}

static void doom(struct races *races, struct shared_file *file)
{
	file->doomed = true;
	file->next = races->doomed;
	races->doomed = file;
}

static bool delete_it(struct races *races, struct shared_file *file)
{
	struct client *client = any_client(races);
	int ret;

	doom(races, file);
	ret = nfs_unlink(client->nfs, file->name);
	return ret == 0 || failed(races, client, "cannot delete", file->name, ret);
}

static bool delete_and_make(struct races *races, struct shared_file **slot)
{
	if (!delete_it(races, *slot))
		return false;
	*slot = make(races);
	return !races->failed;
}

/* A new file takes the name of the old one. */
static bool replace(struct races *races, struct shared_file **slot)
{
	struct shared_file *old = *slot, *file = make(races);
	struct client *client = any_client(races);
	char aside[sizeof(file->name)];
	int ret;

	if (races->failed)
		return false;
	memcpy(aside, file->name, sizeof(aside));
	doom(races, old);
	ret = nfs_rename(client->nfs, aside, old->name);
	if (ret != 0)
		return failed(races, client, "cannot replace", old->name, ret);
	memcpy(file->name, old->name, sizeof(file->name));
	*slot = file;
	return check_names(races, file, aside);
}

/* By a client that is done with it. Whether none has it open any more. */
static bool close_it(struct races *races, struct shared_file *file)
{
	bool closed = true;

	for (int i = 0; i < CLIENTS; i++) {
		if (file->handles[i] && file->users[i] == 0) {
			/* Of what is gone, an error is as good as an answer. */
			nfs_close(races->clients[i].nfs, file->handles[i]);
			file->handles[i] = NULL;
		}
		closed &= !file->handles[i];
	}
	return closed;
}

static void bury(struct races *races)
{
	struct shared_file **at = &races->doomed, *file;

	while ((file = *at)) {
		if (close_it(races, file)) {
			*at = file->next;
			free(file);
		} else {
			at = &file->next;
		}
	}
}

bool races_change_name(struct races *races)
{
	struct shared_file **slot = &races->slots[races_random(&races->chance, SLOTS)];

	bury(races);
	switch (races_random(&races->chance, 6)) {
	case 0:
		return delete_and_make(races, slot);
	case 1:
		return replace(races, slot);
	default:
		return rename_it(races, *slot);
	}
}

bool races_open_again(struct races *races)
{
	for (int i = 0; i < CLIENTS * LANES; i++) {
		struct lane *lane = &races->lanes[i];

		if (!lane->file || !lane->file->doomed)
			continue;
		lane->file->users[lane->client->number]--;
		lane->file = NULL;
		lane->run = 0;
		free(lane->op);
		lane->op = NULL;
	}
	for (struct client *client = races->clients; client < races->clients + CLIENTS; client++) {
		if (client->version != 4)
			continue;
		for (struct shared_file *file = races->doomed; file; file = file->next)
			file->handles[client->number] = NULL;
		for (int i = 0; i < SLOTS; i++) {
			struct shared_file *file = races->slots[i];
			int ret = nfs_open(
				client->nfs, file->name, O_RDWR, &file->handles[client->number]);

			if (ret != 0)
				return failed(races, client, "cannot open again", file->name, ret);
		}
	}
	return true;
}

static bool check_bytes(struct races *races, struct shared_file *file, int fd, uint64_t size)
{
	static char over_nfs[READ_BACK_BYTES];
	static char on_disk[READ_BACK_BYTES] __attribute__((aligned(4096)));

	for (uint64_t at = 0; at < BLOCKS * BLOCK_BYTES; at += READ_BACK_BYTES) {
		struct client *client = any_client(races);
		int64_t got = nfs_pread(
			client->nfs, file->handles[client->number], at, READ_BACK_BYTES, over_nfs);
		ssize_t there = pread(fd, on_disk, READ_BACK_BYTES, (off_t)at);

		if (got < 0)
			return failed(races, client, "cannot read", file->name, (int)got);
		if (!races_check(races, file, at / BLOCK_BYTES, OP_BLOCKS, ++races->now, over_nfs,
			    (uint64_t)got))
			return false;
		if (got != there || memcmp(over_nfs, on_disk, (size_t)got) != 0)
			return races_warn(races,
				"%s: at %llu of %llu bytes the disk has something else: %lld "
				"bytes, not %lld",
				file->name, (unsigned long long)at, (unsigned long long)size,
				(long long)there, (long long)got);
	}
	return true;
}

static bool check_file(struct races *races, struct shared_file *file)
{
	struct client *client = any_client(races);
	struct nfs_stat_64 st;
	struct stat on_disk;
	char path[4096];
	bool same;
	int fd, ret = nfs_stat64(client->nfs, file->name, &st);

	if (ret != 0)
		return failed(races, client, "cannot stat", file->name, ret);
	snprintf(path, sizeof(path), "%s%s", races->directory, file->name);
	fd = open(path, O_RDONLY | O_DIRECT);
	if (fd < 0 || fstat(fd, &on_disk) != 0)
		return races_warn(races, "%s: %s", path, strerror(errno));
	if (st.nfs_size != (uint64_t)on_disk.st_size)
		return races_warn(races, "%s: %llu bytes over NFS, %llu on disk", path,
			(unsigned long long)st.nfs_size, (unsigned long long)on_disk.st_size);
	same = check_bytes(races, file, fd, st.nfs_size);
	close(fd);
	return same;
}

bool races_check_all(struct races *races)
{
	for (int i = 0; i < SLOTS; i++) {
		if (!check_file(races, races->slots[i]) || !delete_it(races, races->slots[i]))
			return false;
	}
	bury(races);
	return true;
}
