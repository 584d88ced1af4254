// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Truncates a file by opening it, as CREATE with a size of 0 does, not by SETATTR, which libnfs itself would use:
 * nfs_truncate URL FILE. Reads a file of MIB first, so that the server knows how large it is, and writes BLOCK after. Then
 * says "truncated", and with the next line of its input reads where the file was, and says how much it got.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

#define MIB   (1 << 20)
#define BLOCK 4096

/* What nfs_get_fh() gives; libnfs does not publish it. */
struct nfs_fh {
	int len;
	char *val;
};

static char block[MIB];
static int created = -1; /* 0: it is; else an NFS status */

static void fail(struct nfs_context *nfs, const char *what)
{
	fprintf(stderr, "nfs_truncate: %s: %s\n", what, nfs_get_error(nfs));
	exit(1);
}

static void create_is_done(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	const CREATE3res *reply = data;

	(void)rpc;
	(void)private_data;
	created = status == RPC_STATUS_SUCCESS ? (int)reply->status : 1;
}

static void create_over(struct nfs_context *nfs, struct nfsfh *dir, char *name)
{
	const struct nfs_fh *root = nfs_get_fh(dir);
	CREATE3args args = { .where = { .dir.data = { .data_len = (unsigned int)root->len,
						.data_val = root->val },
				     .name = name },
		.how.mode = UNCHECKED };
	sattr3 *attributes = &args.how.createhow3_u.obj_attributes;

	attributes->size.set_it = 1;
	attributes->size.set_size3_u.size = 0;
	if (rpc_nfs3_create_async(nfs_get_rpc_context(nfs), create_is_done, &args, NULL) != 0)
		fail(nfs, "CREATE");
	while (created < 0) {
		struct pollfd polled = { .fd = nfs_get_fd(nfs),
			.events = (short)nfs_which_events(nfs) };

		if (poll(&polled, 1, 10000) <= 0 || nfs_service(nfs, polled.revents) < 0)
			fail(nfs, "CREATE");
	}
	if (created != 0)
		fail(nfs, "CREATE was refused");
}

int main(int argc, char **argv)
{
	struct nfs_context *nfs = nfs_init_context();
	struct nfs_url *url;
	struct nfsfh *file, *dir;
	char path[256];

	if (argc != 3 || !nfs)
		return 2;
	url = nfs_parse_url_dir(nfs, argv[1]);
	if (!url || nfs_mount(nfs, url->server, url->path) != 0)
		fail(nfs, "mount");
	snprintf(path, sizeof(path), "/%s", argv[2]);
	if (nfs_open(nfs, "/", O_RDONLY, &dir) != 0)
		fail(nfs, "open the directory");
	if (nfs_open(nfs, path, O_RDWR, &file) != 0 ||
		nfs_pread(nfs, file, 0, BLOCK, block) != BLOCK)
		fail(nfs, "read");
	create_over(nfs, dir, argv[2]);
	if (nfs_pwrite(nfs, file, 0, BLOCK, block) != BLOCK)
		fail(nfs, "write");
	puts("truncated");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	printf("%d\n", nfs_pread(nfs, file, MIB / 2, BLOCK, block));
	nfs_close(nfs, file);
	nfs_close(nfs, dir);
	nfs_destroy_url(url);
	nfs_destroy_context(nfs);
	return 0;
}
