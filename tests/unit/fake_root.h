/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A directory of fake /proc and /sys files, for the agent's readers. */
#ifndef CANFS_TESTS_FAKE_ROOT_H
#define CANFS_TESTS_FAKE_ROOT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fake_root {
	char path[64];
};

static inline void fake_root_make(struct fake_root *root)
{
	strcpy(root->path, "/tmp/canfs-test-XXXXXX");
	assert_non_null(mkdtemp(root->path));
}

static inline int fake_root_unlink(
	const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void fake_root_remove(struct fake_root *root)
{
	assert_int_equal(nftw(root->path, fake_root_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void fake_root_full(
	const struct fake_root *root, const char *path, char full[PATH_MAX])
{
	assert_true(snprintf(full, PATH_MAX, "%s%s", root->path, path) < PATH_MAX);
}

/* Also makes the directories above path. */
static inline void fake_root_write(const struct fake_root *root, const char *path, const char *text)
{
	char full[PATH_MAX];

	fake_root_full(root, path, full);
	for (char *slash = full + strlen(root->path); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	FILE *file = fopen(full, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Returns the whole file in a static buffer, or "" if there is no file. */
static inline const char *fake_root_read(const struct fake_root *root, const char *path)
{
	static char text[65536];
	char full[PATH_MAX];

	fake_root_full(root, path, full);
	FILE *file = fopen(full, "r");
	size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[len] = '\0';
	if (file)
		fclose(file);
	return text;
}

static inline uint64_t fake_root_number(const struct fake_root *root, const char *path)
{
	return strtoull(fake_root_read(root, path), NULL, 10);
}

/* Puts a process into a mount namespace. */
static inline void fake_root_namespace(const struct fake_root *root, int pid, const char *name)
{
	char path[64], full[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	fake_root_write(root, path, "");
	fake_root_full(root, path, full);
	assert_int_equal(unlink(full), 0);
	assert_int_equal(symlink(name, full), 0);
}

/* For cmocka: the test's state is a fresh root. */
static inline int fake_root_setup(void **state)
{
	struct fake_root *root = malloc(sizeof(*root));

	fake_root_make(root);
	*state = root;
	return 0;
}

static inline int fake_root_teardown(void **state)
{
	fake_root_remove(*state);
	free(*state);
	return 0;
}

#endif
