// SPDX-License-Identifier: LGPL-3.0-or-later
#include "client-agent/kernel/mounts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "client-agent/kernel/mount_line.h"
#include "common/file.h"

struct reader {
	struct canfs_mounts *mounts;
	canfs_mount_wanted_fn *is_wanted; /* NULL: all mounts are wanted */
	const void *data;
};

static void begin(struct canfs_mounts *mounts)
{
	mounts->n = 0;
	mounts->unfits = 0;
	mounts->malformed = 0;
	mounts->dropped = 0;
}

const struct canfs_unfit_mount *canfs_mounts_find_unfit(
	const struct canfs_mounts *mounts, int id, struct canfs_bdi bdi)
{
	for (size_t i = 0; i < mounts->unfits; i++) {
		const struct canfs_unfit_mount *unfit = &mounts->unfit[i];

		if ((id >= 0 && unfit->id == id) || canfs_bdi_equal(unfit->bdi, bdi))
			return unfit;
	}
	return NULL;
}

const struct canfs_unfit_mount *canfs_mounts_find_unfit_at(
	const struct canfs_mounts *mounts, const char *mountpoint)
{
	for (size_t i = 0; i < mounts->unfits; i++) {
		if (strncmp(mounts->unfit[i].mountpoint, mountpoint, CANFS_MOUNT_PATH_MAX - 1) == 0)
			return &mounts->unfit[i];
	}
	return NULL;
}

static void note_unfit(
	struct canfs_mounts *mounts, const struct canfs_mount *mount, const char *why)
{
	struct canfs_unfit_mount *unfit = &mounts->unfit[mounts->unfits];

	if (canfs_mounts_find_unfit(mounts, -1, mount->bdi))
		return;
	mounts->malformed++;
	if (mounts->unfits == CANFS_MOUNTS_UNFIT)
		return;
	*unfit = (struct canfs_unfit_mount) { .id = mount->id, .bdi = mount->bdi, .why = why };
	strcpy(unfit->mountpoint, mount->mountpoint);
	mounts->unfits++;
}

/* The mount that represents the BDI. */
static struct canfs_mount *find_bdi(struct canfs_mounts *mounts, struct canfs_bdi bdi)
{
	for (size_t i = 0; i < mounts->n; i++) {
		if (!mounts->mount[i].is_spare && canfs_bdi_equal(mounts->mount[i].bdi, bdi))
			return &mounts->mount[i];
	}
	return NULL;
}

/* Removes the last spare mount from a full table, or else the last unwanted mount. */
static bool make_place(struct canfs_mounts *mounts, const struct canfs_mount *mount)
{
	size_t i = mounts->n, unwanted = mounts->n;

	while (i-- > 0 && !mounts->mount[i].is_spare) {
		if (unwanted == mounts->n && !mounts->mount[i].is_wanted)
			unwanted = i;
	}
	if (i == SIZE_MAX && mount->is_wanted)
		i = unwanted;
	if (i >= mounts->n) {
		mounts->dropped += mount->is_wanted;
		return false;
	}
	mounts->n--;
	memmove(&mounts->mount[i], &mounts->mount[i + 1],
		(mounts->n - i) * sizeof(mounts->mount[0]));
	return true;
}

/* at is the next free entry, unless the table is full. */
static void add(struct canfs_mounts *mounts, struct canfs_mount *at)
{
	struct canfs_mount *other = find_bdi(mounts, at->bdi);

	at->is_spare = other && (other->is_wanted || !at->is_wanted);
	if (other && !at->is_spare)
		other->is_spare = true;
	if (mounts->n == CANFS_MOUNTS_MAX) {
		if (at->is_spare || !make_place(mounts, at))
			return;
		mounts->mount[mounts->n] = *at;
	}
	mounts->n++;
}

static void take_line(void *data, const char *line, const char *end)
{
	const struct reader *reader = data;
	struct canfs_mounts *mounts = reader->mounts;
	struct canfs_mount beyond;
	struct canfs_mount *mount =
		mounts->n < CANFS_MOUNTS_MAX ? &mounts->mount[mounts->n] : &beyond;
	const char *why;
	int ret = canfs_mount_line_parse(line, end, mount, &why);

	if (ret == -ENOENT)
		return;
	if (ret && why) {
		note_unfit(mounts, mount, why);
	} else if (ret) {
		mounts->malformed++;
	} else {
		mount->is_wanted = !reader->is_wanted || reader->is_wanted(reader->data, mount);
		add(mounts, mount);
	}
}

void canfs_mounts_parse(const char *text, struct canfs_mounts *mounts)
{
	struct reader reader = { .mounts = mounts };
	const char *end;

	begin(mounts);
	for (; (end = strchr(text, '\n')); text = end + 1)
		take_line(&reader, text, end);
	/* A last line without newline is torn, even if it looks complete. */
	if (*text)
		mounts->malformed++;
}

int canfs_mounts_read_wanted(const char *root, canfs_mount_wanted_fn *is_wanted, const void *data,
	struct canfs_mounts *mounts)
{
	struct reader reader = { mounts, is_wanted, data };

	begin(mounts);
	return canfs_read_lines(root, "/proc/self/mountinfo", take_line, &reader);
}

int canfs_mounts_read(const char *root, struct canfs_mounts *mounts)
{
	return canfs_mounts_read_wanted(root, NULL, NULL, mounts);
}

bool canfs_bdi_equal(struct canfs_bdi a, struct canfs_bdi b)
{
	return a.major == b.major && a.minor == b.minor;
}

size_t canfs_mounts_bdis(const struct canfs_mounts *mounts, size_t index[CANFS_MOUNTS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < mounts->n; i++) {
		size_t k = 0;
		while (k < n && !canfs_bdi_equal(mounts->mount[i].bdi, mounts->mount[index[k]].bdi))
			k++;
		if (k == n)
			index[n++] = i;
	}
	return n;
}

const char *canfs_mount_is_private(const struct canfs_mount *mount)
{
	static const char *const asked_with[] = { "", "sys", "null", "none" };

	if (*mount->xprtsec && strcmp(mount->xprtsec, "none") != 0)
		return "prices cannot be asked for over TLS";
	for (size_t i = 0; i < sizeof(asked_with) / sizeof(asked_with[0]); i++) {
		if (strcmp(mount->sec, asked_with[i]) == 0)
			return NULL;
	}
	return strncmp(mount->sec, "krb5", 4) == 0
		       ? "prices cannot be asked for with Kerberos"
		       : "prices cannot be asked for with its security flavor";
}

const char *canfs_mount_left_alone(const struct canfs_mount *mount)
{
	if (mount->address.ss_family == AF_UNSPEC)
		return "the mount table names no address of its server";
	return canfs_mount_is_private(mount);
}

int canfs_mounts_find(const struct canfs_mounts *mounts, const struct canfs_mount *mount)
{
	for (size_t i = 0; i < mounts->n; i++) {
		const struct canfs_mount *m = &mounts->mount[i];
		if (m->id == mount->id && canfs_bdi_equal(m->bdi, mount->bdi) &&
			strcmp(m->source, mount->source) == 0 &&
			strcmp(m->mountpoint, mount->mountpoint) == 0)
			return (int)i;
	}
	return -ENOENT;
}
