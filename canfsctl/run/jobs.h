/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The jobs that canfsctl run governs on this host. Each canfsctl run publishes its job; canfsctl
 * top reads them.
 *
 *	/run/canfs/jobs/PID      of canfsctl run; a JSON object, at most CANFS_JOB_FILE_MAX bytes
 *
 * A file is replaced atomically and removed when the job ends. A stale file is recognized by its
 * process, which is gone or has another start time. The next reader removes it. Only root can write
 * to the directory, so other users' jobs are not published.
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
	256 /* of a command or of a server name, including NUL; longer ones are cut */

struct canfs_governed_job {
	pid_t pid;
	int64_t started_ticks; /* start time of that process since boot, in clock ticks */
	char command[CANFS_JOB_TEXT_MAX];
	bool is_paused;
	const char *reason; /* for is_paused, in words */
	double price;       /* the highest of its servers, [0, 1]; NAN: no price */
	const char *bottleneck, *source;
	char server[CANFS_JOB_TEXT_MAX];
	double bid;
	double sec, ran_sec; /* time since governing began, and the part of it not paused */
	unsigned int pauses;
	double unix_sec; /* when the job was published */
};

/*
 * Publishes a job. Creates the directory and its parent if needed, but nothing above. Returns 0 or
 * -errno.
 */
int canfs_job_publish(const char *directory, const struct canfs_governed_job *job);

/* Removes the job's file. */
void canfs_job_withdraw(const char *directory, pid_t pid);

/*
 * Parses a file. Returns an object with the members listed in client-agent/status.md and
 * "started_ticks", or NULL if the text is invalid.
 */
json_t *canfs_job_parse(const char *text, size_t length);

/*
 * Returns an array of all jobs, sorted by process ID, without "started_ticks". root: prefix of
 * /proc, "" except in tests. NULL: no memory.
 */
json_t *canfs_jobs_read(const char *directory, const char *root);

#endif
