// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * nfs_space URL DIRECTORY VERSION OPERATION READ_MIB: writes to a full file system as soon as an operation has freed space. Reads READ_MIB of
 * /victim, performs the operation on it at once, while the server still reads ahead, writes WRITE_MIB to /new, and removes /new.
 *
 * OPERATION: remove; remove-open (closed after that); close (it is removed on the server, in DIRECTORY, before that);
 * rename (/small replaces it); truncate; create (an open that truncates).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <nfsc/libnfs.h>

#define MIB       (1 << 20)
#define PIECE     (128 << 10)
#define WRITE_MIB 8

static char block[PIECE];

static void must(struct nfs_context *nfs, const char *what, int result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, nfs_get_error(nfs));
	exit(1);
}

static void read_victim(struct nfs_context *nfs, int mib, struct nfsfh **file)
{
	must(nfs, "open", nfs_open(nfs, "/victim", O_RDONLY, file));
	for (int at = 0; at < mib * MIB; at += PIECE)
		must(nfs, "read", nfs_pread(nfs, *file, (uint64_t)at, PIECE, block));
}

static void remove_on_server(const char *directory)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/victim", directory);
	if (unlink(path) != 0) {
		perror(path);
		exit(1);
	}
}

static void free_victim(
	struct nfs_context *nfs, const char *directory, const char *operation, struct nfsfh *file)
{
	struct nfsfh *again;

	if (strcmp(operation, "close") == 0)
		remove_on_server(directory);
	if (strcmp(operation, "remove-open") == 0)
		must(nfs, operation, nfs_unlink(nfs, "/victim"));
	must(nfs, "close", nfs_close(nfs, file));
	if (strcmp(operation, "remove") == 0) {
		must(nfs, operation, nfs_unlink(nfs, "/victim"));
	} else if (strcmp(operation, "rename") == 0) {
		must(nfs, operation, nfs_rename(nfs, "/small", "/victim"));
	} else if (strcmp(operation, "truncate") == 0) {
		must(nfs, operation, nfs_truncate(nfs, "/victim", 0));
	} else if (strcmp(operation, "create") == 0) {
		must(nfs, operation, nfs_open(nfs, "/victim", O_RDWR | O_TRUNC, &again));
		must(nfs, "close", nfs_close(nfs, again));
	}
}

static struct nfs_context *mount_url(const char *text, int version)
{
	struct nfs_context *nfs = nfs_init_context();
	struct nfs_url *url;

	if (!nfs)
		exit(1);
	must(nfs, "version", nfs_set_version(nfs, version));
	url = nfs_parse_url_dir(nfs, text);
	must(nfs, "mount", url ? nfs_mount(nfs, url->server, url->path) : -1);
	return nfs;
}

int main(int argc, char **argv)
{
	struct nfs_context *nfs, *writer;
	struct nfsfh *file, *new;

	if (argc != 6)
		return 2;
	nfs = mount_url(argv[1], atoi(argv[3]));
	writer = mount_url(argv[1], 3); /* libnfs writes no more than 2 KiB at a time to NFSv4 */
	must(writer, "create", nfs_open2(writer, "/new", O_CREAT | O_RDWR, 0600, &new));
	read_victim(nfs, atoi(argv[5]), &file);
	free_victim(nfs, argv[2], argv[4], file);
	for (int at = 0; at < WRITE_MIB * MIB; at += PIECE)
		must(writer, "write", nfs_pwrite(writer, new, (uint64_t)at, PIECE, block));
	must(writer, "fsync", nfs_fsync(writer, new));
	must(writer, "close", nfs_close(writer, new));
	must(writer, "unlink", nfs_unlink(writer, "/new"));
	return 0;
}
