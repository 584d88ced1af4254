// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-disk: a modelled disk, spinning or solid-state, served as a file through FUSE, for use with
 * `losetup --direct-io=on`. The directory has three files: disk, control, stat.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "bench/disk/control.h"

#define MIB           ((uint64_t)1 << 20)
#define SIZE_MIB_MAX  ((uint64_t)4 << 20)
#define REQUEST_BYTES (1u << 20)
/* FUSE's default of 12 would limit the queue depth */
#define REQUESTS_MAX 128
#define FOREVER      1e9

enum { INODE_ROOT = FUSE_ROOT_ID, INODE_DISK, INODE_CONTROL, INODE_STAT };

static const char *const names[] = {
	[INODE_DISK] = "disk", [INODE_CONTROL] = "control", [INODE_STAT] = "stat"
};

static struct canfs_disk_threads *queue_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static struct stat attributes(fuse_req_t req, fuse_ino_t inode)
{
	struct stat st = { .st_ino = inode, .st_mode = S_IFREG | 0600, .st_nlink = 1 };

	if (inode == INODE_ROOT) {
		st.st_mode = S_IFDIR | 0700;
		st.st_nlink = 2;
	} else if (inode == INODE_DISK) {
		st.st_size = (off_t)queue_of(req)->store.capacity_bytes;
		st.st_blocks = st.st_size / 512;
		st.st_blksize = 4096;
	}
	return st;
}

static void on_init(void *userdata, struct fuse_conn_info *connection)
{
	(void)userdata;
	connection->max_background = REQUESTS_MAX;
	connection->congestion_threshold = REQUESTS_MAX;
	connection->max_write = REQUEST_BYTES;
	connection->max_read = REQUEST_BYTES;
	connection->want |= FUSE_CAP_ASYNC_DIO;
	connection->want &= ~(unsigned int)FUSE_CAP_AUTO_INVAL_DATA;
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = { .attr_timeout = FOREVER, .entry_timeout = FOREVER };

	for (fuse_ino_t i = INODE_DISK; parent == INODE_ROOT && i <= INODE_STAT; i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		entry.ino = i;
		entry.attr = attributes(req, i);
		fuse_reply_entry(req, &entry);
		return;
	}
	fuse_reply_err(req, ENOENT);
}

static void on_getattr(fuse_req_t req, fuse_ino_t inode, struct fuse_file_info *file)
{
	struct stat st = attributes(req, inode);

	(void)file;
	fuse_reply_attr(req, &st, FOREVER);
}

/* Truncation on open and new times are accepted and ignored. */
static void on_setattr(
	fuse_req_t req, fuse_ino_t inode, struct stat *st, int mask, struct fuse_file_info *file)
{
	(void)st;
	(void)mask;
	on_getattr(req, inode, file);
}

static void on_open(fuse_req_t req, fuse_ino_t inode, struct fuse_file_info *file)
{
	/* bypass the page cache; the loop device opens the disk's file with O_DIRECT */
	file->direct_io = inode != INODE_DISK;
	fuse_reply_open(req, file);
}

static void on_read(
	fuse_req_t req, fuse_ino_t inode, size_t bytes, off_t offset, struct fuse_file_info *file)
{
	struct canfs_disk_threads *queue = queue_of(req);
	uint64_t start = (uint64_t)offset, capacity = queue->store.capacity_bytes;
	char text[2048];
	size_t n;

	(void)file;
	if (inode == INODE_STAT) {
		n = offset ? 0 : canfs_disk_stat(queue, text, sizeof(text));
		fuse_reply_buf(req, text, n < bytes ? n : bytes);
	} else if (inode != INODE_DISK || start >= capacity || bytes == 0) {
		fuse_reply_buf(req, NULL, 0);
	} else {
		if (bytes > capacity - start)
			bytes = (size_t)(capacity - start);
		canfs_queue_add(queue, req, CANFS_COMMAND_READ, start, bytes, NULL);
	}
}

static void on_write(fuse_req_t req, fuse_ino_t inode, const char *data, size_t bytes, off_t offset,
	struct fuse_file_info *file)
{
	struct canfs_disk_threads *queue = queue_of(req);
	uint64_t start = (uint64_t)offset, capacity = queue->store.capacity_bytes;
	int ret;

	(void)file;
	if (inode == INODE_CONTROL) {
		ret = canfs_disk_control(queue, data, bytes);
		if (ret)
			fuse_reply_err(req, -ret);
		else
			fuse_reply_write(req, bytes);
	} else if (inode != INODE_DISK || start >= capacity || bytes > capacity - start ||
		   bytes == 0) {
		fuse_reply_err(req, ENOSPC);
	} else {
		canfs_queue_add(queue, req, CANFS_COMMAND_WRITE, start, bytes, data);
	}
}

static void on_fsync(fuse_req_t req, fuse_ino_t inode, int datasync, struct fuse_file_info *file)
{
	(void)datasync;
	(void)file;
	if (inode == INODE_DISK)
		canfs_queue_add(queue_of(req), req, CANFS_COMMAND_FLUSH, 0, 0, NULL);
	else
		fuse_reply_err(req, 0);
}

static const struct fuse_lowlevel_ops operations = {
	.init = on_init,
	.lookup = on_lookup,
	.getattr = on_getattr,
	.setattr = on_setattr,
	.open = on_open,
	.read = on_read,
	.write = on_write,
	.fsync = on_fsync,
};

/* Runs until a signal or an unmount. Returns the exit status. */
static int serve(struct canfs_disk_threads *queue, uint64_t size_mib, const char *mountpoint)
{
	char *arguments[] = { "canfs-disk",
		"-ofsname=canfs-disk,default_permissions,max_read=1048576", NULL };
	struct fuse_args args = FUSE_ARGS_INIT(2, arguments);
	struct fuse_session *session =
		fuse_session_new(&args, &operations, sizeof(operations), queue);
	int ret, exit_code = 1;

	if (!session)
		goto out_args;
	ret = canfs_queue_start(queue, size_mib * MIB);
	if (ret) {
		fprintf(stderr, "canfs-disk: %llu MiB: %s\n", (unsigned long long)size_mib,
			strerror(-ret));
		goto out_session;
	}
	if (fuse_set_signal_handlers(session) != 0)
		goto out_queue;
	if (fuse_session_mount(session, mountpoint) != 0)
		goto out_signals;
	exit_code = fuse_session_loop(session) < 0;
	fuse_session_unmount(session);
out_signals:
	fuse_remove_signal_handlers(session);
out_queue:
	/* before the session ends, since queued commands are answered through it */
	canfs_queue_stop(queue);
out_session:
	fuse_session_destroy(session);
out_args:
	fuse_opt_free_args(&args);
	return exit_code;
}

static int usage(void)
{
	fprintf(stderr, "usage: canfs-disk --size-mib N MOUNTPOINT   (1 <= N <= %llu)\n",
		(unsigned long long)SIZE_MIB_MAX);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "size-mib", required_argument, NULL, 's' },
		{ 0 } };
	unsigned long long size_mib = 0;
	struct canfs_disk_threads *queue;
	char *end = "";
	int option, ret;

	while ((option = getopt_long(argc, argv, "s:", options, NULL)) != -1) {
		if (option != 's')
			return usage();
		size_mib = strtoull(optarg, &end, 10);
	}
	if (*end || size_mib < 1 || size_mib > SIZE_MIB_MAX || optind + 1 != argc)
		return usage();
	queue = malloc(sizeof(*queue));
	if (!queue) {
		fprintf(stderr, "canfs-disk: out of memory\n");
		return 1;
	}
	/*
	 * The loop device's write-back must not wait for memory that itself waits for the loop
	 * device.
	 */
	prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
	ret = serve(queue, size_mib, argv[optind]);
	free(queue);
	return ret;
}
