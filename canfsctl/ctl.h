/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Shared by canfsctl's subcommands. Each has a folder and a row in canfsctl.c. */
#ifndef CANFS_CANFSCTL_CTL_H
#define CANFS_CANFSCTL_CTL_H

#include <stdbool.h>
#include <stddef.h>

/* Exit status of all subcommands but doctor and run (canfsctl(1)). */
enum ctl_status { CTL_OK, CTL_ERROR, CTL_USAGE, CTL_NO_PRICES };

/* argv[0] is the subcommand's name. Returns the exit status. */
int ctl_price(int argc, char **argv);
int ctl_server(int argc, char **argv);
int ctl_calibrate(int argc, char **argv);
int ctl_status(int argc, char **argv);
int ctl_top(int argc, char **argv);
int ctl_why(int argc, char **argv);
int ctl_doctor(int argc, char **argv); /* has its own exit status */
int ctl_run(int argc, char **argv);    /* exits with its command's status */

/* Prints "canfsctl: ..." as one line on standard error. */
void ctl_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Converts a mount point, as typed or completed by a shell, to the form used in mountinfo
 * (canfs_path_clean()). Performs no path lookup, since a dead server would block it. Returns path,
 * which may be NULL.
 */
char *ctl_mountpoint(char *path);

/* An option of a subcommand: how to parse it, and its line in --help. An empty row ends a table. */
struct ctl_option {
	const char *name;
	const char *value; /* "=N"; "[=N]" if it is optional; NULL: the option takes no value */
	const char *help;
	enum { CTL_IS_FLAG, CTL_IS_TEXT, CTL_IS_COUNT, CTL_IS_NUMBER } type;
	size_t at; /* offset in struct options of a bool, const char *, unsigned int or double */
	double least, most;  /* bounds of a count or number */
	double missing;      /* a number's value if none is given */
	unsigned int takers; /* bit mask of the subcommand's commands that take it; 0: all */
	char letter;         /* short option; 0: none */
};

/* Rows for members of a struct options. Further members of the row may follow row_help. */
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
	const char *usage, *epilog; /* --help prints them before and after the options */
	const struct ctl_option *options;
	unsigned int helped;  /* --help lists the options of these commands; 0: all options */
	bool command_follows; /* parsing stops at the first argument, which starts a command */
};

#define CTL_OPTIONS_MAX 16

/*
 * Parses argv into options. Returns -1 on success; then optind is the first argument, and *given
 * has a bit for each row whose option was given. Otherwise returns the exit status, after printing
 * --help or a warning.
 */
int ctl_parse(
	const struct ctl_syntax *syntax, void *options, unsigned int *given, int argc, char **argv);

/* Checks that the command takes all given options. Warns and returns false if not. */
bool ctl_takes(const struct ctl_syntax *syntax, unsigned int given, const char *command,
	unsigned int taker);

#endif
