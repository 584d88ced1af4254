/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What canfsctl's subcommands share: one file each, one row in canfsctl.c. */
#ifndef CANFS_CLIENT_AGENT_CTL_CTL_H
#define CANFS_CLIENT_AGENT_CTL_CTL_H

#include <stdbool.h>

/* Exit status, the same for all subcommands (canfsctl(1)). */
enum ctl_status { CTL_OK, CTL_ERROR, CTL_USAGE, CTL_NO_PRICES };

/* argv[0] is the subcommand's name. Returns the exit status. */
int ctl_price(int argc, char **argv);
int ctl_server(int argc, char **argv);
int ctl_calibrate(int argc, char **argv);
int ctl_status(int argc, char **argv);
int ctl_top(int argc, char **argv);
int ctl_why(int argc, char **argv);
int ctl_doctor(int argc, char **argv); /* whose exit status is its own */

/* "canfsctl: ...", one line on standard error. */
void ctl_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Makes a mount point as it is typed, or completed by a shell, one as mountinfo writes it: takes
 * slashes off its end. Looks nothing up: on a dead server that would hang. Returns path; NULL allowed.
 */
char *ctl_mountpoint(char *path);

/* Parses an option's value; warns and returns false if it is not in [least, most]. */
bool ctl_parse_number(
	const char *option, const char *text, double least, double most, double *number);
bool ctl_parse_count(const char *option, const char *text, unsigned int least, unsigned int most,
	unsigned int *count);

#endif
