/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Tables of options, and the reader of the files that set them.
 *
 *	[section]         inih's dialect: # and ; begin comments. What sections there are, and which
 *	name = value      options they may have, is up to the program (struct canfs_option_table).
 *
 * To add a type of value, add it to the enum below and a row to the table in options.c; a type that
 * only one program uses is CANFS_CUSTOM instead.
 */
#ifndef CANFS_COMMON_OPTIONS_H
#define CANFS_COMMON_OPTIONS_H

#include "common/text.h"

#define CANFS_OPTIONS_MAX       32
#define CANFS_OPTION_PATH_MAX   256   /* NUL included */
#define CANFS_OPTIONS_ERROR_MAX 512   /* fits any error line */
#define CANFS_OPTIONS_BYTES_MAX 65536 /* of a file */

struct canfs_options_reader;

enum canfs_option_type {
	CANFS_COUNT,  /* unsigned int */
	CANFS_REAL,   /* double */
	CANFS_WORD,   /* unsigned int, or an enum: the index in words */
	CANFS_SWITCH, /* bool: off, on */
	CANFS_PATH,   /* char [CANFS_OPTION_PATH_MAX], absolute */
	CANFS_CUSTOM  /* set() */
};

struct canfs_option {
	const char *name;
	enum canfs_option_type type;
	size_t offset; /* in the program's configuration */
	double min, max;
	double number; /* default of a count, a real, a word or a switch */
	const char *words[2];
	const char *text; /* default of a path; if custom, the default as written in the file */
	bool may_be_empty; /* an empty path is "", an empty number 0; empty is the number's default */
	bool in_sections;    /* also allowed in the sections after the first */
	const char *allowed; /* what is allowed, if custom; may be NULL */

	/* Stores the value at the option's place. Returns 1, or canfs_options_mistake(). */
	int (*set)(struct canfs_options_reader *reader, const struct canfs_option *option, void *at,
		const char *value);
	const char *help;
};

/* An option of earlier versions. It is refused with a hint. */
struct canfs_retired_option {
	const char *name;
	const char *hint; /* "it is always 32" */
};

/* What one program's file may have. */
struct canfs_option_table {
	const struct canfs_option *option;
	size_t n; /* <= CANFS_OPTIONS_MAX */
	const struct canfs_retired_option *retired;
	size_t n_retired;
	const char *line_is; /* what a line may be, for errors: "\"name = value\" or [agent]" */

	/* A section begins; header is the text between its brackets. */
	void (*header)(struct canfs_options_reader *reader, struct canfs_span header);
	/* A line "name = value". Returns 1, or canfs_options_mistake(). */
	int (*pair)(struct canfs_options_reader *reader, const char *name, const char *value);
};

/* State while a text is read. The caller sets the first members. */
struct canfs_options_reader {
	const struct canfs_option_table *options;
	void *config;     /* the program's configuration, as far as it is read */
	void *data;       /* the program's own state */
	const char *file; /* name for errors */
	char *error;      /* of the first mistake: CANFS_OPTIONS_ERROR_MAX bytes; "": none yet */

	int line;                         /* being read, or to be blamed */
	int name_line[CANFS_OPTIONS_MAX]; /* of each option in this section; 0: not given yet */
	int mistake_line;
	const char *text; /* what is left */
};

/*
 * Reads text: calls header() and pair() for its lines. Returns 0, or -EINVAL with the first mistake
 * in error: "agent.conf:7: hold_pct = 90: not in 5 ... 50".
 */
int canfs_options_read(struct canfs_options_reader *reader, const char *text);

/*
 * Reads the file into *text, which the caller must free(). Returns 0, -ENOENT, -EFBIG, -ENOMEM, or
 * the -errno of open or read, with an error line.
 */
int canfs_options_read_file(const char *file, char **text, char error[CANFS_OPTIONS_ERROR_MAX]);

/* For pair(): sets the option with this name. in_section: not in the first section. */
int canfs_options_set(
	struct canfs_options_reader *reader, const char *name, const char *value, bool in_section);

/* Notes a mistake in reader->line, unless there was one before. Returns 0. */
int canfs_options_mistake(struct canfs_options_reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets all options that are not custom to their defaults. */
void canfs_options_defaults(const struct canfs_option_table *options, void *config);

/*
 * Prints the i-th option for an example file: two comment lines of at most 120 characters. The
 * first one tells what the option is and what is allowed; the second is "#name = default". Returns
 * false beyond the last option.
 */
bool canfs_options_example(
	const struct canfs_option_table *options, size_t i, char *buf, size_t size);

#endif
