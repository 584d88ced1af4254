// SPDX-License-Identifier: LGPL-3.0-or-later
/* Finds the NFS servers that a job uses, whose prices canfsctl run asks for. */
#include "canfsctl/run/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct search {
	const struct canfs_mounts *mounts;
	struct canfs_job_prices *prices;
	const char *
		left_alone; /* a mount that is in use but cannot be asked about, and why; NULL: none */
	const char *why;
	bool is_full; /* that there are too many servers was reported */
};

/*
 * Finds the mount by ID, or else another mount of its super block, since the table may be
 * incomplete.
 */
static const struct canfs_mount *find_mount(
	const struct canfs_mounts *mounts, int id, struct canfs_bdi bdi)
{
	const struct canfs_mount *found = NULL;

	for (size_t i = 0; i < mounts->n; i++) {
		if (mounts->mount[i].id == id)
			return &mounts->mount[i];
		if (!found && canfs_bdi_equal(mounts->mount[i].bdi, bdi))
			found = &mounts->mount[i];
	}
	return found;
}

static void leave_alone(struct search *search, const char *mountpoint, const char *why)
{
	search->left_alone = mountpoint;
	search->why = why;
}

static void add_mount(struct search *search, const struct canfs_mount *mount)
{
	const char *why = canfs_mount_left_alone(mount);
	int ret = why ? 0 : canfs_job_prices_add_mount(search->prices, mount);

	if (ret == -ENOSPC && !search->is_full) {
		ctl_warn("%s: the job uses more than %d servers; the prices of this one and of "
			 "further ones are ignored",
			mount->mountpoint, CANFS_JOB_SERVERS_MAX);
		search->is_full = true;
	}
	if (ret < 0 && ret != -ENOSPC)
		why = strerrordesc_np(-ret);
	if (why)
		leave_alone(search, mount->mountpoint, why);
}

/* Adds the mount of a path. Apart from the path lookup, nothing is sent to the server. */
static void add_path(struct search *search, const char *path)
{
	const struct canfs_unfit_mount *unfit;
	const struct canfs_mount *mount;
	struct canfs_bdi bdi;
	struct statx stat;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_MNT_ID, &stat) < 0 ||
		!(stat.stx_mask & STATX_MNT_ID) || stat.stx_mnt_id > INT_MAX)
		return;
	bdi = (struct canfs_bdi) { stat.stx_dev_major, stat.stx_dev_minor };
	mount = find_mount(search->mounts, (int)stat.stx_mnt_id, bdi);
	unfit = canfs_mounts_find_unfit(search->mounts, (int)stat.stx_mnt_id, bdi);
	if (mount)
		add_mount(search, mount);
	else if (unfit)
		leave_alone(search, unfit->mountpoint, unfit->why);
}

/* The path may exist or be created later; in the second case its parent counts. */
static bool add_argument_path(struct search *search, const char *path)
{
	const char *slash = strrchr(path, '/');
	char parent[CANFS_MOUNT_PATH_MAX];
	struct stat stat;

	if (lstat(path, &stat) == 0) {
		add_path(search, path);
		return true;
	}
	if (!slash || slash == path || (size_t)(slash - path) >= sizeof(parent))
		return false;
	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
	if (lstat(parent, &stat) < 0)
		return false;
	add_path(search, parent);
	return true;
}

/* A path may follow "=", as in dd(1)'s arguments and long options. */
static void add_argument(struct search *search, const char *argument)
{
	const char *equals = strchr(argument, '=');

	if (!add_argument_path(search, argument) && equals)
		add_argument_path(search, equals + 1);
}

static void add_command(struct search *search, char **command)
{
	while (*++command)
		add_argument(search, *command);
	if (search->prices->n == 0 && !search->left_alone)
		add_path(search, ".");
}

/* Adds the mounts of the process's working directory and open files. */
static void add_process(struct search *search, long pid)
{
	char path[64 + NAME_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%ld/cwd", pid);
	add_path(search, path);
	snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%ld/fd/%s", pid, entry->d_name);
		if (entry->d_name[0] != '.')
			add_path(search, path);
	}
	if (dir)
		closedir(dir);
}

static void add_members(struct search *search, const char *group)
{
	char path[PATH_MAX + 32];
	FILE *procs;
	long pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	procs = fopen(path, "re");
	while (procs && fscanf(procs, "%ld", &pid) == 1)
		add_process(search, pid);
	if (procs)
		fclose(procs);
}

/* The processes of a slice, or of a unit with a delegated group, are in groups below it. */
static void add_group(struct search *search, const struct canfs_freezer *freezer)
{
	char *const roots[] = { (char *)freezer->path, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;

	while (tree && (entry = fts_read(tree))) {
		if (entry->fts_info == FTS_D)
			add_members(search, entry->fts_path);
	}
	if (tree)
		fts_close(tree);
}

/* Adds all addresses of the named server, in each NFS version. */
static int add_export(const struct ctl_export *export, struct canfs_job_prices *prices)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct canfs_fsstat_target endpoints[CANFS_JOB_ENDPOINTS_MAX];
	struct addrinfo *list;
	char why[CANFS_MOUNT_PATH_MAX + 128];
	size_t n = 0;
	int ret = getaddrinfo(export->name.host, NULL, &hints, &list);

	if (ret != 0) {
		ctl_warn("%s: %s; the job will not be paused", export->text, gai_strerror(ret));
		return CTL_OK;
	}
	if (!ctl_export_may_be_asked(export, list, why, sizeof(why))) {
		ctl_warn("%s: %s; the job will not be paused", export->text, why);
		freeaddrinfo(list);
		return CTL_OK;
	}
	for (const struct addrinfo *info = list; info; info = info->ai_next) {
		for (const int *version = export->versions; *version && n < CANFS_JOB_ENDPOINTS_MAX;
			version++)
			endpoints[n++] = ctl_export_target(export, info, *version);
	}
	freeaddrinfo(list);
	ret = canfs_job_prices_add_endpoints(prices, export->text, endpoints, n);
	if (ret == 0)
		return CTL_OK;
	ctl_warn("%s: %s", export->text, strerrordesc_np(-ret));
	return CTL_USAGE;
}

static int add_mountpoint(struct search *search, const char *mountpoint)
{
	const struct canfs_unfit_mount *unfit;

	for (size_t i = search->mounts->n; i-- > 0;) { /* the topmost of several */
		if (strcmp(mountpoint, search->mounts->mount[i].mountpoint) == 0) {
			add_mount(search, &search->mounts->mount[i]);
			return CTL_OK;
		}
	}
	unfit = canfs_mounts_find_unfit_at(search->mounts, mountpoint);
	if (unfit) {
		leave_alone(search, unfit->mountpoint, unfit->why);
		return CTL_OK;
	}
	ctl_warn("--server: '%s' is neither SERVER:/PATH nor an NFS mount point; "
		 "findmnt -t nfs,nfs4 lists these",
		mountpoint);
	return CTL_USAGE;
}

static void say_nobody(const struct ctl_governed *governed, const struct search *search)
{
	if (search->mounts->dropped > 0)
		ctl_warn("%u NFS mounts exceed the limit and are ignored", search->mounts->dropped);
	if (search->left_alone)
		ctl_warn("%s: %s; the job will not be paused", search->left_alone, search->why);
	else if (governed->attach)
		ctl_warn("%s uses no NFS mount; name a mount point or SERVER:/PATH with --server",
			governed->attach);
	else
		ctl_warn("%s uses no NFS mount; it will not be paused", governed->command[0]);
}

static int search_mounts(const struct ctl_governed *governed, const struct canfs_stopper *stopper,
	struct search *search)
{
	int status = CTL_OK;

	if (governed->server)
		status = add_mountpoint(search, governed->server);
	else if (!governed->attach)
		add_command(search, governed->command);
	else if (stopper->how == CANFS_STOP_CGROUP)
		add_group(search, &stopper->freezer);
	else
		add_process(search, stopper->pid);
	if (status == CTL_OK && search->prices->n == 0)
		say_nobody(governed, search);
	return status;
}

/* data: a mount point; NULL: no mount is wanted. */
static bool is_named(const void *data, const struct canfs_mount *mount)
{
	return !data || strcmp(data, mount->mountpoint) == 0;
}

int ctl_run_servers(const struct ctl_governed *governed, const struct canfs_stopper *stopper,
	struct canfs_job_prices *prices)
{
	struct canfs_mounts *mounts;
	struct search search = { .prices = prices };
	int ret, status = CTL_OK;

	if (governed->export.text)
		return add_export(&governed->export, prices);
	search.mounts = mounts = calloc(1, sizeof(*mounts));
	if (!mounts)
		return CTL_OK;
	ret = canfs_mounts_read_wanted("", is_named, governed->server, mounts);
	if (ret < 0)
		ctl_warn("/proc/self/mountinfo: %s; the job will not be paused",
			strerrordesc_np(-ret));
	else
		status = search_mounts(governed, stopper, &search);
	free(mounts);
	return status;
}
