// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * canfs-agent.conf(5) and the table of options say the same: each option, where it may stand, what is
 * allowed, its default; and none that there is not.
 */
#include "tests/unit/fake_root.h"

#include "client-agent/config/config.h"
#include "common/file.h"

#define PER_MOUNT "\n.Sh OPTIONS PER MOUNT\n"

static char *read_manual(void)
{
	static const char here[] = "tests/unit/test_config_manual.c";
	char path[PATH_MAX], *text;

	snprintf(path, sizeof(path), "%.*sclient-agent/man/canfs-agent.conf.5",
		(int)(strlen(__FILE__) - strlen(here)), __FILE__);
	assert_int_equal(canfs_read_text("", path, 1 << 20, &text), 0);
	return text;
}

static void allowed(const struct canfs_option *option, char *buf, size_t size)
{
	switch (option->type) {
	case CANFS_COUNT:
	case CANFS_REAL:
		snprintf(buf, size, "%.15g ... %.15g", option->min, option->max);
		break;
	case CANFS_WORD:
		snprintf(buf, size, "%s | %s", option->words[0], option->words[1]);
		break;
	case CANFS_SWITCH:
		snprintf(buf, size, "off | on");
		break;
	case CANFS_PATH:
		snprintf(buf, size, "Ar /path");
		break;
	case CANFS_CUSTOM:
		snprintf(buf, size, "Ar ");
		break;
	}
}

static void default_line(const struct canfs_option *option, char *buf, size_t size)
{
	switch (option->type) {
	case CANFS_COUNT:
	case CANFS_REAL:
		snprintf(buf, size, "\nDefault %.15g.\n", option->number);
		break;
	case CANFS_WORD:
		snprintf(buf, size, "\nDefault %s.\n", option->words[(int)option->number]);
		break;
	case CANFS_SWITCH:
		snprintf(buf, size, "\nDefault %s.\n", option->number != 0 ? "on" : "off");
		break;
	case CANFS_PATH:
		snprintf(buf, size, "\nDefault\n.Pa %s .\n", option->text);
		break;
	case CANFS_CUSTOM:
		snprintf(buf, size, "\nEmpty, the default");
		break;
	}
}

static void test_manual_has_each_option(void **state)
{
	char *manual = read_manual();
	const char *per_mount = strstr(manual, PER_MOUNT);
	char range[64], head[160], line[160];

	(void)state;
	assert_non_null(per_mount);
	for (size_t i = 0; i < canfs_agent_options.n; i++) {
		const struct canfs_option *option = &canfs_agent_options.option[i];

		allowed(option, range, sizeof(range));
		snprintf(head, sizeof(head), "\n.It Cm %s No = %s", option->name, range);
		char *at = strstr(manual, head);
		if (!at)
			fail_msg("the manual has no \"%s\"", head + 1);
		assert_int_equal(at > per_mount, option->in_sections);
		default_line(option, line, sizeof(line));
		char *said = strstr(at, line);
		char *next = strstr(at + 1, "\n.It");
		if (!said || (next && said > next))
			fail_msg("%s: the manual has no \"%s\"", option->name, line + 1);
	}
	free(manual);
}

static void test_manual_has_no_other_option(void **state)
{
	static const char item[] = "\n.It Cm ";
	char *manual = read_manual();
	size_t items = 0;

	(void)state;
	for (char *at = manual; (at = strstr(at, item)); items++) {
		size_t known = 0;

		at += sizeof(item) - 1;
		while (known < canfs_agent_options.n &&
			(strncmp(at, canfs_agent_options.option[known].name, strcspn(at, " \n")) !=
					0 ||
				canfs_agent_options.option[known].name[strcspn(at, " \n")]))
			known++;
		if (known == canfs_agent_options.n)
			fail_msg("the manual has \"%.*s\"", (int)strcspn(at, "\n"), at);
	}
	assert_int_equal(items, canfs_agent_options.n);
	free(manual);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_manual_has_each_option),
		cmocka_unit_test(test_manual_has_no_other_option),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
