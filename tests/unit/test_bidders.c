// SPDX-License-Identifier: LGPL-3.0-or-later
/* All bidders of a client, while mounts come and go: which mount points are looked up, and how often. */
#include "tests/unit/act_scene.h"

#include "client-agent/bidders.h"
#include "client-agent/kernel/handle.h"

/* In place of kernel/handle.c: the mount points that are looked up, in order. */
static struct {
	unsigned int n;
	char last[CANFS_MOUNT_PATH_MAX];
} lookups;

int canfs_mount_handle(const char *mountpoint, int version, uint8_t handle[CANFS_MOUNT_HANDLE_MAX],
	size_t *handle_len)
{
	(void)version;
	(void)handle;
	(void)handle_len;
	lookups.n++;
	strcpy(lookups.last, mountpoint);
	return -EAGAIN;
}

#define OPTIONS " rw,vers=4.2,proto=tcp,port=1,sec=sys,addr=127.0.0.1\n"
#define LOCAL   "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
#define AUTO    "30 20 0:40 / /home rw - autofs auto.home rw,fd=7,timeout=300,indirect\n"
#define HOME_A  "36 30 0:41 / /home/a rw - nfs4 127.0.0.1:/data/a" OPTIONS
#define HOME_B  "37 30 0:42 / /home/b rw - nfs4 127.0.0.1:/data/b" OPTIONS
#define BIND_A  "38 20 0:41 /x /mnt/x rw - nfs4 127.0.0.1:/data/a" OPTIONS
#define CHURN   "39 20 0:50 / /mnt/churn rw - tmpfs t rw\n"

static struct canfs_mounts mounts;

static void refresh(struct scene *scene, struct canfs_bidders *bidders, const char *text)
{
	canfs_mounts_parse(text, &mounts);
	canfs_bidders_refresh(bidders, &mounts, &scene->config, &scene->actors);
}

static void test_a_mount_point_is_looked_up_once(void **state)
{
	struct scene *scene = *state;
	static struct canfs_bidders bidders;

	lookups.n = 0;
	refresh(scene, &bidders, LOCAL AUTO HOME_A BIND_A);
	assert_int_equal(bidders.n, 1);
	assert_int_equal(lookups.n, 1);
	assert_string_equal(lookups.last, "/home/a");
	for (int i = 0; i < 3; i++) { /* others come and go */
		refresh(scene, &bidders, LOCAL AUTO HOME_A BIND_A CHURN);
		refresh(scene, &bidders, LOCAL AUTO HOME_A);
	}
	assert_int_equal(lookups.n, 1);
	refresh(scene, &bidders, LOCAL AUTO HOME_A HOME_B);
	assert_int_equal(lookups.n, 2);
	assert_string_equal(lookups.last, "/home/b");
	/* SIGHUP, also with changed terms of the price service. */
	scene->config.price_port++;
	scene->config.terms.link_speed++;
	refresh(scene, &bidders, LOCAL AUTO HOME_A HOME_B);
	/* Another mount represents the BDI. */
	refresh(scene, &bidders, LOCAL AUTO BIND_A HOME_B);
	assert_int_equal(bidders.n, 2);
	assert_int_equal(lookups.n, 2);
	canfs_bidders_free(&bidders);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_a_mount_point_is_looked_up_once, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
