// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's MAX_HANDLE_SZ. glibc does not always define it. */
#define KERNEL_HANDLE_MAX 128

#define TYPE_AT   8
#define LENGTH_AT 12
#define DATA_AT   14

int canfs_mount_handle_decode(int type, const uint8_t *bytes, size_t len,
	uint8_t handle[CANFS_MOUNT_HANDLE_MAX], size_t *handle_len)
{
	uint32_t file_type;
	uint16_t size;

	if (len <= DATA_AT || len > KERNEL_HANDLE_MAX || len % 4 != 0 || type < 0 ||
		(size_t)type != len / 4)
		return -EPROTO;
	memcpy(&file_type, bytes + TYPE_AT, sizeof(file_type));
	memcpy(&size, bytes + LENGTH_AT, sizeof(size));
	if (file_type != S_IFDIR || size == 0 || size > len - DATA_AT)
		return -EPROTO;
	/* The rest is padding to a word. A longer rest would be an unknown layout. */
	if (len - DATA_AT - size > 3)
		return -EPROTO;
	if (size > CANFS_MOUNT_HANDLE_MAX)
		return -EMSGSIZE;
	memcpy(handle, bytes + DATA_AT, size);
	*handle_len = size;
	return 0;
}

/*
 * Looks the path up in the kernel's caches only. If the mount point lies on another NFS mount, a
 * full lookup could ask that server and block forever if it is dead. Returns -EAGAIN in that case.
 */
static int open_cached(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED };
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int canfs_mount_handle(const char *mountpoint, int version, uint8_t handle[CANFS_MOUNT_HANDLE_MAX],
	size_t *handle_len)
{
	union {
		struct file_handle head;
		uint8_t buffer[sizeof(struct file_handle) + KERNEL_HANDLE_MAX];
	} kernel = { .head.handle_bytes = KERNEL_HANDLE_MAX };
	int mount_id, fd, ret = 0;

	if (version != 3 && version != 4)
		return -EINVAL;
	fd = open_cached(mountpoint);
	if (fd < 0)
		return fd;
	if (name_to_handle_at(fd, "", &kernel.head, &mount_id, AT_EMPTY_PATH) < 0)
		ret = errno == EOVERFLOW ? -EMSGSIZE : -errno;
	close(fd);
	if (ret)
		return ret;
	return canfs_mount_handle_decode(kernel.head.handle_type, kernel.head.f_handle,
		kernel.head.handle_bytes, handle, handle_len);
}
