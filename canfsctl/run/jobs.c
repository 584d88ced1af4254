// SPDX-License-Identifier: LGPL-3.0-or-later
#include "canfsctl/run/jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "canfsctl/run/process_stat.h"
#include "common/file.h"
#include "common/text.h"
#include "common/control/request.h"

#define NAME_BYTES 32 /* holds "/PID.new" */

static json_t *optional_text(const char *text, bool is_there)
{
	return is_there ? canfs_control_text(text) : json_null();
}

static json_t *object_of(const struct canfs_governed_job *job)
{
	bool has_price = !isnan(job->price);

	return json_pack("{s:I, s:I, s:o, s:b, s:s, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:i, s:f}",
		"pid", (json_int_t)job->pid, "started_ticks", (json_int_t)job->started_ticks,
		"command", canfs_control_text(job->command), "paused", job->is_paused, "reason",
		job->reason, "price", has_price ? json_real(job->price) : json_null(), "bottleneck",
		optional_text(job->bottleneck, has_price), "source",
		optional_text(job->source, has_price), "server",
		optional_text(job->server, has_price), "bid", job->bid, "seconds", job->sec,
		"ran_seconds", job->ran_sec, "pauses", (int)job->pauses, "time", job->unix_sec);
}

static void path_of(char path[PATH_MAX], const char *directory, pid_t pid, const char *suffix)
{
	snprintf(path, PATH_MAX, "%s/%d%s", directory, (int)pid, suffix);
}

/* Creates the parent with mode 0755, as systemd does. */
static int make_directory(const char *directory)
{
	const char *slash = strrchr(directory, '/');
	char parent[PATH_MAX];

	if (!slash || slash == directory || strlen(directory) + NAME_BYTES >= PATH_MAX)
		return -EINVAL;
	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - directory), directory);
	if ((mkdir(parent, 0755) < 0 && errno != EEXIST) ||
		(mkdir(directory, 0700) < 0 && errno != EEXIST))
		return -errno;
	return 0;
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	size_t length = strlen(text);
	ssize_t wrote;
	int ret = 0;

	if (fd < 0)
		return -errno;
	wrote = write(fd, text, length);
	if (wrote < 0)
		ret = -errno;
	else if ((size_t)wrote != length)
		ret = -ENOSPC;
	close(fd);
	return ret;
}

int canfs_job_publish(const char *directory, const struct canfs_governed_job *job)
{
	json_t *object = object_of(job);
	char *text = canfs_control_print(object, JSON_COMPACT | JSON_REAL_PRECISION(15));
	char path[PATH_MAX], new[PATH_MAX];
	int ret = text ? make_directory(directory) : -ENOMEM;

	json_decref(object);
	if (ret == 0) {
		path_of(path, directory, job->pid, "");
		path_of(new, directory, job->pid, ".new");
		ret = write_text(new, text);
		if (ret == 0 && rename(new, path) < 0)
			ret = -errno;
		if (ret < 0)
			unlink(new);
	}
	free(text);
	return ret;
}

void canfs_job_withdraw(const char *directory, pid_t pid)
{
	char path[PATH_MAX];

	if (strlen(directory) + NAME_BYTES >= PATH_MAX)
		return;
	path_of(path, directory, pid, ".new");
	unlink(path);
	path_of(path, directory, pid, "");
	unlink(path);
}

static bool is_text_or_null(const json_t *value)
{
	return json_is_string(value) || json_is_null(value);
}

static bool is_share_or_null(const json_t *value)
{
	double share = json_is_number(value) ? json_number_value(value) : 0;

	return (json_is_number(value) || json_is_null(value)) && share >= 0 && share <= 1;
}

json_t *canfs_job_parse(const char *text, size_t length)
{
	json_t *object = length <= CANFS_JOB_FILE_MAX
				 ? json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL)
				 : NULL;
	json_int_t pid, ticks, pauses;
	json_t *price, *bottleneck, *source, *server;
	const char *command, *reason;
	double bid, sec, ran_sec, time;
	int paused;

	if (json_unpack(object,
		    "{s:I, s:I, s:s, s:b, s:s, s:o, s:o, s:o, s:o, s:F, s:F, s:F, s:I, s:F !}",
		    "pid", &pid, "started_ticks", &ticks, "command", &command, "paused", &paused,
		    "reason", &reason, "price", &price, "bottleneck", &bottleneck, "source",
		    &source, "server", &server, "bid", &bid, "seconds", &sec, "ran_seconds",
		    &ran_sec, "pauses", &pauses, "time", &time) == 0 &&
		pid > 0 && pid <= INT_MAX && ticks >= 0 && pauses >= 0 && is_share_or_null(price) &&
		is_text_or_null(bottleneck) && is_text_or_null(source) && is_text_or_null(server) &&
		bid >= 0 && bid <= 1 && ran_sec >= 0 && sec >= ran_sec)
		return object;
	json_decref(object);
	return NULL;
}

static bool is_running(const json_t *job, const char *root, pid_t pid)
{
	int64_t ticks;

	return json_integer_value(json_object_get(job, "pid")) == pid &&
	       canfs_process_stat(root, pid, CANFS_PROCESS_STARTED, &ticks) == 0 &&
	       ticks == json_integer_value(json_object_get(job, "started_ticks"));
}

/* Returns NULL if there is no valid file of a running process. */
static json_t *read_job(const char *directory, const char *root, pid_t pid)
{
	char name[NAME_BYTES], text[CANFS_JOB_FILE_MAX + 1];
	ssize_t length;
	json_t *job;

	snprintf(name, sizeof(name), "/%d", (int)pid);
	length = canfs_read_file(directory, name, text, sizeof(text));
	job = length < 0 ? NULL : canfs_job_parse(text, (size_t)length);
	if (job && !is_running(job, root, pid)) {
		canfs_job_withdraw(directory, pid); /* another process has this PID now */
		json_decref(job);
		job = NULL;
	}
	return job;
}

/* Parses "PID" or "PID.new". Returns 0 for anything else. */
static pid_t pid_of(const char *name)
{
	uint64_t pid;

	if (canfs_parse_u64(&name, &pid) < 0 || pid > INT_MAX ||
		(*name != '\0' && strcmp(name, ".new") != 0))
		return 0;
	return (pid_t)pid;
}

static int by_pid(const void *a, const void *b)
{
	pid_t first = *(const pid_t *)a, second = *(const pid_t *)b;

	return (first > second) - (first < second);
}

/* Lists the process IDs and removes stale files. */
static size_t list(const char *directory, const char *root, pid_t pids[CANFS_JOBS_MAX])
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir))) {
		pid_t pid = pid_of(entry->d_name);
		int64_t ticks;

		if (pid == 0)
			continue;
		if (canfs_process_stat(root, pid, CANFS_PROCESS_STARTED, &ticks) == -ENOENT)
			canfs_job_withdraw(directory, pid);
		else if (!strchr(entry->d_name, '.') && n < CANFS_JOBS_MAX)
			pids[n++] = pid;
	}
	if (dir)
		closedir(dir);
	qsort(pids, n, sizeof(pids[0]), by_pid);
	return n;
}

json_t *canfs_jobs_read(const char *directory, const char *root)
{
	json_t *jobs = json_array();
	pid_t pids[CANFS_JOBS_MAX];
	size_t n = list(directory, root, pids);

	for (size_t i = 0; i < n; i++) {
		json_t *job = read_job(directory, root, pids[i]);

		if (!job)
			continue;
		json_object_del(job, "started_ticks");
		json_array_append_new(jobs, job);
	}
	return jobs;
}
