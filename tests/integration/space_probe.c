// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * space_probe DIRECTORY FILE WANTED: charges WANTED write delegations of FILE, which is below DIRECTORY, to the accounts of their file
 * system, and prints how many fit. If all fit, waits until all are recalled, and prints that as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ganesha-fsal/delegations/core/space_table.h"

#define LIMIT_BYTES 102400
#define MAX         64

static const char names[MAX];
static atomic_bool is_recalled[MAX];

static void note(uint64_t file)
{
	atomic_store(&is_recalled[file], true);
}

static int charge(struct canfs_space_table *table, struct canfs_space_user user)
{
	int ret;

	while ((ret = canfs_space_table_charge(table, &user)) == -EBUSY)
		usleep(1000);
	return ret;
}

static void wait_for_recalls(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		while (!atomic_load(&is_recalled[i]))
			usleep(1000);
	}
}

int main(int argc, char **argv)
{
	const struct canfs_space_table_config config = { .limit_bytes = LIMIT_BYTES,
		.recall = note };
	unsigned int wanted = argc == 4 ? (unsigned int)atoi(argv[3]) : 0, count = 0;
	struct canfs_space_user user = { .dir = argc == 4 ? open(argv[1], O_RDONLY) : -1,
		.fd = argc == 4 ? open(argv[2], O_PATH) : -1 };
	struct canfs_space_table *table;
	struct stat st;
	int ret = 0;

	if (wanted > MAX || fstat(user.fd, &st) != 0 || canfs_space_table_new(&table, &config) != 0)
		return 1;
	user.dev = st.st_dev;
	while (count < wanted && ret == 0) {
		user.name = &names[count];
		user.file = count;
		ret = charge(table, user);
		count += ret == 0;
	}
	printf("%u%s%s\n", count, ret ? " " : "", ret ? strerrorname_np(-ret) : "");
	fflush(stdout);
	if (ret == 0) {
		wait_for_recalls(count);
		printf("recalled\n");
	}
	canfs_space_table_free(table);
	return 0;
}
