// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/calibrate/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "canfsctl/calibrate/child.h"

#define MIB ((uint64_t)1 << 20)
/* Time after the runtime for a slow disk to complete a full queue. */
#define DRAIN_SEC 60

static int set_error(char error[CANFS_MEASURE_ERROR_MAX], int r, const char *what, const char *why)
{
	snprintf(error, CANFS_MEASURE_ERROR_MAX, "%s: %s", what, why ? why : strerrordesc_np(-r));
	return r;
}

static int check_place(const char *directory, unsigned int size_mib, char *error)
{
	struct statfs fs;

	if (statfs(directory, &fs) < 0)
		return set_error(error, -errno, directory, NULL);
	if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		return set_error(error, -EINVAL, directory, "is in memory (tmpfs), not on a disk");
	if ((uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize / 2 < size_mib * MIB)
		return set_error(error, -ENOSPC, directory,
			"the file would take more than half of the free space: see --size");
	return 0;
}

/*
 * Creates an unlinked file. The descriptor is inherited, so that fio can open it by /proc/self/fd.
 */
static int create(const char *directory, char *error)
{
	char path[4096];
	int fd;

	if (snprintf(path, sizeof(path), "%s/canfs-calibrate-XXXXXX", directory) >=
		(int)sizeof(path))
		return set_error(error, -ENAMETOOLONG, directory, NULL);
	fd = mkstemp(path);
	if (fd < 0)
		return set_error(error, -errno, directory, NULL);
	unlink(path);
	return fd;
}

/* Without direct I/O, the page cache would hide the disk. */
static int check_direct(const char *file, const char *directory, char *error)
{
	const int fd = open(file, O_RDONLY | O_DIRECT | O_CLOEXEC);

	if (fd < 0)
		return set_error(error, -errno, directory,
			errno == EINVAL ? "its file system does not support direct I/O" : NULL);
	close(fd);
	return 0;
}

/* Writes data that neither compresses nor deduplicates. Holes would be read without the disk. */
static int fill(int fd, const struct canfs_measure_setup *setup, unsigned int all, char *error)
{
	uint64_t *block = malloc(MIB), random = 88172645463325252u;
	int ret = 0;

	if (!block)
		return set_error(error, -ENOMEM, "disk", NULL);
	setup->progress("writing the file", 0, all);
	for (unsigned int i = 0; ret == 0 && i < setup->size_mib; i++) {
		ssize_t written;

		for (size_t j = 0; j < MIB / sizeof(*block); j++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			block[j] = random;
		}
		written = pwrite(fd, block, MIB, (off_t)(i * MIB));
		if (written != (ssize_t)MIB)
			ret = written < 0 ? -errno : -ENOSPC;
	}
	if (ret == 0 && fsync(fd) < 0)
		ret = -errno;
	if (ret < 0)
		set_error(error, ret, "writing the file", NULL);
	free(block);
	return ret;
}

static int run_fio(const char *file, enum canfs_direction direction,
	const struct canfs_measure_setup *setup, struct canfs_load_point *point, char *error)
{
	char filename[PATH_MAX + 16], size[32], depth[32], runtime[32], why[CANFS_RESULT_ERROR_MAX];
	const char *argv[] = { "fio", "--name=calibrate", filename, size, depth, runtime,
		direction == CANFS_READS ? "--rw=randread" : "--rw=randwrite", "--time_based",
		"--bs=4k", "--direct=1", "--ioengine=libaio", "--randrepeat=0", "--thread",
		"--allow_file_create=0", "--fallocate=none", "--output-format=json", "--eta=never",
		direction == CANFS_READS ? "--readonly" : NULL, NULL };
	char *output, *errors;
	int ret;

	snprintf(filename, sizeof(filename), "--filename=%s", file);
	snprintf(size, sizeof(size), "--size=%um", setup->size_mib);
	snprintf(depth, sizeof(depth), "--iodepth=%.0f", point->depth);
	snprintf(runtime, sizeof(runtime), "--runtime=%u", setup->seconds);
	ret = canfs_child_run(argv, setup->seconds + DRAIN_SEC, &output, &errors);
	if (ret < 0)
		return set_error(error, ret, "fio",
			ret == -ENOENT      ? "is not installed"
			: ret == -ETIMEDOUT ? "did not finish in time"
					    : NULL);
	ret = canfs_fio_parse(output, direction, point, why);
	/* fio reports errors such as an unknown option as text. */
	errors[strcspn(errors, "\n")] = '\0';
	if (ret < 0)
		set_error(error, ret, "fio", ret == -EPROTO && *errors ? errors : why);
	free(output);
	free(errors);
	return ret;
}

static int sweep(const char *file, enum canfs_direction direction,
	const struct canfs_measure_setup *setup, struct canfs_disk_curve *curve, char *error)
{
	int ret;

	do {
		struct canfs_load_point *point = &curve->points[curve->count];
		char step[64];

		point->depth = (double)(1u << curve->count);
		snprintf(step, sizeof(step), "%s at depth %.0f",
			direction == CANFS_READS ? "reads" : "writes", point->depth);
		setup->progress(step,
			1 + (unsigned int)curve->count +
				(direction == CANFS_READS ? 0 : CANFS_DEPTHS),
			1 + 2 * CANFS_DEPTHS);
		ret = run_fio(file, direction, setup, point, error);
		if (ret < 0)
			return ret;
		curve->count++;
	} while (curve->count < CANFS_DEPTHS && !canfs_knee_passed(curve->points, curve->count));

	ret = canfs_knee_find(curve->points, curve->count, &curve->knee);
	return ret < 0 ? set_error(error, ret, "fio", "printed implausible numbers") : 0;
}

int canfs_measure_disk(const char *directory, const struct canfs_measure_setup *setup,
	struct canfs_disk_result *result, char error[CANFS_MEASURE_ERROR_MAX])
{
	char file[64];
	int fd, ret;

	*result = (struct canfs_disk_result) { 0 };
	ret = check_place(directory, setup->size_mib, error);
	if (ret < 0)
		return ret;
	fd = create(directory, error);
	if (fd < 0)
		return fd;
	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	ret = check_direct(file, directory, error);
	if (ret == 0)
		ret = fill(fd, setup, 1 + 2 * CANFS_DEPTHS, error);
	for (int i = CANFS_READS; ret == 0 && i <= CANFS_WRITES; i++)
		ret = sweep(file, (enum canfs_direction)i, setup, &result->curves[i], error);
	close(fd);
	return ret;
}
