/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What canfsctl's subcommands share: one folder each, one row in canfsctl.c. */
#ifndef CANFS_CANFSCTL_CTL_H
#define CANFS_CANFSCTL_CTL_H

#include <stdbool.h>
#include <stddef.h>

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
int ctl_run(int argc, char **argv);    /* whose exit status is its command's */

/* "canfsctl: ...", one line on standard error. */
void ctl_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Converts a mount point as typed, or completed by a shell, to the form of mountinfo (canfs_path_clean()). Looks nothing up, since a dead
 * server would block. Returns path; NULL allowed.
 */
char *ctl_mountpoint(char *path);

/* An option of a subcommand: how it is parsed, and what --help says of it. A table of them ends with an empty one. */
struct ctl_option {
	const char *name;
	const char *value; /* "=N", "[=N]" if it may be missing; NULL: there is none */
	const char *help;
	enum { CTL_IS_FLAG, CTL_IS_TEXT, CTL_IS_COUNT, CTL_IS_NUMBER } type;
	size_t at; /* in the subcommand's options: a bool, const char *, unsigned int, double */
	double least, most;  /* of a count or number */
	double missing;      /* what a number is without its value */
	unsigned int takers; /* which of the subcommand's commands take it, a bit each; 0: all */
	char letter;         /* short for it; 0: nothing */
};

/* Rows of them, for members of a struct options; behind help may stand other members of the row. */
#define CTL_ROW(row_name, row_type, member, row_help, ...)                                         \
	{                                                                                          \
		.name = row_name, .help = row_help, .type = row_type,                              \
		.at = offsetof(struct options, member), __VA_ARGS__                                \
	}
#define CTL_FLAG(name, member, ...) CTL_ROW(name, CTL_IS_FLAG, member, __VA_ARGS__, )
#define CTL_TEXT(name, label, member, ...)                                                         \
	CTL_ROW(name, CTL_IS_TEXT, member, __VA_ARGS__, .value = label)
#define CTL_COUNT(name, label, member, min, max, ...)                                              \
	CTL_ROW(name, CTL_IS_COUNT, member, __VA_ARGS__, .value = label, .least = min, .most = max)
#define CTL_NUMBER(name, label, member, min, max, ...)                                             \
	CTL_ROW(name, CTL_IS_NUMBER, member, __VA_ARGS__, .value = label, .least = min, .most = max)

struct ctl_syntax {
	const char *name;           /* of the subcommand */
	const char *usage, *epilog; /* of --help, before and behind the options */
	const struct ctl_option *options;
	unsigned int helped;  /* --help shows what these commands take; 0: all options */
	bool command_follows; /* options end at the first argument: what follows is not ours */
};

#define CTL_OPTIONS_MAX 16

/*
 * Parses argv by the syntax into options. -1: go on, from optind, and *given has a bit for each row that was there; else
 * the exit status: --help has been printed, or something was wrong, which has been said.
 */
int ctl_parse(
	const struct ctl_syntax *syntax, void *options, unsigned int *given, int argc, char **argv);

/* Were only options given that the command takes? Warns. */
bool ctl_takes(const struct ctl_syntax *syntax, unsigned int given, const char *command,
	unsigned int taker);

#endif
