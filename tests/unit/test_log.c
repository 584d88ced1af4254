// SPDX-License-Identifier: LGPL-3.0-or-later
/* The log's one promise: nobody waits for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

/* stderr is a pipe while it lasts. */
static int begin(int pipe_fd[2])
{
	int saved = dup(STDERR_FILENO);

	assert_int_equal(pipe(pipe_fd), 0);
	assert_int_equal(dup2(pipe_fd[1], STDERR_FILENO), STDERR_FILENO);
	return saved;
}

static void end(int saved, const int pipe_fd[2])
{
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

static void test_a_full_pipe_loses_lines(void **state)
{
	int pipe_fd[2], saved = begin(pipe_fd);

	(void)state;
	for (int i = 0; i < 10000; i++)
		canfs_log("a line of some length that fills the pipe in the end, number %d", i);
	end(saved, pipe_fd);
}

static void test_a_long_line_is_cut(void **state)
{
	char text[2000], got[4096];
	int pipe_fd[2], saved = begin(pipe_fd);

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	canfs_log("%s", text);
	ssize_t len = read(pipe_fd[0], got, sizeof(got));
	end(saved, pipe_fd);
	assert_int_equal(len, 1023);
	assert_int_equal(got[len - 1], '\n');
}

static void test_a_line_stays_one(void **state)
{
	char got[256];
	int pipe_fd[2], saved = begin(pipe_fd);

	(void)state;
	setenv("JOURNAL_STREAM", "1:1", 1);
	canfs_log("%s: left alone", "/mnt/a\n12:00:00 all is well\033[2J\x7f \xc3\xa4");
	unsetenv("JOURNAL_STREAM");
	ssize_t len = read(pipe_fd[0], got, sizeof(got) - 1);
	end(saved, pipe_fd);
	assert_true(len > 0);
	got[len] = '\0';
	assert_string_equal(got, "/mnt/a?12:00:00 all is well?[2J? \xc3\xa4: left alone\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_full_pipe_loses_lines),
		cmocka_unit_test(test_a_long_line_is_cut),
		cmocka_unit_test(test_a_line_stays_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
