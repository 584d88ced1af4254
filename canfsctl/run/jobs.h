/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The jobs of canfsctl run on this host, as each tells of itself while it is governed: for canfsctl top.
 *
 *	/run/canfs/jobs/PID      of the canfsctl run that governs it; one JSON object, at most CANFS_JOB_FILE_MAX bytes
 *
 * A file is replaced as a whole, and removed at the job's end. One that was left behind is known by the process, which is
 * gone or was started at another time, and is removed by the next reader. Only root may write there: other users' jobs are
 * not told of.
 */
#ifndef CANFS_CANFSCTL_RUN_JOBS_H
#define CANFS_CANFSCTL_RUN_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <jansson.h>

#define CANFS_JOBS_DIRECTORY "/run/canfs/jobs"
#define CANFS_JOBS_MAX       64   /* further ones are left out */
#define CANFS_JOB_FILE_MAX   4096 /* bytes */
#define CANFS_JOB_TEXT_MAX                                                                         \
	256 /* of a command or a server's name, NUL included; a longer one is cut */

struct canfs_governed_job {
	pid_t pid;
	int64_t started_ticks; /* of that process, since boot */
	char command[CANFS_JOB_TEXT_MAX];
	bool is_paused;
	const char *reason; /* why it is, or is not, in words */
	double price; /* the highest of its servers, [0, 1]; NAN: there is none, and no server */
	const char *bottleneck, *source;
	char server[CANFS_JOB_TEXT_MAX];
	double bid;
	double sec, ran_sec; /* since it is governed; of that, not paused */
	unsigned int pauses;
	double unix_sec; /* as of when this is */
};

/* Makes the directory if need be, but not what is above its parent. 0 or -errno. */
int canfs_job_publish(const char *directory, const struct canfs_governed_job *job);

/* Nothing is told of it any more. */
void canfs_job_withdraw(const char *directory, pid_t pid);

/*
 * Of a file's contents the object, with the members that client-agent/status.md names, and "started_ticks"; NULL: it is
 * none.
 */
json_t *canfs_job_parse(const char *text, size_t length);

/* An array of these without that member, by their process IDs. root: of /proc, "" but in tests. NULL: no memory. */
json_t *canfs_jobs_read(const char *directory, const char *root);

#endif
