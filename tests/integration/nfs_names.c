// SPDX-License-Identifier: LGPL-3.0-or-later
/* nfs_names URL VERSION: changes names and attributes in each way that there is, through libnfs, and closes nothing of it properly. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <nfsc/libnfs.h>

static void must(struct nfs_context *nfs, const char *what, int result)
{
	if (result < 0) {
		fprintf(stderr, "%s: %s\n", what, nfs_get_error(nfs));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct nfs_context *nfs = nfs_init_context();
	struct nfs_url *url;
	struct nfsfh *file;

	if (argc != 3 || !nfs)
		return 2;
	must(nfs, "version", nfs_set_version(nfs, atoi(argv[2])));
	url = nfs_parse_url_dir(nfs, argv[1]);
	must(nfs, "mount", url ? nfs_mount(nfs, url->server, url->path) : -1);
	must(nfs, "create", nfs_open2(nfs, "/created", O_CREAT | O_RDWR, 0640, &file));
	must(nfs, "mkdir", nfs_mkdir2(nfs, "/directory", 0750));
	must(nfs, "symlink", nfs_symlink(nfs, "target", "/symlink"));
	must(nfs, "link", nfs_link(nfs, "/kept", "/link"));
	must(nfs, "rename", nfs_rename(nfs, "/old", "/directory/new"));
	must(nfs, "unlink", nfs_unlink(nfs, "/removed"));
	must(nfs, "chmod", nfs_chmod(nfs, "/kept", 0600));
	return 0;
}
