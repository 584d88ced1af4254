// SPDX-License-Identifier: LGPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/jobs/file_set.h"
#include "bench/jobs/job.h"

#define CHUNK_BYTES ((size_t)1 << 20)

static int add_directory(struct canfs_file_set *set, const char *path)
{
	char **larger = realloc(set->directory, (set->directories + 1) * sizeof(*set->directory));

	if (!larger)
		return -ENOMEM;
	set->directory = larger;
	larger[set->directories] = strdup(path);
	return larger[set->directories] ? (set->directories++, 0) : -ENOMEM;
}

static int add_file(struct canfs_file_set *set, const char *path, uint64_t *random)
{
	const struct canfs_file_set_spec *spec = set->spec;
	struct canfs_set_file *file = &set->file[set->files];

	file->bytes = spec->same_size ? spec->mean_bytes
				      : (uint64_t)canfs_job_gamma(
						random, CANFS_FILE_SET_GAMMA, spec->mean_bytes);
	file->path = strdup(path);
	return file->path ? (set->files++, 0) : -ENOMEM;
}

/*
 * Creates a directory at this depth. A directory that has reached its random depth holds files, any
 * other directories. The top directory grows until there are enough files.
 */
static int add_tree(
	struct canfs_file_set *set, const char *path, unsigned int depth, uint64_t *random)
{
	const struct canfs_file_set_spec *spec = set->spec;
	double mean_depth = log(set->files_max) / log(spec->width);
	double width = canfs_job_gamma(random, CANFS_FILE_SET_GAMMA, spec->width);
	bool is_leaf = depth > 1 && depth >= (unsigned int)canfs_job_gamma(
						     random, CANFS_FILE_SET_GAMMA, mean_depth);
	int ret = add_directory(set, path);

	for (unsigned int i = 1; !ret && set->files < set->files_max; i++) {
		char *below;

		if (depth > 1 && i >= width + 1)
			break;
		if (asprintf(&below, "%s/%08u", path, i) < 0)
			return -ENOMEM;
		ret = is_leaf ? add_file(set, below, random)
			      : add_tree(set, below, depth + 1, random);
		free(below);
	}
	return ret;
}

/* Returns the numbers 0 ... count - 1 in random order. NULL: no memory. */
static uint32_t *shuffled(uint32_t count, uint64_t *random)
{
	uint32_t *order = malloc((count + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < count; i++) {
		uint32_t j = (uint32_t)(canfs_job_random(random) % (i + 1));

		order[i] = order[j];
		order[j] = i;
	}
	return order;
}

int canfs_file_set_plan(struct canfs_file_set *set, const struct canfs_file_set_spec *spec,
	const char *parent, uint64_t *random)
{
	uint32_t *order = NULL;
	char *root = NULL;
	int ret = -ENOMEM;

	*set = (struct canfs_file_set) { .spec = spec,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.files_max = spec->files,
		.file = calloc(spec->files, sizeof(*set->file)) };
	if (!set->file || asprintf(&root, "%s/%s", parent, spec->name) < 0)
		return ret;
	ret = add_tree(set, root, 1, random);
	if (!ret) {
		order = shuffled(set->files, random);
		ret = order ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; !ret && i < (uint64_t)set->files * spec->percent / 100; i++)
		set->file[order[i]].exists = true;
	free(order);
	free(root);
	return ret;
}

void canfs_file_set_free(struct canfs_file_set *set)
{
	for (uint32_t i = 0; i < set->files; i++)
		free(set->file[i].path);
	for (uint32_t i = 0; i < set->directories; i++)
		free(set->directory[i]);
	free(set->file);
	free(set->directory);
	*set = (struct canfs_file_set) { 0 };
}

static int fill(int fd, uint64_t bytes, const char *zeros)
{
	while (bytes > 0) {
		ssize_t n = write(fd, zeros, bytes < CHUNK_BYTES ? bytes : CHUNK_BYTES);

		if (n < 0)
			return -errno;
		bytes -= (uint64_t)n;
	}
	return 0;
}

static int make_file(const struct canfs_set_file *file, const char *zeros)
{
	struct stat st;
	int fd, ret = 0;

	if (!file->exists)
		return unlink(file->path) == 0 || errno == ENOENT ? 0 : -errno;
	if (stat(file->path, &st) == 0 && (uint64_t)st.st_size == file->bytes)
		return 0;
	fd = open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	ret = fill(fd, file->bytes, zeros);
	if (close(fd) < 0 && !ret)
		ret = -errno;
	return ret;
}

int canfs_file_set_make(const struct canfs_file_set *set, uint64_t *random)
{
	uint32_t *order = shuffled(set->files, random);
	char *zeros = calloc(1, CHUNK_BYTES);
	int ret = order && zeros ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < set->directories && !ret; i++)
		if (mkdir(set->directory[i], 0755) < 0 && errno != EEXIST)
			ret = -errno;
	for (uint32_t i = 0; i < set->files && !ret; i++)
		ret = make_file(&set->file[order[i]], zeros);
	free(zeros);
	free(order);
	return ret;
}

static bool suits(const struct canfs_set_file *file, enum canfs_take how, bool may_be_busy)
{
	if (file->busy && (!may_be_busy || how == CANFS_TAKE_CREATE || how == CANFS_TAKE_DELETE))
		return false;
	return file->exists == (how != CANFS_TAKE_CREATE) &&
	       (how != CANFS_TAKE_DELETE || file->opens == 0);
}

static struct canfs_set_file *find(
	struct canfs_file_set *set, enum canfs_take how, uint32_t *next, bool may_be_busy)
{
	for (uint32_t i = 0; i < set->files; i++) {
		uint32_t at = (*next + i) % set->files;

		if (suits(&set->file[at], how, may_be_busy)) {
			*next = at + 1;
			return &set->file[at];
		}
	}
	return NULL;
}

struct canfs_set_file *canfs_file_set_take(
	struct canfs_file_set *set, enum canfs_take how, uint32_t *next)
{
	struct canfs_set_file *file;

	if (!next)
		next = how == CANFS_TAKE_CREATE ? &set->next_missing : &set->next;
	pthread_mutex_lock(&set->lock);
	file = find(set, how, next, false);
	if (!file)
		file = find(set, how, next, true);
	if (file)
		file->busy++;
	pthread_mutex_unlock(&set->lock);
	return file;
}

void canfs_file_set_give(
	struct canfs_file_set *set, struct canfs_set_file *file, enum canfs_take how, int ret)
{
	pthread_mutex_lock(&set->lock);
	file->busy--;
	if (!ret && (how == CANFS_TAKE_OPEN || how == CANFS_TAKE_CREATE))
		file->opens++;
	if (!ret && how != CANFS_TAKE_LOOK)
		file->exists = how != CANFS_TAKE_DELETE;
	pthread_mutex_unlock(&set->lock);
}

void canfs_file_set_close(struct canfs_file_set *set, struct canfs_set_file *file)
{
	pthread_mutex_lock(&set->lock);
	file->busy++;
	pthread_mutex_unlock(&set->lock);
}

void canfs_file_set_closed(struct canfs_file_set *set, struct canfs_set_file *file)
{
	pthread_mutex_lock(&set->lock);
	file->busy--;
	file->opens--;
	pthread_mutex_unlock(&set->lock);
}
