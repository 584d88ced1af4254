// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * Does one of each to an NFS export and prints what it saw; two exports that print the same
 * behave the same. nfs_operations URL VERSION, through libnfs.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <nfsc/libnfs.h>

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

/* One line for each operation: what, and 0, a count, or the error. */
static int note(const char *what, int result)
{
	if (result < 0)
		printf("%-28s %s\n", what, strerror(-result));
	else
		printf("%-28s %d\n", what, result);
	return result;
}

static void note_attributes(struct nfs_context *nfs, const char *path)
{
	struct nfs_stat_64 st;

	if (note("lstat", nfs_lstat64(nfs, path, &st)) == 0)
		printf("  %s mode %o nlink %u uid %u gid %u size %u mtime %u\n", path,
			(unsigned int)st.nfs_mode, (unsigned int)st.nfs_nlink,
			(unsigned int)st.nfs_uid, (unsigned int)st.nfs_gid,
			S_ISDIR(st.nfs_mode) ? 0 : (unsigned int)st.nfs_size,
			st.nfs_mtime < 1000000000 ? (unsigned int)st.nfs_mtime : 0);
}

static void note_directory(struct nfs_context *nfs, const char *path)
{
	struct nfsdir *dir;
	struct nfsdirent *entry;
	unsigned int sum = 0, count = 0;

	if (note("opendir", nfs_opendir(nfs, path, &dir)) != 0)
		return;
	/* The order is the file system's affair. */
	while ((entry = nfs_readdir(nfs, dir))) {
		for (const char *c = entry->name; *c != '\0'; c++)
			sum += (unsigned char)*c;
		count++;
	}
	printf("  %s: %u entries, sum of their names %u\n", path, count, sum);
	nfs_closedir(nfs, dir);
}

static void files(struct nfs_context *nfs)
{
	static char block[300000];
	char back[16] = "";
	struct nfsfh *file;

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 7 % 251);
	note("open missing", nfs_open(nfs, "/missing", O_RDONLY, &file));
	if (note("create", nfs_open2(nfs, "/file", O_CREAT | O_RDWR, 0640, &file)) != 0)
		return;
	note("write", nfs_pwrite(nfs, file, 0, sizeof(block), block));
	note("write beyond a hole", nfs_pwrite(nfs, file, 1000000, 5, "hello"));
	note("fsync", nfs_fsync(nfs, file));
	note("read", nfs_pread(nfs, file, 999998, 10, back));
	printf("  %d %d %.5s\n", back[0], back[1], back + 2);
	note("read behind the end", nfs_pread(nfs, file, 2000000, 10, back));
	note("ftruncate", nfs_ftruncate(nfs, file, 12345));
	note("close", nfs_close(nfs, file));
	note_attributes(nfs, "/file");
	note("create exclusively again",
		nfs_open2(nfs, "/file", O_CREAT | O_EXCL | O_RDWR, 0640, &file));
	note("truncate", nfs_truncate(nfs, "/file", 7));
	note("chmod", nfs_chmod(nfs, "/file", 0751));
	note("chown", nfs_chown(nfs, "/file", 12, 34));
	note("utimes", nfs_utimes(nfs, "/file", (struct timeval[]) { { 1000, 0 }, { 2000, 0 } }));
	note_attributes(nfs, "/file");
	note("access", nfs_access2(nfs, "/file"));
}

static void names(struct nfs_context *nfs)
{
	char target[64] = "";
	char name[32];
	struct nfsfh *file;

	note("mkdir", nfs_mkdir2(nfs, "/dir", 0755));
	note("mkdir again", nfs_mkdir2(nfs, "/dir", 0755));
	note("link", nfs_link(nfs, "/file", "/dir/link"));
	note_attributes(nfs, "/dir/link");
	note("symlink", nfs_symlink(nfs, "../file", "/dir/symlink"));
	note("readlink", nfs_readlink(nfs, "/dir/symlink", target, sizeof(target)));
	printf("  %s\n", target);
	note("mknod fifo", nfs_mknod(nfs, "/dir/fifo", S_IFIFO | 0644, 0));
	note("mknod device", nfs_mknod(nfs, "/dir/null", S_IFCHR | 0644, 0x103));
	note_attributes(nfs, "/dir/fifo");
	note_attributes(nfs, "/dir/null");
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "/dir/many-%d", i);
		if (nfs_creat(nfs, name, 0600, &file) == 0)
			nfs_close(nfs, file);
	}
	note_directory(nfs, "/dir");
	note("rename", nfs_rename(nfs, "/dir/link", "/renamed"));
	note("rename over a file", nfs_rename(nfs, "/dir/many-1", "/dir/many-2"));
	note("rename missing", nfs_rename(nfs, "/missing", "/dir/x"));
	note("rmdir full", nfs_rmdir(nfs, "/dir"));
	note("unlink missing", nfs_unlink(nfs, "/missing"));
	note("unlink", nfs_unlink(nfs, "/dir/many-2"));
	note_directory(nfs, "/dir");
	note_directory(nfs, "/");
}

/* NFSv4 only: locks and open state. */
static void locks(struct nfs_context *nfs)
{
	struct nfsfh *file;

	if (note("open", nfs_open(nfs, "/file", O_RDWR, &file)) != 0)
		return;
	note("lock", nfs_lockf(nfs, file, NFS4_F_TLOCK, 5));
	note("test", nfs_lockf(nfs, file, NFS4_F_TEST, 5));
	note("unlock", nfs_lockf(nfs, file, NFS4_F_ULOCK, 5));
	note("close", nfs_close(nfs, file));
}

static void space(struct nfs_context *nfs)
{
	struct nfs_statvfs_64 st;

	if (note("statvfs", nfs_statvfs64(nfs, "/", &st)) == 0)
		printf("  %llu files\n", (unsigned long long)st.f_files);
}

int main(int argc, char **argv)
{
	struct nfs_context *nfs = nfs_init_context();
	struct nfs_url *url;
	int version = argc == 3 ? atoi(argv[2]) : 0;

	if (!nfs || (version != 3 && version != 4)) {
		fprintf(stderr, "usage: nfs_operations nfs://server/path/. 3|4\n");
		return 1;
	}
	nfs_set_version(nfs, version);
	url = nfs_parse_url_dir(nfs, argv[1]);
	if (!url || nfs_mount(nfs, url->server, url->path) != 0) {
		fprintf(stderr, "%s: %s\n", argv[1], nfs_get_error(nfs));
		return 1;
	}
	nfs_destroy_url(url);
	files(nfs);
	names(nfs);
	if (version == 4)
		locks(nfs);
	space(nfs);
	nfs_destroy_context(nfs);
	return 0;
}
